import { createHmac } from "node:crypto";
import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("bootstrapSigner() signs cluster-info with each token that may sign, and takes signatures back", async (t) => {
  const room = await controllerRoom(t, ["bootstrap-signer"]);
  const data = (id: string, signing: string) =>
    Object.fromEntries(
      Object.entries({ "token-id": id, "token-secret": "0123456789abcdef", "usage-bootstrap-signing": signing }).map(
        ([name, value]) => [name, Buffer.from(value).toString("base64")],
      ),
    );
  const token = (id: string, signing: string) =>
    room.create(resources.secrets, {
      metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      data: data(id, signing),
    });
  await token("abcdef", "true");
  await token("uvwxyz", "false");
  await room.create(resources.configmaps, {
    metadata: { name: "cluster-info", namespace: "kube-public" },
    data: { kubeconfig: "hello" },
  });
  const read = () => room.get(resources.configmaps, "cluster-info", "kube-public")?.data;
  const signature = await until("a signature", () => read()?.["jws-kubeconfig-abcdef"]);
  const [header, content, mac] = String(signature).split(".");
  t.equal(content, "", "the content is left out");
  const payload = Buffer.from("hello").toString("base64url");
  t.equal(mac, createHmac("sha256", "0123456789abcdef").update(`${header}.${payload}`).digest("base64url"));
  t.same(Object.keys(read()), ["kubeconfig", "jws-kubeconfig-abcdef"]);
  await room.client.delete(resources.secrets, { namespace: "kube-system", name: "bootstrap-token-abcdef" }, room.call);
  await until("no signature", () => !read()?.["jws-kubeconfig-abcdef"]);
});
