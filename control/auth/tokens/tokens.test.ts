import { createHmac, generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import t from "tap";
import { MemoryClusterView } from "../../../test/harness/memory-cluster-view.ts";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import type { KubeObject, ServiceAccount } from "../../../plugins/kit/kube/objects/types.ts";
import { anonymousAuthenticator } from "../anonymous.ts";
import { bearerAuthenticator } from "./bearer.ts";
import { bootstrapTokenAuthenticator } from "./bootstrap.ts";
import { jsonWebKeySet, openIdConfiguration } from "./discovery.ts";
import { parseJwt, signingKey, signJwt } from "./jwt.ts";
import { oidcAuthenticator } from "./oidc.ts";
import { serviceAccountAuthenticator } from "./service-account.ts";
import { issueLegacyToken, issueToken } from "./service-account-issue.ts";
import { tokenFileAuthenticator } from "./token-file.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const core = (plural: string) => ({ group: "", plural });
const account = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "robot", namespace: "shop", uid: "sa-1" },
} as ServiceAccount & KubeObject;
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop", uid: "pod-1" },
  spec: { serviceAccountName: "robot", nodeName: "pi", containers: [] },
} as KubeObject;
const node = { apiVersion: "v1", kind: "Node", metadata: { name: "pi", uid: "node-1" } } as KubeObject;

function cluster(type: "ec" | "rsa" = "ec") {
  const { privateKey } =
    type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = signingKey(privateKey);
  const clock = new FakeClock();
  const view = new MemoryClusterView();
  view.put(core("serviceaccounts"), account);
  view.put(core("pods"), pod);
  view.put(core("nodes"), node);
  const authenticator = serviceAccountAuthenticator({ issuers: [issuer], keys: () => [key], view, clock });
  const issue = async (spec: object = {}) => {
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
    const options = { issuer, apiAudiences: [issuer], key: () => key, view, clock };
    return (await issueToken(account, request, options, call)).status?.token ?? "";
  };
  const ask = (token: string, audiences = [issuer]) => authenticator.authenticateToken(token, audiences, call);
  return { key, clock, view, issue, ask };
}

const boundToPod = { boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "web", uid: "pod-1" } };

for (const type of ["ec", "rsa"] as const) {
  t.test(`a token issued with an ${type} key authenticates as its service account`, async (t) => {
    const { issue, ask } = cluster(type);
    const answer = await ask(await issue(boundToPod));
    t.match(answer, {
      user: {
        name: "system:serviceaccount:shop:robot",
        uid: "sa-1",
        groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
        extra: {
          "authentication.kubernetes.io/pod-name": ["web"],
          "authentication.kubernetes.io/pod-uid": ["pod-1"],
          "authentication.kubernetes.io/node-name": ["pi"],
          "authentication.kubernetes.io/credential-id": [/^JTI=/],
        },
      },
      audiences: [issuer],
    });
  });
}

t.test("serviceAccountAuthenticator() refuses tricks", async (t) => {
  const { issue, ask, clock, key } = cluster();
  const token = await issue();
  const claims = parseJwt(token)?.claims ?? {};
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const [head = "", body = ""] = token.split(".");
  const other = signingKey(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
  const publicPem = key.key.export({ type: "spki", format: "pem" }) as string;
  const hmacHead = encode({ alg: "HS256", kid: key.keyId });
  const cases: Record<string, string> = {
    "alg none": `${encode({ alg: "none" })}.${body}.AA`,
    "alg HS256 with the public key as secret": `${hmacHead}.${body}.${createHmac("sha256", publicPem).update(`${hmacHead}.${body}`).digest("base64url")}`,
    "another key": signJwt(claims, other),
    "another key with our key id": signJwt(claims, { ...other, keyId: key.keyId }),
    "changed claims": `${head}.${encode({ ...claims, sub: "system:serviceaccount:kube-system:root" })}.${token.split(".")[2]}`,
    "claims of another subject": signJwt({ ...claims, sub: "kubernetes-admin" }, key),
    "no expiry": signJwt({ ...claims, exp: undefined }, key),
    "no service account": signJwt({ ...claims, "kubernetes.io": { namespace: "shop" } }, key),
    "not valid yet": signJwt({ ...claims, nbf: clock.now() / 1000 + 3600 }, key),
  };
  for (const [name, bad] of Object.entries(cases)) await t.rejects(ask(bad), { code: "unauthorized" }, name);
  await t.rejects(ask(token, ["https://other"]), { code: "unauthorized" }, "wrong audience");
  t.equal(await ask(signJwt({ ...claims, iss: "https://elsewhere" }, key)), undefined, "another issuer is not ours");
  t.equal(await ask("not.a.jwt"), undefined);
  t.equal(await ask(`${token}.${token}`), undefined);
  t.ok(await ask(token));
  await clock.advance(3_600_000 + 61_000);
  await t.rejects(ask(token), { code: "unauthorized", message: /expired/ });
});

t.test("a bound token dies with its pod, its account, or a recreated one", async (t) => {
  const { issue, ask, view, clock } = cluster();
  const token = await issue(boundToPod);
  t.ok(await ask(token));
  view.put(core("pods"), { ...pod, metadata: { ...pod.metadata, uid: "pod-2" } });
  await t.rejects(ask(token), { code: "unauthorized" }, "recreated");
  const deletionTimestamp = new Date(clock.now()).toISOString();
  view.put(core("pods"), { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
  t.ok(await ask(token), "being deleted");
  await clock.advance(61_000);
  await t.rejects(ask(token), { code: "unauthorized" }, "deleted for long");
  view.put(core("pods"), pod);
  t.ok(await ask(token));
  view.delete(core("serviceaccounts"), account);
  await t.rejects(ask(token), { code: "unauthorized" }, "account gone");
});

t.test("issueToken() checks what it is asked for", async (t) => {
  const { issue } = cluster();
  await t.rejects(issue({ expirationSeconds: 60 }), { code: "invalid", message: /less than 10 minutes/ });
  await t.rejects(issue({ expirationSeconds: 2 ** 33 }), { code: "invalid" });
  await t.rejects(issue({ boundObjectRef: { kind: "Pod", name: "none" } }), { code: "not-found" });
  await t.rejects(issue({ boundObjectRef: { kind: "Pod", name: "web", uid: "x" } }), { code: "conflict" });
  await t.rejects(issue({ boundObjectRef: { kind: "ConfigMap", name: "x" } }), { code: "invalid" });
  const podToken = parseJwt(await issue({ ...boundToPod, expirationSeconds: 3607 }))?.claims as {
    exp: number;
    iat: number;
  };
  t.equal(podToken.exp - podToken.iat, 365 * 24 * 3600, "a pod's token outlives clients that never re-read it");
  const other = parseJwt(await issue({ ...boundToPod, audiences: ["vault"], expirationSeconds: 3607 }))?.claims;
  t.equal(Number(other?.exp) - Number(other?.iat), 3607);
  t.same(other?.aud, ["vault"]);
});

t.test("a legacy token is good while its secret holds it", async (t) => {
  const { ask, view, key } = cluster();
  const token = issueLegacyToken({ namespace: "shop", name: "robot", uid: "sa-1" }, "robot-token", key);
  await t.rejects(ask(token), { code: "unauthorized" });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "robot-token", namespace: "shop" },
    data: { token: Buffer.from(token).toString("base64") },
  };
  view.put(core("secrets"), secret);
  t.equal((await ask(token))?.user.name, "system:serviceaccount:shop:robot");
  view.put(core("secrets"), { ...secret, data: { token: "AAAA" } });
  await t.rejects(ask(token), { code: "unauthorized" });
});

t.test("bootstrapTokenAuthenticator() takes good tokens only", async (t) => {
  const view = new MemoryClusterView();
  const clock = new FakeClock();
  const base64 = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
  const good = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    expiration: new Date(clock.now() + 60_000).toISOString(),
    "auth-extra-groups": "system:bootstrappers:skiff:default-node-token",
  };
  const put = (change: Record<string, string> = {}, type = "bootstrap.kubernetes.io/token") =>
    view.put(core("secrets"), {
      apiVersion: "v1",
      kind: "Secret",
      type,
      metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
      data: base64({ ...good, ...change }),
    });
  const authenticator = bootstrapTokenAuthenticator(view, clock);
  const ask = (token = "abcdef.0123456789abcdef") => authenticator.authenticateToken(token, [], call);
  await t.rejects(ask(), { code: "unauthorized" }, "no such token");
  put();
  t.same(await ask(), {
    user: {
      name: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers", "system:bootstrappers:skiff:default-node-token", "system:authenticated"],
    },
  });
  t.equal(await ask("something else"), undefined);
  await t.rejects(ask("abcdef.0123456789abcdee"), { code: "unauthorized" }, "wrong secret");
  put({ "auth-extra-groups": "system:masters" });
  await t.rejects(ask(), { code: "unauthorized" }, "groups beyond bootstrappers");
  put({ "usage-bootstrap-authentication": "false" });
  await t.rejects(ask(), { code: "unauthorized" }, "other usage");
  put({}, "Opaque");
  await t.rejects(ask(), { code: "unauthorized" }, "other type");
  put();
  await clock.advance(61_000);
  await t.rejects(ask(), { code: "unauthorized", message: /expired/ });
});

t.test("tokenFileAuthenticator() reads quoted groups and names a bad line", async (t) => {
  const file = tokenFileAuthenticator('s3cret,ann,1,"dev,ops"\nt2,bob,\n# comment\n', "tokens.csv");
  t.same(await file.authenticateToken("s3cret", [], call), {
    user: { name: "ann", uid: "1", groups: ["dev", "ops", "system:authenticated"] },
  });
  t.same((await file.authenticateToken("t2", [], call))?.user.groups, ["system:authenticated"]);
  t.equal(await file.authenticateToken("s3cre", [], call), undefined);
  t.throws(() => tokenFileAuthenticator("a,b,c\nbad\n", "tokens.csv"), { code: "invalid", message: /line 2/ });
});

t.test("bearerAuthenticator() refuses unknown tokens instead of passing them on", async (t) => {
  const bearer = bearerAuthenticator([tokenFileAuthenticator("good,ann,1", "f")], [issuer]);
  const ask = (headers: Record<string, string>) =>
    bearer.authenticate({ headers: new Headers(headers), peer: { address: "" } }, call);
  t.equal((await ask({ authorization: "Bearer good" }))?.name, "ann");
  t.equal((await ask({ authorization: "bearer   good " }))?.name, "ann");
  t.equal(await ask({}), undefined);
  t.equal(await ask({ authorization: "Basic Z29vZA==" }), undefined);
  await t.rejects(ask({ authorization: "Bearer bad" }), { code: "unauthorized" });
  const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from("good").toString("base64url")}, v4.channel.k8s.io`;
  t.equal((await ask({ "sec-websocket-protocol": protocol }))?.name, "ann");
});

t.test("anonymousAuthenticator() opens health and version only, and not to wrong credentials", async (t) => {
  const ask = (path: string, headers = {}) =>
    anonymousAuthenticator.authenticate({ headers: new Headers(headers), peer: { address: "" }, path }, call);
  for (const path of ["/healthz", "/livez/ping", "/readyz", "/version"]) t.ok(await ask(path), path);
  for (const path of ["/api", "/healthzz", "/metrics", "/"]) t.equal(await ask(path), undefined, path);
  t.equal(await ask("/healthz", { authorization: "Basic x" }), undefined);
});

t.test("jsonWebKeySet() publishes keys that verify our tokens, also by a stranger", async (t) => {
  const { key, issue } = cluster();
  t.match(openIdConfiguration(issuer, "https://10.0.0.1:6443", [key]), {
    issuer,
    jwks_uri: "https://10.0.0.1:6443/openid/v1/jwks",
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const { createLocalJWKSet, jwtVerify } = await import("jose");
  const keySet = createLocalJWKSet(jsonWebKeySet([key]) as never);
  const { payload } = await jwtVerify(await issue(), keySet, {
    issuer,
    audience: issuer,
    currentDate: new Date(Date.UTC(2026, 0, 1)),
  });
  t.equal(payload.sub, "system:serviceaccount:shop:robot");
});

t.test("oidcAuthenticator() takes ID tokens of its provider and client", async (t) => {
  const provider = "https://accounts.example";
  const key = signingKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);
  const seconds = Math.floor(Date.now() / 1000);
  const oidc = oidcAuthenticator({
    issuerUrl: provider,
    clientId: "kube",
    usernameClaim: "name",
    groupsClaim: "groups",
    groupsPrefix: "oidc:",
    requiredClaims: { hd: "example" },
    fetch: async ({ url }) =>
      url.endsWith("/keys")
        ? Response.json(jsonWebKeySet([key]))
        : Response.json({ issuer: provider, jwks_uri: `${provider}/keys` }),
  });
  const claims = { iss: provider, aud: "kube", exp: seconds + 600, name: "ann", groups: ["a"], hd: "example" };
  const ask = (change: object = {}) => oidc.authenticateToken(signJwt({ ...claims, ...change }, key), [], call);
  t.same(await ask(), { user: { name: `${provider}#ann`, groups: ["oidc:a", "system:authenticated"] } });
  await t.rejects(ask({ aud: "other" }), { code: "unauthorized" });
  await t.rejects(ask({ exp: seconds - 600 }), { code: "unauthorized" });
  await t.rejects(ask({ hd: "evil" }), { code: "unauthorized" });
  t.equal(await ask({ iss: "https://other" }), undefined);
  const bare = oidcAuthenticator({
    issuerUrl: provider,
    clientId: "kube",
    usernamePrefix: "-",
    groupsClaim: "groups",
    fetch: async ({ url }) =>
      url.endsWith("/keys")
        ? Response.json(jsonWebKeySet([key]))
        : Response.json({ issuer: provider, jwks_uri: `${provider}/keys` }),
  });
  const give = (change: object) => bare.authenticateToken(signJwt({ ...claims, sub: "ann", ...change }, key), [], call);
  t.same((await give({ groups: ["dev", "system:masters"] }))?.user.groups, ["dev", "system:authenticated"]);
  await t.rejects(give({ sub: "system:admin" }), { code: "unauthorized", message: /reserved/ });
});

t.test("parseJwt() answers anything without throwing", async () => {
  const part = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString("base64url")),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      parseJwt(parts.join("."));
    }),
  );
});
