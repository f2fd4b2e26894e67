import t from "tap";
import { startApi } from "../../test/harness/api-server.ts";
import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import { refuse } from "../../plugins/kit/contracts/admission.ts";

t.test("an eviction passes admission as the creation of an Eviction, its deletion as that of a pod", async (t) => {
  const asked: string[] = [];
  let isOpen = false;
  const step: AdmissionPlugin = {
    name: "gate",
    handles: ({ resource }) => resource === "pods",
    validate(request) {
      asked.push(`${request.operation} ${request.kind} ${request.subresource}`);
      if (request.subresource === "eviction" && !isOpen) throw refuse(request, "stay");
    },
  };
  const api = await startApi({ admission: [step] });
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  const pods = "/api/v1/namespaces/n/pods";
  await api.ask("POST", pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  const evict = () =>
    api.ask("POST", `${pods}/p/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } });
  asked.length = 0;
  t.equal((await evict()).status, 403);
  t.same(asked, ["CREATE Eviction eviction"]);
  isOpen = true;
  t.equal((await evict()).status, 201);
  t.same(asked.slice(1), ["CREATE Eviction eviction", "DELETE Pod "]);
});
