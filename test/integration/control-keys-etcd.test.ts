// Which keys the servers of one etcd use: a server with others does not take part, and the key of secrets is only changed where
// nobody else would have to know.

import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { controlPlanes } from "../harness/control-planes.ts";
import { noEtcd } from "../harness/etcd.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const rotation = "/skiff/v1/secrets-encryption/rotate";
const keysIn = (folder: string) => {
  const { keys } = JSON.parse(readFileSync(join(folder, "encryption-keys.json"), "utf8")) as { keys: { id: string }[] };
  return keys.map(({ id }) => id);
};

t.test("a server with other keys does not take part in the cluster", { skip: noEtcd }, async (t) => {
  const planes = await controlPlanes(t);
  const one = await planes.open(1);
  await one.ask("POST", secrets, { metadata: { name: "s" }, stringData: { a: "b" } });
  await t.rejects(planes.open(2), {
    code: "invalid",
    message:
      /another certificate authority \(ca\.pem\), .*service-account\.key.*, .*encryption-keys\.json\) than .*pki; copy/,
  });
  planes.copyKeys(1, 3);
  rmSync(join(planes.pki(3), "encryption-keys.json"));
  await t.rejects(planes.open(3), {
    message: /its servers have another key of secrets \(encryption-keys\.json\) than/,
  });
  planes.copyKeys(1, 2);
  const two = await planes.open(2);
  t.same((await two.ask("GET", `${secrets}/s`)).body.data, { a: "Yg==" }, "with the same ones it reads all");
});

t.test(
  "the key of secrets is changed by a server that is alone, and then by the others",
  { skip: noEtcd },
  async (t) => {
    const planes = await controlPlanes(t);
    const one = await planes.open(1);
    planes.copyKeys(1, 2);
    const two = await planes.open(2);
    await one.ask("POST", secrets, { metadata: { name: "s" }, stringData: { a: "b" } });
    const before = keysIn(planes.pki(1));
    const refused = await one.ask("POST", rotation);
    t.equal(refused.status, 409);
    t.match(
      refused.body.message,
      /other API servers use the same store \(192\.0\.2\.1:2\).*stop them, ask again, copy/,
    );
    t.same(keysIn(planes.pki(1)), before, "nothing has changed");
    await two.stop();
    t.same((await one.ask("POST", rotation)).body, { encrypted: 1 });
    t.notSame(keysIn(planes.pki(1)), before);
    await t.rejects(planes.open(2), { message: /another key of secrets/ });
    planes.copyKeys(1, 2);
    const again = await planes.open(2);
    t.same((await again.ask("GET", `${secrets}/s`)).body.data, { a: "Yg==" });
  },
);

t.test(
  "the key of tokens may change from server to server, as long as all know the new one",
  { skip: noEtcd },
  async (t) => {
    const planes = await controlPlanes(t);
    const one = await planes.open(1);
    planes.copyKeys(1, 2);
    await one.stop();
    renameSync(join(planes.pki(1), "service-account.key"), join(planes.pki(1), "service-account-1.key"));
    const renewed = await planes.open(1);
    await t.rejects(planes.open(2), { message: /another key of service account tokens \(service-account\.key\) than/ });
    planes.copyKeys(1, 2);
    const two = await planes.open(2);
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const account = "/api/v1/namespaces/kube-system/serviceaccounts";
    await renewed.ask("POST", account, { metadata: { name: "a" } });
    const { token } = (await renewed.ask("POST", `${account}/a/token`, request)).body.status;
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
    const { status } = (await two.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)).body;
    t.equal(status.authenticated, true, "what one signed the other takes");
  },
);
