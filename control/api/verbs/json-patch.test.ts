// JSON patches through the API, where kube-apiserver is more lenient than the standard.

import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

t.test("a JSON patch is taken as kube-apiserver takes it, up to 10,000 operations", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const metadata = { name: "m", finalizers: ["a/b", "a/c"] };
  await api.ask("POST", maps, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } });
  const patch = (...operations: object[]) =>
    api.ask("PATCH", `${maps}/m?dryRun=All`, operations, { "content-type": "application/json-patch+json" });
  const replaced = await patch({ op: "replace", path: "/data/b", value: "2" });
  t.same(replaced.body.data, { a: "1", b: "2" });
  t.same((await patch({ op: "add", path: "/data/b" })).body.data, { a: "1", b: "" }, "null is the zero of a string");
  const added = await patch({ op: "add", path: "/metadata/finalizers/-1", value: "x/y" });
  t.same(added.body.metadata.finalizers, ["a/b", "a/c", "x/y"]);
  const removed = await patch({ op: "remove", path: "/metadata/finalizers/00" });
  t.same(removed.body.metadata.finalizers, ["a/c"]);
  const test = { op: "test", path: "/data/a", value: "1" };
  t.equal((await patch(...Array.from({ length: 10_000 }, () => test))).status, 200);
  const tooMany = await patch(...Array.from({ length: 10_001 }, () => test));
  t.equal(tooMany.status, 413);
  t.match(tooMany.body.message, /maximum operations in a JSON patch is 10000, got 10001/);
});
