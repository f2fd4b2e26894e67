import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("serviceAccountController() gives every namespace its default account, again when it is deleted", async (t) => {
  const room = await controllerRoom(t, ["service-account-controller"]);
  const uid = (namespace: string) => room.get(resources.serviceaccounts, "default", namespace)?.metadata.uid;
  await room.create(resources.namespaces, { metadata: { name: "late" } });
  await until("the account of the new namespace", () => uid("late"));
  const before = await until("the account", () => uid("default"));
  await room.delete(resources.serviceaccounts, "default");
  const after = await until("another account", () => (uid("default") === before ? undefined : uid("default")));
  t.not(after, before);
});
