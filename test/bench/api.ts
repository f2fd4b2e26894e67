// How many creates, gets and patches the API takes per second over TLS with 1 and 16 connections, how long lists and pages of
// 5,000 ConfigMaps take, how soon 100 watchers hear of a change, and what 1,000 objects cost in memory.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient } from "../../plugins/kit/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/client/kubeconfig.ts";
import { uninterrupted as call } from "../../plugins/kit/call.ts";
import { resources } from "../../plugins/kit/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { runtime, selfCommand } from "../../plugins/kit/platform/runtime.ts";

const namespace = "bench";
const objects = 5000;
const base = `/api/v1/namespaces/${namespace}/configmaps`;

/** `node test/bench/main.ts api [kubeconfig]`: without a kubeconfig it starts its own server. */
export async function run(args: string[]): Promise<void> {
  const own = args[0] ? undefined : await startServer();
  const config = await loadKubeconfig(args[0] ?? (own?.kubeconfig as string));
  const client = new ApiClient({ fetch: config.fetch, server: config.server });
  try {
    await client
      .create(resources.namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, call)
      .catch(() => {});
    const before = own?.rssKb();
    await measureWrites(client);
    const after = own?.rssKb();
    if (before !== undefined && after !== undefined)
      report(
        "memory per 1,000 objects",
        `${Math.round((after - before) / (objects / 1000))} KB, now ${Math.round(after / 1024)} MB RSS`,
      );
    await measureLists(client);
    await measureFanOut(client);
  } finally {
    await client.request(base, { method: "DELETE" }, call).catch(() => {});
    config.close();
    await own?.stop();
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
  report(`${watchers} watchers hear of a create`, `p50 ${quantile(heard, 0.5)} ms, p99 ${quantile(heard, 0.99)} ms`);
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
  report(what, `${Math.round((count * 1000) / (performance.now() - began))} a second`);
}

async function latency(what: string, times: number, one: () => Promise<unknown>): Promise<void> {
  const all: number[] = [];
  for (let n = 0; n < times; n++) {
    const began = performance.now();
    await one();
    all.push(performance.now() - began);
  }
  report(what, `p50 ${quantile(all, 0.5)} ms, p99 ${quantile(all, 0.99)} ms`);
}

function quantile(values: number[], share: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}

function report(what: string, figure: string): void {
  console.log(`${what.padEnd(36)} ${figure}`);
}

interface OwnServer {
  readonly kubeconfig: string;
  rssKb(): number;
  stop(): Promise<void>;
}

async function startServer(): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), "skiff-bench-api-"));
  const [command, ...args] = selfCommand(join(import.meta.dirname, "../harness/api-process.ts"), [folder]);
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  console.log(`API server on ${runtime.name} ${runtime.version}, sqlite store in ${folder}`);
  const kubeconfig = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").trim()));
    child.once("exit", () => reject(new Error("the server ended before it served")));
  });
  return {
    kubeconfig,
    rssKb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0),
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
