// How many creates, gets and patches the API takes per second over TLS with 1 and 16 connections, how long lists and pages of
// 5,000 ConfigMaps take, how soon 100 watchers hear of a change, and what 1,000 objects cost in memory; beside each, the CPU time that
// the server's processes took for it. Whoever asks shares the cores with the server, so it does next to nothing (`lean-connection.ts`),
// and CPU time is the measure that a busy machine does not bend. Both servers do some of everything unmeasured first.

import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { type ConnectionProof, type Kubeconfig, loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { runtime } from "../../plugins/kit/os/platform/runtime.ts";
import { noKubeApiserver, ownKb, residentKb, startKubeApiserver } from "../harness/kube-apiserver.ts";
import { LeanConnection, leanWatch, type LeanRequest, requestBytes } from "../harness/lean-connection.ts";
import { countersOf, sumOf } from "../harness/process-counters.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const namespace = "bench";
const objects = 5000;
const warmUps = 500;
/** Before memory is looked at: whatever a program gives back after busy times, it has. */
const restMs = 15_000;
const base = `/api/v1/namespaces/${namespace}/configmaps`;
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** What one server did, by what was measured. */
type Figures = Map<string, number>;
let figures: Figures = new Map();

/**
 * `node test/bench/main.ts api [kubeconfig [process …]]`: without a kubeconfig it starts its own server, and after it the real
 * kube-apiserver on a real etcd where both are on the PATH.
 */
export async function run([kubeconfig, ...processes]: string[]): Promise<void> {
  if (kubeconfig) return measure(kubeconfig, processes.map(Number));
  const own = await startSkiff({ command: "server", runtime: runtime.name });
  console.log(`skiff server on ${runtime.name} ${runtime.version}, sqlite store in ${own.dataDir}`);
  await measure(own.kubeconfig, [own.process.pid ?? 0]).finally(() => own.stop());
  own.remove();
  if (noKubeApiserver) return console.log(`no peer to compare with: ${noKubeApiserver}`);
  const ours = figures;
  figures = new Map();
  const endings: (() => unknown)[] = [];
  try {
    const peer = await startKubeApiserver({ teardown: (end) => endings.unshift(end) });
    console.log("kube-apiserver on etcd");
    await measure(peer.kubeconfig, peer.pids);
    console.log("ours / kube-apiserver's");
    for (const [what, value] of figures) report(what, ((ours.get(what) ?? 0) / value).toFixed(2));
  } finally {
    for (const end of endings) await end();
  }
}

/** One server, and how to ask it. */
interface Subject {
  readonly server: string;
  readonly proof: ConnectionProof;
  readonly pids: readonly number[];
}

async function measure(kubeconfig: string, pids: readonly number[]): Promise<void> {
  const config = await loadKubeconfig(kubeconfig);
  const client = new ApiClient({ fetch: config.fetch, server: config.server });
  const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  try {
    await until("the server to be ready", () => client.request("/readyz", {}, call));
    await client.create(resources.namespaces, made, call).catch(() => {});
    const subject = await subjectOf(config, pids);
    const before = ownKb(pids);
    await measureWrites(subject);
    if (pids.length > 0) {
      await new Promise((resolve) => setTimeout(resolve, restMs));
      figure(`memory after ${objects} objects`, residentKb(pids) / 1024, "MB");
      report("memory per 1,000 objects", `${Math.round((ownKb(pids) - before) / (objects / 1000))} KB`);
    }
    await measureLists(subject);
    await measureFanOut(client, subject);
    if (pids.length > 0) figure("memory at the end", residentKb(pids) / 1024, "MB");
  } finally {
    await client.request(base, { method: "DELETE" }, call).catch(() => {});
    config.close();
  }
}

async function subjectOf(config: Kubeconfig, pids: readonly number[]): Promise<Subject> {
  return { server: config.server, proof: await config.proof(call), pids };
}

const creation = (name: string): LeanRequest => ({
  method: "POST",
  path: base,
  body: JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels: { suite: "bench" } },
    data: { key: `value-${name}`, blob: "x".repeat(200) },
  }),
});
const reading = (name: string): LeanRequest => ({ method: "GET", path: `${base}/${name}` });
const patching = (name: string, key: string): LeanRequest => ({
  method: "PATCH",
  path: `${base}/${name}`,
  type: "application/merge-patch+json",
  body: JSON.stringify({ data: { key } }),
});
const removal = (name: string): LeanRequest => ({ method: "DELETE", path: `${base}/${name}` });

async function measureWrites(subject: Subject): Promise<void> {
  const unmeasured = [creation, reading, (name: string) => patching(name, "warm"), removal];
  for (const [index, request] of unmeasured.entries()) {
    const name = index === 0 ? `the first ${warmUps} creates` : undefined;
    await rate(subject, name, { count: warmUps, connections: 4 }, (n) => request(`warm${n}`));
  }
  const one = 1000;
  await rate(subject, "create, 1 connection", { count: one, connections: 1 }, (n) => creation(`c${n}`));
  const rest = { count: objects - one, connections: 16 };
  await rate(subject, "create, 16 connections", rest, (n) => creation(`c${n + one}`));
  const get = (n: number) => reading(`c${n % objects}`);
  await rate(subject, "get, 1 connection", { count: 2000, connections: 1 }, get);
  await rate(subject, "get, 16 connections", { count: 10_000, connections: 16 }, get);
  await rate(subject, "patch, 1 connection", { count: 500, connections: 1 }, (n) => patching(`c${n}`, "new"));
  await rate(subject, "patch, 16 connections", { count: 2000, connections: 16 }, (n) => patching(`c${n}`, "newer"));
}

async function measureLists(subject: Subject): Promise<void> {
  const list = (query = "", rest: Partial<LeanRequest> = {}) => ({ method: "GET", path: `${base}${query}`, ...rest });
  await latency(subject, "list of 5,000", 20, list());
  await latency(subject, "list of 5,000, gzipped", 20, list("", { encoding: "gzip" }));
  await latency(subject, "first page of 500", 20, list("?limit=500"));
  await latency(subject, "list of 5,000 as a table", 20, list("", { accept: asTable }));
  await latency(subject, "the table gzipped", 20, list("", { accept: asTable, encoding: "gzip" }));
}

async function measureFanOut(client: ApiClient, subject: Subject): Promise<void> {
  const watchers = 100;
  const updates = 200;
  const { server, proof } = subject;
  const heard: number[] = [];
  const sent: number[] = [];
  const { metadata } = await client.list(resources.configmaps, { namespace, limit: 1 }, call);
  const watch = requestBytes(server, {
    method: "GET",
    path: `${base}?watch=true&resourceVersion=${metadata.resourceVersion ?? ""}`,
  });
  const done = Promise.withResolvers<void>();
  const follow = () => {
    let next = 0;
    return leanWatch(server, proof, watch, () => {
      heard.push(performance.now() - (sent[next++] ?? Number.NaN));
      if (heard.length === watchers * updates) done.resolve();
    });
  };
  const endings = await Promise.all(Array.from({ length: watchers }, follow));
  const writer = await LeanConnection.open(server, proof);
  const requests = Array.from({ length: updates }, (_, n) => requestBytes(server, creation(`w${n}-${process.pid}`)));
  const before = cpuSeconds(subject);
  for (const request of requests) {
    sent.push(performance.now());
    await writer.ask(request);
  }
  await done.promise;
  const what = `${watchers} watchers hear of a create`;
  figure(`${what}, the first`, Math.max(...heard.slice(0, watchers)), "ms");
  times(what, heard);
  reportCpu(subject, what, before, updates);
  for (const end of [...endings, () => writer.close()]) end();
}

interface Load {
  readonly count: number;
  readonly connections: number;
}

/** Without a name nothing is told. */
async function rate(
  subject: Subject,
  what: string | undefined,
  { count, connections }: Load,
  request: (n: number) => LeanRequest,
): Promise<void> {
  const { server, proof } = subject;
  const requests = Array.from({ length: count }, (_, n) => requestBytes(server, request(n)));
  const opened = await Promise.all(Array.from({ length: connections }, () => LeanConnection.open(server, proof)));
  let next = 0;
  const before = cpuSeconds(subject);
  const began = performance.now();
  const work = async (connection: LeanConnection) => {
    while (next < count) await connection.ask(requests[next++] as Buffer);
  };
  await Promise.all(opened.map(work));
  const tookMs = performance.now() - began;
  for (const connection of opened) connection.close();
  if (what === undefined) return;
  figure(what, (count * 1000) / tookMs, "a second");
  reportCpu(subject, what, before, count);
}

async function latency(subject: Subject, what: string, rounds: number, request: LeanRequest): Promise<void> {
  const bytes = requestBytes(subject.server, request);
  const connection = await LeanConnection.open(subject.server, subject.proof);
  const all: number[] = [];
  let size = 0;
  const before = cpuSeconds(subject);
  for (let n = 0; n < rounds; n++) {
    const began = performance.now();
    size = await connection.ask(bytes);
    all.push(performance.now() - began);
  }
  connection.close();
  times(what, all);
  reportCpu(subject, what, before, rounds);
  report(`${what}: bytes`, String(size));
}

function times(what: string, all: readonly number[]): void {
  const sorted = [...all].sort((a, b) => a - b);
  for (const share of [0.5, 0.99])
    figure(
      `${what}, p${share * 100}`,
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0,
      "ms",
    );
}

function cpuSeconds({ pids }: Subject): number {
  return sumOf(pids.map(countersOf)).cpuSeconds;
}

/** What one of them cost the server's processes. */
function reportCpu(subject: Subject, what: string, before: number, count: number): void {
  if (subject.pids.length === 0) return;
  figure(`${what}: server's CPU`, ((cpuSeconds(subject) - before) * 1e6) / count, "µs");
}

function figure(what: string, value: number, unit: "a second" | "ms" | "MB" | "µs"): void {
  figures.set(what, value);
  report(what, `${value.toFixed(unit === "ms" ? 1 : 0)} ${unit}`);
}

function report(what: string, figure: string): void {
  console.log(`${what.padEnd(48)} ${figure}`);
}
