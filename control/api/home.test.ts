// A namespace that goes between the checks of a new object and its write.

import t from "tap";
import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import { startApi } from "../../test/harness/api-server.ts";

t.test("an object whose namespace goes while it is admitted is not stored", async (t) => {
  let meanwhile = async () => {};
  const slow: AdmissionPlugin = {
    name: "slow",
    handles: ({ resource }) => resource === "configmaps",
    validate: () => meanwhile(),
  };
  const api = await startApi({ admission: [slow] });
  t.teardown(() => api.close());
  const namespaces = "/api/v1/namespaces";
  const make = (name: string) => api.ask("POST", `${namespaces}/${name}/configmaps`, { metadata: { name: "late" } });
  for (const name of ["going", "gone"]) await api.ask("POST", namespaces, { metadata: { name } });
  meanwhile = async () => void (await api.ask("DELETE", `${namespaces}/going`));
  t.match(await make("going"), {
    status: 403,
    body: {
      message:
        /^configmaps "late" is forbidden: unable to create new content in namespace going because it is being terminated$/,
      details: { causes: [{ reason: "NamespaceTerminating", message: "namespace going is being terminated" }] },
    },
  });
  meanwhile = async () => {
    const { body } = await api.ask("DELETE", `${namespaces}/gone`);
    await api.ask("PUT", `${namespaces}/gone/finalize`, { ...body, spec: { finalizers: [] } });
  };
  t.match(await make("gone"), { status: 404, body: { message: 'namespaces "gone" not found' } });
  meanwhile = async () => {};
  t.equal((await make("nobody")).status, 201, "whether it must be there at all is for admission to say");
  const { body } = await api.ask("GET", "/api/v1/configmaps");
  t.equal(body.items.length, 1);
});
