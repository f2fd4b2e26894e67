import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { openPlugins } from "../../plugins/kit/base/registry.ts";
import { authorizerKind } from "./contract.ts";
import { accessPlugins } from "./plugins.ts";
import { tokenAuthenticatorKind } from "./tokens/contract.ts";

const dir = mkdtempSync(join(tmpdir(), "skiff-access-plugins-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

async function open(settings: Record<string, unknown>) {
  const opened = await openPlugins(
    { plugins: accessPlugins(settings), settings, log: noLog, clock: systemClock, stateDir: dir },
    call,
  );
  t.teardown(() => opened.close());
  return opened;
}

t.test("accessPlugins() opens what the settings name and nothing else", async (t) => {
  t.same(accessPlugins({}), []);
  const kubeconfig = `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: a, context: {cluster: a}}]}`;
  const opened = await open({
    TokenFile: { path: file("tokens.csv", "secret,ann,1") },
    ABAC: { path: file("abac.jsonl", '{"kind":"Policy","spec":{"user":"ann","nonResourcePath":"*"}}') },
    OIDC: { issuerUrl: "https://accounts.example", clientId: "kube" },
    AuthorizationWebhook: { kubeconfig: file("webhook.kubeconfig", kubeconfig) },
  });
  const tokens = opened.all(tokenAuthenticatorKind);
  t.same(
    tokens.map(({ name }) => name),
    ["token-file", "oidc"],
  );
  t.equal((await tokens[0]?.authenticateToken("secret", [], call))?.user.name, "ann");
  const [abac, webhook] = opened.all(authorizerKind);
  const asked = { user: { name: "ann", groups: [] }, verb: "get", path: "/x" };
  t.equal((await abac?.authorize(asked, call))?.answer, "allow");
  t.equal((await webhook?.authorize(asked, call))?.answer, "no-opinion", "nobody is there");
});

t.test("wrong settings are one clear Fault", async (t) => {
  await t.rejects(open({ TokenFile: { path: join(dir, "none") } }), { code: "invalid", message: /TokenFile.*none/ });
  await t.rejects(open({ TokenFile: {} }), { code: "invalid", message: /path/ });
  await t.rejects(open({ OIDC: { issuerUrl: "x" } }), { code: "invalid", message: /clientId/ });
  await t.rejects(open({ ABAC: { path: file("bad.jsonl", "{}\n") } }), { code: "invalid", message: /line 1/ });
});
