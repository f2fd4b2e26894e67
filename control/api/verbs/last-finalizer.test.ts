import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

t.test(
  "an update that removes the last finalizer answers with the object as it was updated, and it is gone",
  async (t) => {
    const api = await startApi();
    t.teardown(() => api.close());
    const patch = (body: unknown) =>
      api.ask("PATCH", `${maps}/m`, body, { "content-type": "application/merge-patch+json" });
    const removed = { metadata: { finalizers: null }, data: { b: "2" } };
    const ways = {
      PATCH: () => patch(removed),
      PUT: async () => {
        const { body } = await api.ask("GET", `${maps}/m`);
        delete body.metadata.finalizers;
        return api.ask("PUT", `${maps}/m`, { ...body, data: { a: "1", b: "2" } });
      },
    };
    for (const [way, remove] of Object.entries(ways)) {
      const metadata = { name: "m", finalizers: ["a/b"] };
      await api.ask("POST", maps, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } });
      t.same((await api.ask("DELETE", `${maps}/m`)).body.metadata.finalizers, ["a/b"]);
      const { status, body } = await remove();
      t.equal(status, 200, way);
      t.equal(body.metadata.finalizers, undefined);
      t.same(body.data, { a: "1", b: "2" });
      t.ok(body.metadata.deletionTimestamp);
      t.equal((await api.ask("GET", `${maps}/m`)).status, 404);
    }
  },
);
