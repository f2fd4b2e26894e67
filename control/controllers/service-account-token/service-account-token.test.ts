import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("serviceAccountTokenController() fills token secrets, and takes them away with the account", async (t) => {
  const room = await controllerRoom(t, ["service-account-token-controller"]);
  const annotations = (name: string) => ({ "kubernetes.io/service-account.name": name });
  const type = "kubernetes.io/service-account-token";
  const account = await room.create(resources.serviceaccounts, { metadata: { name: "robot" } });
  await room.create(resources.secrets, { metadata: { name: "key", annotations: annotations("robot") }, type });
  const filled = await room.until(resources.secrets, "key", ({ data }) => data?.token);
  const text = (field: string) => Buffer.from(filled.data[field], "base64").toString();
  t.equal(text("ca.crt"), room.pki.ca.cert);
  t.equal(text("namespace"), "default");
  const claims = JSON.parse(Buffer.from(text("token").split(".")[1] ?? "", "base64url").toString());
  t.equal(claims.sub, "system:serviceaccount:default:robot");
  t.equal(filled.metadata.annotations["kubernetes.io/service-account.uid"], account.metadata.uid);

  await room.create(resources.secrets, { metadata: { name: "lost", annotations: annotations("nobody") }, type });
  await until("the secret without an account to go", () => !room.get(resources.secrets, "lost"));
  await room.delete(resources.serviceaccounts, "robot");
  await until("the account's secret to go", () => !room.get(resources.secrets, "key"));
});
