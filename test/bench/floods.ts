// What other clients notice of one that floods the API server: the time of their reads as a multiple of what it is in peace, and the
// server's memory.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";

const inPeace = 2000;
const floodMs = 8_000;
const flooder = join(import.meta.dirname, "../fixtures/flooder.ts");

interface Server {
  readonly process: ChildProcess;
  readonly url: string;
  readonly fetch: typeof fetch;
  close(): Promise<void>;
}

/** `npm run bench -- floods [kind …]` */
export async function run(kinds: string[]): Promise<void> {
  const [command, ...args] = selfCommand(flooder, []);
  const all = execFileSync(command, args, { encoding: "utf8" }).trim().split("\n");
  for (const kind of kinds.length > 0 ? kinds : all) await flood(kind);
}

async function flood(kind: string): Promise<void> {
  const server = await start();
  try {
    const { eve, bob } = await prepare(server);
    const usual = await readings(server, bob, (count) => count < inPeace);
    const before = residentBytes(server);
    const [command, ...args] = selfCommand(flooder, [kind, server.url, eve]);
    const attacker = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    const exited = once(attacker, "exit");
    await once(attacker.stdout, "data");
    const until = performance.now() + floodMs;
    let most = 0;
    const under = await readings(server, bob, (count) => {
      if (count % 10 === 0) most = Math.max(most, residentBytes(server));
      return performance.now() < until;
    });
    attacker.kill("SIGKILL");
    await exited;
    const of = (times: readonly number[]) => [0.5, 0.99].map((part) => quantile(times, part).toFixed(1)).join(" / ");
    const ratio = quantile(under, 0.99) / quantile(usual, 0.99);
    console.log(
      `${kind}: p50 / p99 of another client's gets ${of(under)} ms, in peace ${of(usual)} ms: p99 ${ratio.toFixed(1)} times; ` +
        `${under.length} gets; memory +${Math.round((most - before) / (1 << 20))} MB`,
    );
  } finally {
    await server.close();
  }
}

async function start(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), "skiff-floods-"));
  const [command, ...args] = selfCommand(join(import.meta.dirname, "../harness/api-process.ts"), [folder]);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  const config = await loadKubeconfig(said.toString("utf8").trim());
  return {
    process: child,
    url: config.server,
    fetch: config.fetch as typeof fetch,
    async close() {
      config.close();
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Two users that flow control tells apart, and something to list. */
async function prepare(server: Server): Promise<{ eve: string; bob: string }> {
  const post = async (path: string, body: object) => {
    const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const answer = await server.fetch(new Request(`${server.url}${path}`, init));
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text) as { status?: { token?: string } };
  };
  const core = "/api/v1/namespaces/default";
  const token = async (name: string) => {
    await post(`${core}/serviceaccounts`, { metadata: { name } });
    await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    return (await post(`${core}/serviceaccounts/${name}/token`, { spec: {} })).status?.token ?? "";
  };
  const tokens = { eve: await token("eve"), bob: await token("bob") };
  await post(`${core}/configmaps`, { metadata: { name: "wanted" } });
  for (let n = 0; n < 27; n++)
    await post(`${core}/configmaps`, { metadata: { name: `m${n}` }, data: { a: "x".repeat(1_000_000) } });
  return tokens;
}

/** Milliseconds of gets, one after the other. */
async function readings(server: Server, token: string, wants: (count: number) => boolean): Promise<number[]> {
  const times: number[] = [];
  const headers = { authorization: `Bearer ${token}` };
  while (wants(times.length)) {
    const startedAt = performance.now();
    const asked = new Request(`${server.url}/api/v1/namespaces/default/configmaps/wanted`, { headers });
    const answer = await server.fetch(asked);
    await answer.text();
    if (!answer.ok) throw new Error(`a get was answered with ${answer.status}`);
    times.push(performance.now() - startedAt);
  }
  return times;
}

function quantile(times: readonly number[], part: number): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * part)] ?? Number.NaN;
}

const residentBytes = (server: Server) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.process.pid}/status`, "utf8"))?.[1] ?? "0") * 1024;
