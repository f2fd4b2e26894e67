// Two control planes on one etcd: one works; when it is killed in the middle of something the other goes on, and nothing is made
// twice. One that is stopped in order hands over at once.

import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Lease, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { openEtcdStore } from "../../plugins/store/etcd.ts";
import { admin, type Json, startApi } from "../harness/api-server.ts";
import { podTemplate, readyNode } from "../harness/controllers.ts";
import { noEtcd, startEtcd } from "../harness/etcd.ts";
import { SimulatedKubelet } from "../harness/simulated-kubelet.ts";
import { until } from "../harness/until.ts";

const program = join(import.meta.dirname, "../fixtures/control-server.ts");
const namespace = "default";
const at = { namespace, name: "web" };
const patienceMs = 120_000;

/** Resolves when it takes part. */
async function start(dataDir: string, etcd: string, port: number): Promise<ChildProcess> {
  const [command, ...args] = selfCommand(program, [dataDir, etcd, String(port)]);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("close", (code) => reject(new Error(`the control plane ended with ${code}`)));
  });
  return child;
}

async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.kill(signal);
  await ended;
}

t.setTimeout(400_000);

t.test("of two control planes the other goes on when one is killed", { skip: noEtcd, timeout: 400_000 }, async (t) => {
  const [member] = await startEtcd(t);
  const etcd = member?.url ?? "";
  const folder = mkdtempSync(join(tmpdir(), "skiff-fail-over-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const children = new Map<string, ChildProcess>();
  t.teardown(() => Promise.all([...children.values()].map((child) => end(child, "SIGKILL"))));
  const identity = (port: number) => `192.0.2.1:${port}`;
  const join1 = join(folder, "1");
  const join2 = join(folder, "2");
  children.set(identity(1), await start(join1, etcd, 1));
  // Servers of one cluster have the same keys.
  mkdirSync(join2);
  cpSync(join(join1, "pki"), join(join2, "pki"), { recursive: true });
  children.set(identity(2), await start(join2, etcd, 2));

  const store = await openEtcdStore({ endpoints: [etcd], clock, log }, uninterrupted);
  const api = await startApi({ store });
  const stop = new AbortController();
  const call = { signal: stop.signal };
  const client = new ApiClient({ fetch: api.server.fetchAs(admin), clock, log });
  const pods = api.server.informers.for<Pod>(resources.pods);
  const nodes = api.server.informers.for<Node>(resources.nodes);
  const kubelet = new SimulatedKubelet({ client, pods, nodes, binds: false });
  const running = kubelet.run(call).catch(() => undefined);
  t.teardown(async () => {
    stop.abort();
    await running;
    await api.close();
    await store.close();
  });
  let most = 0;
  pods.onEvent(() => {
    most = Math.max(most, pods.list(namespace).filter(({ metadata }) => !metadata.deletionTimestamp).length);
  });
  const holder = async () => {
    const lease = await client.get<Lease>(
      resources.leases,
      { namespace: "kube-system", name: "kube-controller-manager" },
      call,
    );
    return lease.spec?.holderIdentity?.split("_")[1] ?? "";
  };
  /** Where pods are led that ask for the API. */
  const servers = async () => {
    const at = { namespace, name: "kubernetes" };
    const { subsets } = await client.get<Json>(resources.endpoints, at, call);
    return subsets.flatMap(({ addresses, ports }: Json) =>
      addresses.map(({ ip }: Json) => `${ip}:${ports[0].port}`),
    ) as string[];
  };
  const available = (count: number) =>
    until(
      `${count} available`,
      async () => {
        const { status, metadata } = await client.get<Json>(resources.deployments, at, call);
        const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas];
        return status?.observedGeneration === metadata.generation && counts.every((each) => each === count);
      },
      patienceMs,
    );
  const setReplicas = (replicas: number) =>
    client.patch(resources.deployments, at, { type: "merge", body: { spec: { replicas } } }, call);

  t.same(await servers(), [identity(1), identity(2)], "pods are led to both");

  for (const name of ["a", "b"]) await client.create(resources.nodes, readyNode(name), call);
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { replicas: 5, selector: { matchLabels: { app: "web" } }, template: podTemplate({ app: "web" }) },
  };
  await client.create(resources.deployments, deployment, call, { namespace });
  await available(5);
  const first = await holder();
  t.ok(children.has(first), `${first} leads`);

  await setReplicas(40);
  await until("some of them", () => pods.list(namespace).length > 8, patienceMs);
  await end(children.get(first), "SIGKILL");
  await available(40);
  const second = await holder();
  t.not(second, first, "the other one finished it");
  t.equal(most, 40, "and at no moment was there one too many");
  t.equal(pods.list(namespace).length, 40);

  const port = Number(first.split(":")[1]);
  children.set(first, await start(join(folder, String(port)), etcd, port));
  t.equal(await holder(), second, "one that comes back waits");
  await setReplicas(10);
  await end(children.get(second), "SIGTERM");
  await available(10);
  t.equal(await holder(), first, "one that is stopped hands over");
  t.same(await servers(), [first], "and no pod is led to it any more");
  await until("the others to go", () => pods.list(namespace).length === 10, patienceMs);
});
