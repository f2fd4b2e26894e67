// What admission makes of an object before it is stored.

import t from "tap";
import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { startApi } from "../../test/harness/api-server.ts";

t.test("mutate() fills in the defaults of what a stranger added", async (t) => {
  const stranger: AdmissionPlugin = {
    name: "stranger",
    handles: ({ resource }) => resource === "pods",
    mutate: async ({ object }) => {
      const pod = object as unknown as Pod;
      if (pod.spec && !pod.spec.initContainers) pod.spec.initContainers = [{ name: "added", image: "i" }];
    },
    reinvoke: async () => {},
  };
  const api = await startApi({ admission: [stranger] });
  t.teardown(() => api.close());
  const { body } = await api.ask("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "a" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  t.match(body.spec.initContainers, [
    { name: "added", terminationMessagePolicy: "File", imagePullPolicy: "Always", terminationMessagePath: /log/ },
  ]);
});

t.test("validate() has its say before a resourceVersion on a new object is refused", async (t) => {
  const guard: AdmissionPlugin = {
    name: "guard",
    handles: ({ resource }) => resource === "configmaps",
    validate: async ({ object }) => {
      if (object?.metadata.name === "guarded") throw new Fault("forbidden", "not yours");
    },
  };
  const api = await startApi({ admission: [guard] });
  t.teardown(() => api.close());
  const create = (name: string, resourceVersion: string) =>
    api.ask("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name, resourceVersion } });
  t.match((await create("guarded", "7")).body.message, /not yours/);
  const refused = await create("free", "7");
  t.equal(refused.status, 400);
  t.match(refused.body.message, /resourceVersion should not be set on objects to be created/);
  t.equal((await create("free", "0")).status, 201);
});
