import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";

const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

t.test("labels count as a change of an endpoint slice, annotations do not", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", slices, { metadata: { name: "s" }, addressType: "IPv4", endpoints: [], ports: [] });
  const patch = async (body: object) =>
    (await api.ask("PATCH", `${slices}/s`, body, { "content-type": "application/merge-patch+json" })).body.metadata
      .generation;
  t.equal(await patch({ metadata: { annotations: { a: "1" } } }), 1);
  t.equal(await patch({ metadata: { labels: { a: "1" } } }), 2);
  t.equal(await patch({ metadata: { labels: { a: "1" } } }), 2);
  t.equal(await patch({ endpoints: [{ addresses: ["10.0.0.1"] }] }), 3);
});
