// Throughput and connection rate: a bare veth, pods on our network, and pods on Debian's bridge with a Service in the rules that
// kube-proxy's nftables mode writes. In turns, since a host's rules act on all that passes it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { NetworkLists } from "../../cni/invoke/network-lists.ts";
import type { Kernel } from "../../cni/net/kernel.ts";
import { ServiceProxy } from "../../plugins/daemon/service-proxy/proxy.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { createNetns, deleteNetns, inNetns } from "../../plugins/kit/os/net/netns.ts";
import { randomName } from "../harness/network.ts";
import { debian, listsFor, makeService, median, startWorker } from "./network-room.ts";

const rounds = 3;
const clusterIp = "10.43.0.5";

interface Figures {
  readonly gigabits: number;
  readonly connections: number;
}

export async function benchTraffic(kernel: Kernel, dir: string): Promise<void> {
  const figures = new Map<string, Figures[]>();
  const note = (name: string, one: Figures) => figures.set(name, [...(figures.get(name) ?? []), one]);
  const networks: [string, NetworkLists, (pod: string) => Promise<() => Promise<void>>][] = [];
  const ours = listsFor(kernel, dir, "traf0", "10.93.0.0/24", { binDir: debian, isBuiltIn: true });
  networks.push(["ours", ours, (pod) => ourService(kernel, pod)]);
  if (existsSync(join(debian, "bridge"))) {
    const theirs = listsFor(kernel, dir, "traf1", "10.94.0.0/24", { binDir: debian, isBuiltIn: false });
    networks.push(["Debian's bridge, kube-proxy's rules", theirs, (pod) => theirService(kernel, pod)]);
  }
  for (let round = 0; round < rounds; round++) {
    note("bare veth", await withBareVeth(kernel, (from, to, address) => measure(from, to, address, 8080)));
    for (const [name, lists, openService] of networks)
      await withPods(lists, async (a, b) => {
        const close = await openService(b.ip);
        note(`pod to pod, ${name}`, await measure(a.netnsPath, b.netnsPath, b.ip, 8080));
        note(`pod to Service, ${name}`, await measure(a.netnsPath, b.netnsPath, clusterIp, 80));
        await close();
      });
    for (const name of ["traf0", "traf1"]) await kernel.host.deleteLink(name);
  }
  const of = (name: string, what: keyof Figures) => median((figures.get(name) ?? []).map((one) => one[what]));
  console.log(`traffic: median of ${rounds}, and against a bare veth`);
  for (const name of figures.keys()) {
    const against = (what: keyof Figures) => (of(name, what) / of("bare veth", what)).toFixed(2);
    const [gigabits, connections] = [of(name, "gigabits").toFixed(1), of(name, "connections")];
    console.log(
      `  ${name.padEnd(52)} ${gigabits} Gbit/s (${against("gigabits")}), ${connections} connections/s (${against("connections")})`,
    );
  }
}

async function measure(from: string, to: string, address: string, port: number): Promise<Figures> {
  const server = inNetns(to, () => startWorker(["serve", "8080"]));
  await new Promise((resolve) => server.stdout.once("data", resolve));
  const client = inNetns(from, () => startWorker(["load", address, String(port)]));
  let said = "";
  client.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await new Promise((resolve) => client.once("close", resolve));
  server.kill("SIGKILL");
  await new Promise((resolve) => server.once("close", resolve));
  const [, gigabits, connections] = /^([\d.]+) Gbit\/s, (\d+) /.exec(said) ?? [];
  return { gigabits: Number(gigabits), connections: Number(connections) };
}

async function withPods(
  lists: NetworkLists,
  work: (a: { netnsPath: string; ip: string }, b: { netnsPath: string; ip: string }) => Promise<void>,
): Promise<void> {
  const pods = [];
  for (const name of ["a", "b"]) {
    const request = { containerId: randomName(name), netnsPath: `/run/netns/${randomName("skiff-bench-")}` };
    createNetns(request.netnsPath);
    const { ips } = await lists.add(request, call);
    pods.push({ request, netnsPath: request.netnsPath, ip: ips[0]?.address.split("/")[0] ?? "" });
  }
  const [a, b] = pods as [(typeof pods)[0], (typeof pods)[0]];
  await work(a, b);
  for (const { request } of pods) {
    await lists.del(request, call);
    deleteNetns(request.netnsPath);
  }
}

async function withBareVeth(
  kernel: Kernel,
  work: (from: string, to: string, address: string) => Promise<Figures>,
): Promise<Figures> {
  const paths = [`/run/netns/${randomName("skiff-bench-")}`, `/run/netns/${randomName("skiff-bench-")}`] as const;
  for (const path of paths) createNetns(path);
  const [left, right] = [kernel.enter(paths[0]), kernel.enter(paths[1])];
  await left.createVeth({ name: "eth0", peer: { name: "eth0", space: right } });
  for (const [space, address] of [
    [left, "10.95.0.1/24"],
    [right, "10.95.0.2/24"],
  ] as const) {
    const link = await space.getLink("eth0");
    await space.setLink(link.index, { up: true });
    await space.addAddress(link.index, parsePrefix(address));
    space.close();
  }
  try {
    return await work(paths[0], paths[1], "10.95.0.2");
  } finally {
    for (const path of paths) deleteNetns(path);
  }
}

async function ourService(kernel: Kernel, pod: string): Promise<() => Promise<void>> {
  const context = { nodeName: "n1", zone: undefined, nodeIps: [], skippedIps: new Set<string>() };
  const podCidrs = ["10.93.0.0/24"];
  const proxy = new ServiceProxy({ nft: kernel.nft, log: noLog, instance: "bench", podCidrs, context });
  const { service, slice } = makeService(5, 1);
  proxy.setService("bench/s5", service);
  proxy.setSlice({ ...slice, endpoints: [{ addresses: [pod], conditions: { ready: true } }] }, false);
  await proxy.commit(call);
  return () => proxy.remove(call);
}

/** The hooks, maps and chains that kube-proxy has for one service with one endpoint. */
async function theirService(kernel: Kernel, pod: string): Promise<() => Promise<void>> {
  const table = "ip peer_proxy";
  const checks = "ct state new ip daddr . meta l4proto . th dport vmap @empty";
  await kernel.nft.run(
    `table ${table} {
      set cluster { type ipv4_addr; elements = { ${clusterIp} } }
      map services { type ipv4_addr . inet_proto . inet_service : verdict; elements = { ${clusterIp} . tcp . 80 : goto web } }
      map empty { type ipv4_addr . inet_proto . inet_service : verdict; }
      map guarded { type ipv4_addr . inet_proto . inet_service : verdict; }
      chain marking { meta mark set meta mark or 0x4000; }
      chain endpoint { ip saddr ${pod} jump marking; meta l4proto tcp dnat to ${pod}:8080; }
      chain web { ip daddr ${clusterIp} tcp dport 80 ip saddr != 10.94.0.0/24 jump marking; numgen random mod 1 vmap { 0 : goto endpoint }; }
      chain lookup { ip daddr . meta l4proto . th dport vmap @services; }
      chain unknown { ip daddr @cluster reject; }
      chain early { type filter hook prerouting priority -110; ct state new ip daddr . meta l4proto . th dport vmap @guarded; }
      chain inputs { type filter hook input priority -110; ${checks}; }
      chain forwards { type filter hook forward priority -110; ${checks}; ct state new jump unknown; }
      chain outputs { type filter hook output priority -110; ${checks}; }
      chain late { type filter hook output priority -90; ct state new jump unknown; }
      chain arrivals { type nat hook prerouting priority -100; jump lookup; }
      chain departures { type nat hook output priority -100; jump lookup; }
      chain leaving { type nat hook postrouting priority 100; meta mark and 0x4000 == 0 return; meta mark set meta mark xor 0x4000; masquerade fully-random; }
    }`,
    call,
  );
  return () => kernel.nft.run(`delete table ${table}`, call);
}
