// How many creates, gets and patches the API takes per second over TLS with 1 and 16 connections, how long lists and pages of
// 5,000 ConfigMaps take, how soon 100 watchers hear of a change, and what 1,000 objects cost in memory.

import { ApiClient } from "../../plugins/kit/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/client/kubeconfig.ts";
import { uninterrupted as call } from "../../plugins/kit/call.ts";
import { resources } from "../../plugins/kit/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { runtime } from "../../plugins/kit/platform/runtime.ts";
import { noKubeApiserver, residentKb, startKubeApiserver } from "../harness/kube-apiserver.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const namespace = "bench";
const objects = 5000;
const base = `/api/v1/namespaces/${namespace}/configmaps`;

/** What one server did, by what was measured. */
type Figures = Map<string, number>;
let figures: Figures = new Map();

/**
 * `node test/bench/main.ts api [kubeconfig]`: without a kubeconfig it starts its own server, and after it the real kube-apiserver on a
 * real etcd where both are on the PATH.
 */
export async function run(args: string[]): Promise<void> {
  if (args[0]) return measure(args[0]);
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

async function measure(kubeconfig: string, pids: readonly number[] = []): Promise<void> {
  const config = await loadKubeconfig(kubeconfig);
  const client = new ApiClient({ fetch: config.fetch, server: config.server });
  const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  try {
    await until("the server to be ready", () => client.request("/readyz", {}, call));
    await client.create(resources.namespaces, made, call).catch(() => {});
    const before = residentKb(pids);
    await measureWrites(client);
    if (pids.length > 0) {
      const after = residentKb(pids);
      figure(`memory after ${objects} objects`, after / 1024, "MB");
      report("memory per 1,000 objects", `${Math.round((after - before) / (objects / 1000))} KB`);
    }
    await measureLists(client);
    await measureFanOut(client);
  } finally {
    await client.request(base, { method: "DELETE" }, call).catch(() => {});
    config.close();
  }
}

const configMap = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { suite: "bench" } },
  data: { key: `value-${name}`, blob: "x".repeat(200) },
});

async function measureWrites(client: ApiClient): Promise<void> {
  const create = (n: number) => client.create(resources.configmaps, configMap(`c${n}`), call, { namespace });
  const get = (n: number) => client.get(resources.configmaps, { namespace, name: `c${n % objects}` }, call);
  const patch = (n: number) =>
    client.patch(
      resources.configmaps,
      { namespace, name: `c${n}` },
      { type: "merge", body: { data: { key: "new" } } },
      call,
    );
  await rate("create, 1 connection", 500, 1, create);
  await rate("create, 16 connections", objects - 500, 16, (n) => create(n + 500));
  await rate("get, 1 connection", 1000, 1, get);
  await rate("get, 16 connections", 5000, 16, get);
  await rate("patch, 16 connections", 1000, 16, patch);
}

async function measureLists(client: ApiClient): Promise<void> {
  const list = async (query: string, accept = "application/json") => {
    const response = await client.request(`${base}${query}`, { method: "GET", headers: { accept } }, call);
    return response.text();
  };
  await latency("list of 5,000", 20, () => list(""));
  await latency("first page of 500", 20, () => list("?limit=500"));
  await latency("list of 5,000 as a table", 10, () => list("", "application/json;as=Table;v=v1;g=meta.k8s.io"));
}

async function measureFanOut(client: ApiClient): Promise<void> {
  const watchers = 100;
  const updates = 100;
  const sent = new Map<string, number>();
  const heard: number[] = [];
  const stop = new AbortController();
  const { metadata } = await client.list(resources.configmaps, { namespace, limit: 1 }, call);
  let left = watchers * updates;
  const done = Promise.withResolvers<void>();
  const follow = async () => {
    const watch = client.watch<KubeObject>(
      resources.configmaps,
      { namespace, resourceVersion: metadata.resourceVersion ?? "" },
      { signal: stop.signal },
    );
    for await (const { object } of watch) {
      const at = sent.get(object.metadata.name ?? "");
      if (at === undefined) continue;
      heard.push(performance.now() - at);
      if (--left === 0) done.resolve();
    }
  };
  const following = Array.from({ length: watchers }, () => follow().catch(() => {}));
  for (let n = 0; n < updates; n++) {
    const name = `w${n}-${process.pid}`;
    sent.set(name, performance.now());
    await client.create(resources.configmaps, configMap(name), call, { namespace });
  }
  await done.promise;
  stop.abort();
  await Promise.all(following);
  times(`${watchers} watchers hear of a create`, heard);
}

async function rate(
  what: string,
  count: number,
  connections: number,
  one: (n: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const began = performance.now();
  const work = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: connections }, work));
  figure(what, (count * 1000) / (performance.now() - began), "a second");
}

async function latency(what: string, rounds: number, one: () => Promise<unknown>): Promise<void> {
  const all: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const began = performance.now();
    await one();
    all.push(performance.now() - began);
  }
  times(what, all);
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

function figure(what: string, value: number, unit: "a second" | "ms" | "MB"): void {
  figures.set(what, value);
  report(what, `${value.toFixed(unit === "ms" ? 1 : 0)} ${unit}`);
}

function report(what: string, figure: string): void {
  console.log(`${what.padEnd(36)} ${figure}`);
}
