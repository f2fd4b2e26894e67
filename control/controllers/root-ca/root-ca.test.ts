import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("rootCaController() keeps the CA in every namespace, whatever becomes of the map", async (t) => {
  const room = await controllerRoom(t, ["root-ca-cert-publisher"]);
  const name = "kube-root-ca.crt";
  const ca = (namespace: string) => room.get(resources.configmaps, name, namespace)?.data?.["ca.crt"];
  const isThere = (namespace: string) => until(`the CA in ${namespace}`, () => ca(namespace) === room.pki.ca.cert);
  await isThere("default");
  await room.create(resources.namespaces, { metadata: { name: "late" } });
  await isThere("late");
  await room.patch(resources.configmaps, name, { data: { "ca.crt": "forged" } });
  await isThere("default");
  const { uid } = room.get(resources.configmaps, name).metadata;
  await room.delete(resources.configmaps, name);
  await until("another map", () => room.get(resources.configmaps, name)?.metadata.uid !== uid && ca("default"));
  t.equal(ca("default"), room.pki.ca.cert);
});
