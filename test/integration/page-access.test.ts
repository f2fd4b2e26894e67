// The page's own port as somebody meets it who may not: another user of the machine, a pod in its network, a page of another site.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openAgent } from "../../agent/assemble/agent.ts";
import { openNodeServers } from "../../agent/assemble/serving.ts";
import { openNodeStats } from "../../agent/assemble/stats.ts";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { uiCommand } from "../../control/assemble/ui-command.ts";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { admin } from "../harness/api-server.ts";
import { startControl } from "../harness/control.ts";
import { freePort } from "../harness/skiff.ts";

const cluster = await startControl();
t.teardown(() => cluster.close());
const { control } = cluster;
const client = new ApiClient({ fetch: control.fetchAs(admin) });

/** Of an account with these rights on `nodes` and what is below it. */
async function tokenOf(name: string, rules: readonly object[]): Promise<string> {
  const metadata = { name, namespace: "default" };
  const rbac = "rbac.authorization.k8s.io";
  await client.create(resources.serviceaccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata }, call);
  const role = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name }, rules };
  await client.create(resources.clusterroles, role as never, call);
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  };
  await client.create(resources.clusterrolebindings, binding as never, call);
  const wish = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: {}, spec: {} };
  const options = { ...metadata, subresource: "token" };
  const { status } = await client.create<{ status: { token: string } }>(
    resources.serviceaccounts,
    wish as never,
    call,
    options,
  );
  return status.token;
}

async function openPage(hasApi: boolean) {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-page-access-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const nodeName = hasApi ? "joined" : "alone";
  const config = agentConfig({ nodeName, nodeIps: ["127.0.0.1"], dataDir, kubeletPort: await freePort() });
  const fetch = control.fetchAs({ name: `system:node:${nodeName}`, groups: ["system:nodes", "system:authenticated"] });
  const agent = await openAgent({
    config,
    runtime: openFake({ images: [] }),
    ...(hasApi ? { api: { fetch } } : {}),
    plugins: [],
    log: noLog,
  });
  t.teardown(() => agent.close());
  const stats = openNodeStats({ agent, dataDir, nodeIps: config.nodeIps, clock: systemClock, log: noLog });
  const port = await freePort();
  const tokenFile = join(dataDir, "agent", "ui-token");
  const servers = await openNodeServers({
    view: agent.view,
    identity: undefined,
    client: hasApi ? new ApiClient({ fetch }) : undefined,
    more: stats.routes,
    page: { folder: dataDir, state: (wish) => stats.page(wish), port, tokenFile, dataDir },
    addresses: () => config.nodeIps,
    kubeletPort: config.kubeletPort,
    healthzPort: 0,
    log: noLog,
    clock: systemClock,
  });
  t.teardown(() => servers.close());
  return { port, dataDir, tokenFile, close: () => servers.close() };
}

const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  "sec-websocket-protocol": "v5.channel.k8s.io",
};

/** The status; headers as given, also those that a browser would not let a page set. */
function ask(port: number, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("upgrade", (_, socket) => {
      socket.destroy();
      resolve(101);
    });
    sent.on("error", reject).end();
  });
}

const guarded = ["/state", "/metrics", "/api/v2.1/ps/", "/api/v1.3/machine", "/api/v1.3/containers/", "/cluster"];
const logs = "/containerLogs/default/web/main";
const exec = "/exec/default/web/main?command=true&output=1";

t.test("nothing that the page shows is answered without a token", async (t) => {
  const { port, tokenFile } = await openPage(true);
  t.throws(() => statSync(tokenFile), { code: "ENOENT" }, "the API server knows who may");
  t.equal(await ask(port, "/"), 503, "its own files are open, where the set-up has built them");
  for (const path of [...guarded, logs, "/%73tate", "/state/", "/none"]) {
    t.equal(await ask(port, path), 401, path);
    t.equal(await ask(port, path, { authorization: "Bearer wrong" }), 401, `${path} with a wrong token`);
  }
  t.equal(await ask(port, "/api/v2.1/ps/", {}, "POST"), 401);
  t.equal(await ask(port, exec, upgrade), 401);

  const reader = await tokenOf("reader", [
    { apiGroups: [""], resources: ["nodes/proxy", "nodes/stats", "nodes/metrics"], verbs: ["get"] },
  ]);
  const nobody = await tokenOf("nobody", []);
  const as = (token: string) => ({ authorization: `Bearer ${token}` });
  for (const path of guarded.filter((each) => each !== "/cluster")) {
    t.equal(await ask(port, path, as(nobody)), 403, `${path} without the right`);
    t.equal(await ask(port, path, as(reader)), 200, `${path} with it`);
  }
  t.equal(await ask(port, exec, { ...upgrade, ...as(reader) }), 403, "a terminal is no read");
});

t.test("other sites' pages are refused, whatever they bring", async (t) => {
  const { port } = await openPage(true);
  const token = await tokenOf("all", [{ apiGroups: [""], resources: ["nodes/proxy"], verbs: ["*"] }]);
  const authorization = `Bearer ${token}`;
  const own = `127.0.0.1:${port}`;
  t.equal(await ask(port, "/state", { authorization, host: own, origin: `http://${own}` }), 200, "its own page");
  t.equal(await ask(port, "/state", { authorization, host: `evil.example:${port}` }), 403, "DNS rebinding");
  t.equal(await ask(port, "/", { host: "evil.example" }), 403, "its files too");
  for (const origin of ["http://evil.example", `http://evil.example:${port}`, `http://127.0.0.1:${port + 1}`, "null"]) {
    t.equal(await ask(port, "/state", { authorization, origin }), 403, origin);
    t.equal(await ask(port, exec, { ...upgrade, authorization, origin }), 403, `a terminal from ${origin}`);
    const forwarded = { authorization, origin, "x-forwarded-for": "192.0.2.1" };
    t.equal(await ask(port, exec, { ...upgrade, ...forwarded }), 403, "nothing forwards to this port");
  }
});

t.test("a node without an API server has a token of its own, for root", async (t) => {
  const { port, dataDir, tokenFile } = await openPage(false);
  t.equal(statSync(tokenFile).mode & 0o777, 0o600);
  for (const path of guarded) t.equal(await ask(port, path), 401, path);
  const lines: string[] = [];
  await uiCommand("8h", dataDir, (line) => lines.push(line), call);
  const token = decodeURIComponent(/#token=(.+)$/.exec(lines[0] ?? "")?.[1] ?? "");
  t.equal(token, readFileSync(tokenFile, "utf8").trim());
  t.equal(await ask(port, "/state", { authorization: `Bearer ${token}` }), 200);
  t.equal(await ask(port, "/state", { authorization: `Bearer ${token}x` }), 401);
});

t.test("skiff ui prints the port of the instance that was asked for, and of no other", async (t) => {
  const [first, second] = [await openPage(false), await openPage(false)];
  const linkOf = async (dataDir: string) => {
    const lines: string[] = [];
    await uiCommand("8h", dataDir, (line) => lines.push(line), call);
    return lines.join("\n");
  };
  const expected = ({ port, tokenFile }: typeof first) =>
    `http://127.0.0.1:${port}/#token=${readFileSync(tokenFile, "utf8").trim()}`;
  t.equal(await linkOf(first.dataDir), expected(first));
  t.equal(await linkOf(second.dataDir), expected(second));
  await second.close();
  await t.rejects(linkOf(second.dataDir), {
    code: "unavailable",
    message: /no running node with the data dir \S+ serves its page/,
  });
  t.equal(await linkOf(first.dataDir), expected(first), "the other is not concerned");

  const record = join(first.dataDir, "agent", "ui-port.json");
  const ofThisProcess = JSON.parse(readFileSync(record, "utf8")) as { pid: number; startTime: string };
  writeFileSync(record, JSON.stringify({ ...ofThisProcess, startTime: "1" }));
  await t.rejects(
    linkOf(first.dataDir),
    { code: "unavailable" },
    "a record that a killed process left is not believed",
  );
});
