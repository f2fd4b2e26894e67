// The daemons as the agent runs them: fed by informers, on a host that the test plays, started, disturbed, stopped and removed.

import { execFileSync } from "node:child_process";
import dgram from "node:dgram";
import { decode, encode } from "dns-packet";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { MemoryInformer } from "../../test/harness/memory-informer.ts";
import { noLegacyFirewallReason, noNetworkReason, playHost, testNetns } from "../../test/harness/network.ts";
import { until } from "../../test/harness/until.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import type { ApiClient } from "../kit/kube/client/api-client.ts";
import { type Daemon, daemonKind } from "../kit/contracts/daemon.ts";
import type { Informer } from "../kit/kube/informer.ts";
import { noLog } from "../kit/base/log.ts";
import { parsePrefix } from "../kit/os/net/address.ts";
import { readNetSetting } from "../kit/os/net/sysctl.ts";
import { type NodeContext, nodeContextKind } from "../kit/contracts/node-context.ts";
import type { ResourceRef } from "../kit/kube/objects/resources.ts";
import type { EndpointSlice, Namespace, NetworkPolicy, Node, Pod, Service } from "../kit/kube/objects/types.ts";
import type { AnyPlugin } from "../kit/base/plugin.ts";
import { openPlugins } from "../kit/base/registry.ts";
import { daemons } from "./index.ts";

t.setTimeout(600_000);

const made = <T>(object: Record<string, unknown>) => object as T;

t.test("daemons on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const wire = kernel.enter(testNetns(t));
  await kernel.host.createVeth({ name: "eth0", peer: { name: "eth0", space: wire } });
  const link = await kernel.host.getLink("eth0");
  await kernel.host.setLink(link.index, { up: true });
  await kernel.host.addAddress(link.index, parsePrefix("192.0.2.1/24"));
  wire.close();

  const hasLegacy = noLegacyFirewallReason() === false;
  const legacyRules = () => execFileSync("iptables-legacy", ["-S", "FORWARD"], { encoding: "utf8" });
  if (hasLegacy) execFileSync("iptables-legacy", ["-P", "FORWARD", "DROP"]);

  const informers = {
    services: new MemoryInformer<Service>(),
    endpointslices: new MemoryInformer<EndpointSlice>(),
    nodes: new MemoryInformer<Node>(),
    pods: new MemoryInformer<Pod>(),
    namespaces: new MemoryInformer<Namespace>(),
    networkpolicies: new MemoryInformer<NetworkPolicy>(),
  };
  const context: NodeContext = {
    nodeName: "n1",
    instance: "test",
    // Daemons only read, by informers.
    client: {} as unknown as ApiClient,
    clusterCidrs: ["10.42.0.0/16"],
    clusterDns: ["10.43.0.10"],
    clusterDomain: "cluster.local",
    podConnected: new Set(),
    informer: <T>(ref: ResourceRef) => informers[ref.plural as keyof typeof informers] as unknown as Informer<T>,
  };
  // The host's clock may be set while we run: by NTP after a start without a battery, or by hand.
  let clockIsOffMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + clockIsOffMs };
  const provider: AnyPlugin = { kind: nodeContextKind, name: "test", open: () => context };
  const opened = await openPlugins(
    {
      plugins: [provider, ...(daemons as readonly AnyPlugin[])],
      settings: {
        overlay: { mode: "vxlan" },
        dns: { upstreams: ["192.0.2.9"] },
        "service-proxy": { healthzPort: 10256, metricsPort: 10249 },
      },
      log: noLog,
      clock,
      stateDir: t.testdir(),
    },
    uninterrupted,
  );
  const installed = opened.all(daemonKind);
  t.same(
    installed.map(({ name }) => name),
    ["overlay", "service-proxy", "dns", "network-policy"],
  );
  const stop = new AbortController();
  const running = installed.map((daemon: Daemon) => daemon.run({ signal: stop.signal }).catch(() => {}));

  const node = (name: string, ip: string, cidr: string) =>
    made<Node>({
      metadata: { name, resourceVersion: ip },
      spec: { podCIDRs: [cidr] },
      status: { addresses: [{ type: "InternalIP", address: ip }], conditions: [{ type: "Ready", status: "True" }] },
    });
  informers.nodes.put(node("n1", "192.0.2.1", "10.42.1.0/24"));
  informers.nodes.put(node("n2", "192.0.2.2", "10.42.2.0/24"));
  informers.services.put(
    made<Service>({
      metadata: { namespace: "shop", name: "web" },
      spec: {
        type: "LoadBalancer",
        clusterIP: "10.43.0.5",
        clusterIPs: ["10.43.0.5"],
        ports: [{ name: "http", port: 80 }],
      },
    }),
  );
  informers.endpointslices.put(
    made<EndpointSlice>({
      metadata: { namespace: "shop", name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: ["10.42.1.5"], nodeName: "n1" }],
    }),
  );
  informers.namespaces.put(made<Namespace>({ metadata: { name: "shop" } }));
  informers.pods.put(
    made<Pod>({
      metadata: { namespace: "shop", name: "web", labels: {} },
      spec: { nodeName: "n1", containers: [] },
      status: { podIPs: [{ ip: "10.42.1.5" }] },
    }),
  );
  informers.networkpolicies.put(
    made<NetworkPolicy>({ metadata: { namespace: "shop", name: "deny" }, spec: { podSelector: {} } }),
  );

  const listed = async (command: string) =>
    JSON.stringify(await kernel.nft.list(command, uninterrupted).catch(() => []));
  await until("the service to be there", async () =>
    (await listed("list map inet skiff_services_test services4")).includes("10.43.0.5"),
  );
  await until("the policy to be there", async () =>
    (await listed("list map inet skiff_policy_test ingress4")).includes("10.42.1.5"),
  );
  await until("the route to be there", async () =>
    (await kernel.host.listRoutes(4)).some(({ protocol }) => protocol === 83),
  );
  // As every resolver, again after a while without an answer: UDP may lose either way.
  const resolve = (name = "web") =>
    new Promise<string>((done, fail) => {
      const socket = dgram.createSocket("udp4");
      const questions = [{ name: `${name}.shop.svc.cluster.local`, type: "A" as const }];
      const question = encode({ type: "query", id: 1, flags: 256, questions });
      let triesLeft = 60;
      const ask = () => {
        if (triesLeft-- > 0) return socket.send(question, 53, "10.43.0.10");
        end();
        fail(new Error(`no answer for ${name}`));
      };
      const again = setInterval(ask, 1000);
      const end = () => {
        clearInterval(again);
        socket.close();
      };
      socket.once("message", (answer) => {
        end();
        done(JSON.stringify(decode(answer).answers));
      });
      ask();
    });
  t.match(await resolve(), /10\.43\.0\.5/, "DNS answers on its address");

  const health = async () => (await fetch("http://192.0.2.1:10256/healthz")).status;
  const metrics = async () => (await fetch("http://127.0.0.1:10249/metrics")).text();
  t.equal(await health(), 200, "load balancers find the node well");
  t.match(await metrics(), /kubeproxy_sync_proxy_rules_service_changes_total [1-9]/);
  informers.nodes.put({
    ...node("n1", "192.0.2.1", "10.42.1.0/24"),
    spec: { podCIDRs: ["10.42.1.0/24"], taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] },
  });
  await until("load balancers to be sent away from a node that leaves", async () => (await health()) === 503);
  informers.nodes.put(node("n1", "192.0.2.1", "10.42.1.0/24"));
  await until("them to be called back", async () => (await health()) === 200);

  await kernel.nft.run("flush ruleset", uninterrupted);
  await until(
    "the service to be back",
    async () => (await listed("list map inet skiff_services_test services4")).includes("10.43.0.5"),
    60_000,
  );
  await until(
    "the policy to be back",
    async () => (await listed("list map inet skiff_policy_test ingress4")).includes("10.42.1.5"),
    60_000,
  );
  for (const [jump, ip] of [
    [20 * 365 * 86_400_000, "10.43.0.6"],
    [-20 * 365 * 86_400_000, "10.43.0.7"],
  ] as const) {
    clockIsOffMs = jump;
    const late = made<Service>({
      metadata: { namespace: "shop", name: "late" },
      spec: { clusterIP: ip, clusterIPs: [ip], ports: [{ name: "http", port: 80 }] },
    });
    informers.services.put(late);
    informers.endpointslices.put(
      made<EndpointSlice>({
        metadata: { namespace: "shop", name: "late-1", labels: { "kubernetes.io/service-name": "late" } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080 }],
        endpoints: [{ addresses: ["10.42.1.5"], nodeName: "n1" }],
      }),
    );
    await until(
      `a service to be followed after the clock jumped to ${new Date(clock.now()).getUTCFullYear()}`,
      async () => (await listed("list map inet skiff_services_test services4")).includes(ip),
      60_000,
    );
    t.match(await resolve("late"), ip, "and its name resolves");
    t.match(await resolve(), /10\.43\.0\.5/);
  }

  const closeWait = readNetSetting("netfilter/nf_conntrack_tcp_timeout_close_wait");
  t.equal(closeWait, "3600", "half-closed connections live for an hour, not a minute");

  // A node port may lead to a pod of another node, past the bridge of ours: the pods' whole network is let through.
  if (hasLegacy) t.match(legacyRules(), /-d 10\.42\.0\.0\/16 .*-j ACCEPT/, "in the legacy firewall");
  const forward = "ip filter FORWARD";
  await kernel.nft.run(
    `add table ip filter\nadd chain ${forward} { type filter hook forward priority 0; policy drop; }`,
    uninterrupted,
  );
  await until(
    "pods to be let through a firewall that came later",
    async () => (await listed(`list chain ${forward}`)).includes("skiff-forward:10.42.0.0/16"),
    60_000,
  );

  // A route that looks like ours but leads elsewhere is another agent's.
  const { index: eth } = await kernel.host.getLink("eth0");
  const destination = parsePrefix("10.99.1.0/24");
  await kernel.host.addRoute({ family: 4, link: eth, destination, protocol: 83 });
  informers.nodes.delete(node("n2", "192.0.2.2", "10.42.2.0/24"));
  await until(
    "the route to be gone",
    async () => (await kernel.host.listRoutes(4)).filter(({ protocol }) => protocol === 83).length === 1,
  );

  stop.abort();
  await Promise.all(running);
  await t.rejects(health(), "nothing listens any more");
  for (const daemon of installed) await daemon.remove?.(uninterrupted);
  for (const daemon of installed) await daemon.remove?.(uninterrupted);
  await opened.close();
  t.notMatch(await listed(`list chain ${forward}`), /"rule"/, "no rule is left in the firewall of others");
  if (hasLegacy) t.equal(legacyRules().trim(), "-P FORWARD DROP");
  await kernel.nft.run("delete table ip filter", uninterrupted);
  t.equal(await listed("list tables"), "[]", "no table is left");
  t.same((await kernel.host.listLinks()).map(({ name }) => name).sort(), ["eth0", "lo"], "no link is left");
  t.equal(
    (await kernel.host.listRoutes(4)).filter(({ protocol }) => protocol === 83).length,
    1,
    "but the other's route",
  );
  const { index } = await kernel.host.getLink("lo");
  t.notOk(
    (await kernel.host.listAddresses(index)).some(
      ({ prefix }) => prefix.address.value === parsePrefix("10.43.0.10/32").address.value,
    ),
    "no address is left",
  );
});
