// What the network costs: attaching pods in process and as a program beside Debian's Go programs, programming services, connections
// pod to pod and pod to Service beside a bare veth, and DNS. Works in namespaces of its own.

import { Resolver } from "node:dns/promises";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveHandOver } from "../../cni/assemble/serve-hand-over.ts";
import { installPrograms } from "../../cni/assemble/install-programs.ts";
import { pluginFinder } from "../../cni/invoke/builtins.ts";
import type { NetworkLists } from "../../cni/invoke/network-lists.ts";
import { openKernel, type Kernel } from "../../cni/net/kernel.ts";
import { runProgram } from "../../cni/skel/run-program.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { createNetns, deleteNetns } from "../../plugins/kit/os/net/netns.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { EndpointSlice, KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { followServices } from "../../plugins/daemon/dns/daemon.ts";
import { Forwarder } from "../../plugins/daemon/dns/forward.ts";
import { entryOf, ServiceRecords } from "../../plugins/daemon/dns/records.ts";
import { serveDns } from "../../plugins/daemon/dns/server.ts";
import { Zone } from "../../plugins/daemon/dns/zone.ts";
import { ServiceProxy } from "../../plugins/daemon/service-proxy/proxy.ts";
import { startControl } from "../harness/control.ts";
import { playHost, randomName } from "../harness/network.ts";
import { benchTraffic } from "./network-traffic.ts";
import { debian, listsFor, makeService, median, startWorker, timed } from "./network-room.ts";

const rounds = 15;
/** The form that the agent installs; the source where there is no bundle. */
const bundlePath = fileURLToPath(new URL("../../dist/cni.cjs", import.meta.url));
const sourcePath = fileURLToPath(new URL("../../cni/assemble/program.ts", import.meta.url));
const programPath = existsSync(bundlePath) ? bundlePath : sourcePath;

/** `node test/bench/main.ts network [cni|services|traffic|dns|dns-change]`; all of them when none is named. */
export async function run(args: string[]): Promise<void> {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-bench-network-"));
  const kernel = openKernel();
  try {
    const parts = {
      cni: benchCni,
      services: benchServices,
      traffic: benchTraffic,
      dns: benchDns,
      "dns-change": benchDnsChange,
    };
    for (const [name, part] of Object.entries(parts))
      if (args.length === 0 || args.includes(name)) await part(kernel, dir);
  } finally {
    kernel.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function benchCni(kernel: Kernel, dir: string): Promise<void> {
  const bin = join(dir, "bin");
  installPrograms({
    dir: bin,
    command: selfCommand(programPath),
    cacheDir: join(dir, "compiled"),
  });
  const agentBin = join(dir, "agent-bin");
  const socketPath = join(dir, "agent.sock");
  installPrograms({ dir: agentBin, command: selfCommand(programPath), cacheDir: join(dir, "compiled"), socketPath });
  const find = pluginFinder(kernel);
  const stop = new AbortController();
  const serving = serveHandOver(socketPath, (type, input, inner) => runProgram(find(type, []), input, inner), {
    signal: stop.signal,
  });
  const peers: [string, NetworkLists][] = [
    ["in process", listsFor(kernel, dir, "ours0", "10.90.0.0/24", { binDir: bin, isBuiltIn: true })],
    ["our programs", listsFor(kernel, dir, "prog0", "10.91.0.0/24", { binDir: bin, isBuiltIn: false })],
  ];
  peers.push([
    "programs + agent",
    listsFor(kernel, dir, "agent0", "10.95.0.0/24", { binDir: agentBin, isBuiltIn: false }),
  ]);
  if (existsSync(join(debian, "bridge")))
    peers.push([
      "Debian's programs",
      listsFor(kernel, dir, "deb0", "10.92.0.0/24", { binDir: debian, isBuiltIn: false }),
    ]);
  const figures = new Map<string, { add: number[]; del: number[] }>();
  // Taken in turns, so that what else the machine does hits all alike.
  for (let round = 0; round < rounds; round++) {
    for (const [name, lists] of peers) {
      const netnsPath = `/run/netns/${randomName("skiff-bench-")}`;
      createNetns(netnsPath);
      const request = {
        containerId: randomName("c"),
        netnsPath,
        portMappings: [{ hostPort: 20000 + round, containerPort: 80, protocol: "tcp" }],
      };
      const add = await timed(() => lists.add(request, call));
      const del = await timed(() => lists.del(request, call));
      deleteNetns(netnsPath);
      const own = figures.get(name) ?? { add: [], del: [] };
      own.add.push(add);
      own.del.push(del);
      figures.set(name, own);
    }
  }
  stop.abort();
  await serving;
  console.log(`cni: loopback + bridge + host-local + portmap with one port, median of ${rounds}`);
  for (const [name, { add, del }] of figures)
    console.log(`  ${name.padEnd(18)} ADD ${median(add).toFixed(1)} ms  DEL ${median(del).toFixed(1)} ms`);
  const total = (name: string) => median(figures.get(name)?.add ?? []) + median(figures.get(name)?.del ?? []);
  const theirs = total("Debian's programs");
  if (theirs === 0) return;
  const against = (name: string) => (total(name) / theirs).toFixed(2);
  console.log(
    `  against Debian's: in process ${against("in process")} (goal: at most 0.7), our programs ${against("our programs")} and, with an agent to do the work, ${against("programs + agent")} (goal: at most 2.5)`,
  );
}

async function benchServices(kernel: Kernel): Promise<void> {
  for (const count of [1_000, 10_000]) {
    const context = { nodeName: "n1", zone: undefined, nodeIps: [], skippedIps: new Set<string>() };
    const proxy = new ServiceProxy({
      nft: kernel.nft,
      log: noLog,
      instance: "bench",
      podCidrs: ["10.42.0.0/16"],
      context,
    });
    for (let index = 0; index < count; index++) {
      const { key, service, slice } = makeService(index, 5);
      proxy.setService(key, service);
      proxy.setSlice(slice, false);
    }
    const whole = await timed(() => proxy.commit(call));
    const changes: number[] = [];
    for (let round = 0; round < 11; round++) {
      proxy.setSlice(makeService(round * 7, round % 2 === 0 ? 4 : 5).slice, false);
      changes.push(await timed(() => proxy.commit(call)));
    }
    const verify = await timed(() => proxy.verify(call));
    console.log(
      `services: ${count} with 5 endpoints each in ${whole.toFixed(0)} ms; one change among them ${median(changes).toFixed(1)} ms; comparing all ${verify.toFixed(0)} ms`,
    );
    await proxy.remove(call);
  }
}

function dnsServer(records: ServiceRecords) {
  const zone = new Zone("cluster.local", records);
  const forwarder = new Forwarder({ clock: systemClock, upstreams: () => [] });
  return serveDns({ zone, forwarder, log: noLog }, { address: "127.0.0.1", port: 0 }, call);
}

async function benchDns(): Promise<void> {
  const records = new ServiceRecords();
  for (let index = 0; index < 1000; index++) {
    const { key, service, slice } = makeService(index, 5);
    records.set(key, entryOf(service, [slice]));
  }
  const server = await dnsServer(records);
  const client = startWorker(["dns", "127.0.0.1", String(server.port)]);
  let said = "";
  client.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await new Promise((resolve) => client.once("close", resolve));
  await server.close();
  console.log(`dns: 1000 services, one client process with 32 questions under way: ${said.trim()}`);
}

/** From the moment an endpoint is written to the API until the name is answered with it: API server, watch, records, server. */
async function benchDnsChange(): Promise<void> {
  const control = await startControl();
  const stop = new AbortController();
  const fetch = control.control.fetchAs({ name: "bench", groups: ["system:masters"] });
  const client = new ApiClient({ fetch, clock: systemClock, log: noLog });
  const records = new ServiceRecords();
  const informer = <T>(ref: ResourceRef) => {
    const made = new WatchingInformer<T & KubeObject>({ client, ref, clock: systemClock, log: noLog });
    void made.run({ signal: stop.signal });
    return made;
  };
  const end = followServices({ informer }, records);
  const server = await dnsServer(records);
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${server.port}`]);
  const { service, slice } = makeService(1, 1);
  const metadata = { name: "s1", namespace: "default", labels: slice.metadata.labels };
  await client.create(
    resources.services,
    { ...service, metadata, spec: { ...service.spec, clusterIP: "None", clusterIPs: ["None"] } },
    call,
  );
  const written = await client.create<EndpointSlice>(resources.endpointslices, { ...slice, metadata }, call);
  const waits: number[] = [];
  for (let round = 1; round <= 50; round++) {
    const address = `10.200.0.${round}`;
    const next = { ...written, metadata, endpoints: [{ addresses: [address], conditions: { ready: true } }] };
    const wait = await timed(async () => {
      await client.update(resources.endpointslices, next, call);
      const isAnswered = () =>
        resolver.resolve4("s1.default.svc.cluster.local").then(
          (found) => found.includes(address),
          () => false,
        );
      while (!(await isAnswered())) await new Promise((resolve) => setImmediate(resolve));
    });
    waits.push(wait);
  }
  end();
  stop.abort();
  await server.close();
  await control.close();
  const most = Math.max(...waits).toFixed(1);
  console.log(
    `dns: an endpoint written to the API is answered after ${median(waits).toFixed(1)} ms, at most ${most} ms of 50 (goal: within a second)`,
  );
}
