// The assembled control plane over TLS, asked by the real kubectl with different identities.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { kubeconfigText } from "../../control/auth/pki/kubeconfig.ts";
import { createKeyPair, createSigningRequest } from "../../plugins/kit/os/x509.ts";
import { startControl, until } from "../harness/control.ts";
import { kubectlFor, withKubectl as only } from "../harness/control-kubectl.ts";

const started = await startControl();
const { control, dataDir, url } = started;
t.teardown(() => started.close());
const kubectl = kubectlFor(started);

t.test("kubectl auth whoami and can-i tell who the administrator and others are", only, async (t) => {
  t.match(await kubectl("auth", "whoami", "-o", "json"), /"username": "kubernetes-admin"/);
  t.equal(await kubectl("auth", "can-i", "delete", "nodes"), "yes");
  t.match(await kubectl("auth", "can-i", "get", "pods", "--as", "vera"), /^no/);
  t.match(await kubectl("auth", "whoami", "--as", "vera", "--as-group", "dev", "-o", "json"), /"system:authenticated"/);
  t.match(
    await kubectl("get", "pods", "--as", "vera"),
    /pods is forbidden: User "vera" cannot list resource "pods" in API group "" in the namespace "default"/,
  );
});

t.test("roles and bindings decide, and nobody hands out more than they hold", only, async (t) => {
  await kubectl("create", "namespace", "shop");
  t.match(
    await kubectl("create", "rolebinding", "viewers", "--clusterrole=view", "--user=vera", "-n", "shop"),
    /created/,
  );
  await until(async () => (await kubectl("auth", "can-i", "list", "pods", "-n", "shop", "--as", "vera")) === "yes");
  t.match(await kubectl("auth", "can-i", "get", "secrets", "-n", "shop", "--as", "vera"), /^no/);
  t.match(
    await kubectl("auth", "can-i", "--list", "-n", "shop", "--as", "vera"),
    /selfsubjectaccessreviews\.authorization\.k8s\.io/,
  );
  await kubectl("create", "rolebinding", "admins", "--clusterrole=admin", "--user=adam", "-n", "shop");
  await until(async () => (await kubectl("auth", "can-i", "create", "roles", "-n", "shop", "--as", "adam")) === "yes");
  const escalated = await kubectl(
    "create",
    "role",
    "big",
    "--verb=*",
    "--resource=nodes",
    "-n",
    "shop",
    "--as",
    "adam",
  );
  t.match(escalated, /is attempting to grant RBAC permissions not currently held/);
  t.match(
    await kubectl("create", "role", "small", "--verb=get", "--resource=pods", "-n", "shop", "--as", "adam"),
    /created/,
  );
});

t.test("a service account's token works until the account is gone", only, async (t) => {
  await kubectl("create", "namespace", "robots");
  await kubectl("create", "serviceaccount", "robot", "-n", "robots");
  await kubectl("create", "rolebinding", "r", "--clusterrole=view", "--serviceaccount=robots:robot", "-n", "robots");
  const token = await kubectl("create", "token", "robot", "-n", "robots");
  t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  const config = join(dataDir, "robot.kubeconfig");
  const text = kubeconfigText({
    server: url,
    ca: control.pki.ca.cert,
    client: control.pki.adminClient(),
    user: "robot",
  });
  writeFileSync(
    config,
    text.replace(/ {4}client-certificate-data: .*\n {4}client-key-data: .*\n/, `    token: ${token}\n`),
  );
  t.match(await kubectl(config, "auth", "whoami", "-o", "json"), /system:serviceaccount:robots:robot/);
  await until(async () => (await kubectl(config, "get", "configmaps", "-n", "robots")).includes("kube-root-ca.crt"));
  t.match(await kubectl(config, "get", "nodes"), /forbidden/);
  await kubectl("delete", "serviceaccount", "robot", "-n", "robots");
  await until(async () =>
    /Unauthorized|must be logged in/.test(await kubectl(config, "get", "configmaps", "-n", "robots")),
  );
});

t.test(
  "a token secret is filled, works, and goes with its account; kubectl approves a certificate",
  only,
  async (t) => {
    await kubectl("create", "namespace", "old");
    await kubectl("create", "serviceaccount", "robot", "-n", "old");
    const metadata = {
      name: "robot-token",
      namespace: "old",
      annotations: { "kubernetes.io/service-account.name": "robot" },
    };
    t.match(
      await kubectl.create({ apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/service-account-token" }),
      /created/,
    );
    const field = (name: string) =>
      kubectl("get", "secret", "robot-token", "-n", "old", "-o", `jsonpath={.data.${name}}`);
    await until(async () => (await field("token")) !== "");
    const token = Buffer.from(await field("token"), "base64").toString();
    const config = join(dataDir, "old.kubeconfig");
    const text = kubeconfigText({
      server: url,
      ca: control.pki.ca.cert,
      client: control.pki.adminClient(),
      user: "robot",
    });
    writeFileSync(
      config,
      text.replace(/ {4}client-certificate-data: .*\n {4}client-key-data: .*\n/, `    token: ${token}\n`),
    );
    t.match(await kubectl(config, "auth", "whoami", "-o", "json"), /system:serviceaccount:old:robot/);
    await kubectl("delete", "serviceaccount", "robot", "-n", "old");
    await until(async () => /NotFound/.test(await kubectl("get", "secret", "robot-token", "-n", "old")));

    const request = Buffer.from(createSigningRequest({ key: createKeyPair().key, commonName: "ann" })).toString(
      "base64",
    );
    const spec = { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
    await kubectl.create({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "ann" },
      spec,
    });
    t.match(await kubectl("certificate", "approve", "ann"), /approved/);
    await until(async () => /Approved,Issued/.test(await kubectl("get", "csr", "ann")));
  },
);

t.test("secrets are encrypted in the store, and the key can be rotated while it runs", only, async (t) => {
  t.match(await kubectl("create", "secret", "generic", "s", "--from-literal=p=hunter2"), /created/);
  const file = join(dataDir, "empty");
  writeFileSync(file, "");
  const rotated = await kubectl("create", "--raw", "/skiff/v1/secrets-encryption/rotate", "-f", file);
  t.ok(JSON.parse(rotated).encrypted >= 1, rotated);
  const read = await kubectl("get", "secret", "s", "-o", "jsonpath={.data.p}");
  t.equal(Buffer.from(read, "base64").toString(), "hunter2");
  t.match(
    await kubectl("get", "--raw", "/.well-known/openid-configuration"),
    /"issuer":"https:\/\/kubernetes.default.svc/,
  );
  t.match(await kubectl("get", "--raw", "/openid/v1/jwks"), /"kty":"EC"/);
  t.match(
    await kubectl("create", "--raw", "/skiff/v1/secrets-encryption/rotate", "-f", file, "--as", "vera"),
    /forbidden/,
  );
});

t.test("nobody without credentials sees more than health and version", async (t) => {
  const ca = control.pki.ca.cert;
  const { httpFetch } = await import("../../plugins/kit/os/platform/http-client.ts");
  const fetch = httpFetch({ ca });
  t.teardown(() => fetch.close());
  const code = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(new Request(`${url}${path}`, { headers }))).status;
  t.equal(await code("/healthz"), 200);
  t.equal(await code("/api/v1/namespaces"), 401);
  t.equal(await code("/healthz", { authorization: "Bearer wrong" }), 401);
  t.equal(await code("/api", { authorization: "Bearer a.b.c" }), 401);
});
