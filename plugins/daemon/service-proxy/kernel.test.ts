import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { networkLists } from "../../../cni/invoke/network-lists.ts";
import { writeNetworkList } from "../../../cni/invoke/write-network-list.ts";
import { openKernel } from "../../../cni/net/kernel.ts";
import { ask, noNetworkReason, playHost, serveIn, testNetns } from "../../../test/harness/network.ts";
import { newTag, sctpIn } from "../../../test/harness/sctp.ts";
import { until } from "../../../test/harness/until.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { noLog } from "../../kit/base/log.ts";
import { parsePrefix } from "../../kit/os/net/address.ts";
import { writeNetSetting } from "../../kit/os/net/sysctl.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { serviceTable as tableOf } from "./base.ts";
import { ServiceProxy } from "./proxy.ts";

const call = uninterrupted;
const serviceTable = tableOf("");

t.test("services on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-proxy-"));
  const kernel = openKernel();
  t.teardown(() => {
    rmSync(dir, { recursive: true, force: true });
    kernel.close();
  });
  const outside = testNetns(t);
  const wire = kernel.enter(outside);
  await kernel.host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  for (const [space, name, address] of [
    [kernel.host, "up0", "198.51.100.1/24"],
    [wire, "eth0", "198.51.100.2/24"],
  ] as const) {
    const link = await space.getLink(name);
    await space.setLink(link.index, { up: true });
    await space.addAddress(link.index, parsePrefix(address));
  }
  // The host's way to everything else, so that cluster IPs are routed at all; and the outside's way to external addresses.
  const up = await kernel.host.getLink("up0");
  await kernel.host.addRoute({ family: 4, link: up.index, gateway: parsePrefix("198.51.100.2/32").address });
  const eth = await wire.getLink("eth0");
  await wire.addRoute({ family: 4, link: eth.index, gateway: parsePrefix("198.51.100.1/32").address });
  wire.close();

  writeNetworkList({
    dir: join(dir, "net.d"),
    podCidrs: ["10.42.0.0/24", "fd42::/64"],
    clusterCidrs: ["10.42.0.0/16", "fd42::/48"],
    bridge: "cni0",
    leaseDir: join(dir, "leases"),
  });
  const lists = networkLists({ confDir: join(dir, "net.d"), binDirs: [], cacheDir: join(dir, "cache"), kernel });
  const pod = async (name: string) => {
    const netnsPath = testNetns(t);
    const { ips } = await lists.add({ containerId: name, netnsPath }, call);
    await serveIn(t, netnsPath, { port: 8080, name });
    await serveIn(t, netnsPath, { port: 8080, name, family: 6 });
    await serveIn(t, netnsPath, { port: 5353, name, transport: "udp" });
    return { netnsPath, ip: ips[0]?.address.split("/")[0] ?? "", six: ips[1]?.address.split("/")[0] ?? "" };
  };
  const a = await pod("a");
  const b = await pod("b");
  const client = await pod("client");
  for (const name of ["ip_forward", "conf/all/route_localnet"]) writeNetSetting(`ipv4/${name}`, "1");

  const context = { nodeName: "n1", zone: undefined, nodeIps: ["198.51.100.1"], skippedIps: new Set<string>() };
  const proxy = new ServiceProxy({
    instance: "",
    nft: kernel.nft,
    log: noLog,
    podCidrs: ["10.42.0.0/16", "fd42::/48"],
    context,
  });
  t.teardown(() => proxy.close());
  const put = async (
    spec: Record<string, unknown>,
    endpoints: { ip: string; node?: string }[],
    extra: Record<string, unknown> = {},
  ) => {
    const ports = [
      { name: "http", port: 80, protocol: "TCP", nodePort: 30080 },
      { name: "dns", port: 53, protocol: "UDP", nodePort: 30053 },
    ];
    proxy.setService("shop/web", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "shop", name: "web" },
      spec: { clusterIP: "10.43.0.5", clusterIPs: ["10.43.0.5", "fd43::5"], ports, ...spec },
    } as Service);
    for (const [addressType, family] of [
      ["IPv4", 4],
      ["IPv6", 6],
    ] as const) {
      const own = endpoints.filter(({ ip }) => ip.includes(":") === (family === 6));
      proxy.setSlice(
        {
          apiVersion: "discovery.k8s.io/v1",
          kind: "EndpointSlice",
          metadata: { namespace: "shop", name: `web-${family}`, labels: { "kubernetes.io/service-name": "web" } },
          addressType,
          ports: [
            { name: "http", port: 8080, protocol: "TCP" },
            { name: "dns", port: 5353, protocol: "UDP" },
          ],
          endpoints: own.map(({ ip, node = "n1" }) => ({
            addresses: [ip],
            nodeName: node,
            conditions: { ready: true },
          })),
          ...extra,
        } as EndpointSlice,
        false,
      );
    }
    await proxy.commit(call);
  };
  const both = [{ ip: a.ip }, { ip: b.ip }, { ip: a.six }, { ip: b.six }];
  const who = async (from: string | undefined, address: string, port: number, transport?: "udp", sourcePort?: number) =>
    (
      await ask(from, { address, port, ...(transport ? { transport } : {}), ...(sourcePort ? { sourcePort } : {}) })
    ).split(" ")[0];
  /** Who answers in many draws; in more of them while fewer than `wanted` did. */
  const seen = async (from: string | undefined, address: string, port: number, wanted = 1) => {
    const names = new Set<string>();
    for (let index = 0; index < 12 || (names.size < wanted && index < 60); index++)
      names.add((await who(from, address, port)) ?? "");
    return [...names].sort();
  };

  await t.test("a cluster IP reaches every endpoint, from pods, the host and the endpoints themselves", async (t) => {
    await put({}, both);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80, 2), ["a", "b"]);
    t.same(await seen(client.netnsPath, "fd43::5", 80, 2), ["a", "b"]);
    t.match(await who(undefined, "10.43.0.5", 80), /^[ab]$/);
    t.match(await who(client.netnsPath, "10.43.0.5", 53, "udp"), /^[ab]$/);
    await put({}, [{ ip: a.ip }]);
    t.equal(await who(a.netnsPath, "10.43.0.5", 80), "a", "hairpin");
    t.match(await ask(client.netnsPath, { address: "10.43.0.5", port: 80 }), `a ${client.ip}`, "the source is kept");
  });

  await t.test("what is not served does not answer", async (t) => {
    await put({}, []);
    t.equal(await who(client.netnsPath, "10.43.0.5", 80), "");
    t.equal(await who(client.netnsPath, "10.43.0.5", 81), "", "an unknown port of a known address");
  });

  await t.test("node ports, external and load balancer addresses work from everywhere", async (t) => {
    await put({ type: "LoadBalancer", externalIPs: ["203.0.113.9"] }, both);
    t.match(await who(outside, "198.51.100.1", 30080), /^[ab]$/, "node port from outside");
    t.match(await who(undefined, "198.51.100.1", 30080), /^[ab]$/, "node port from the node");
    t.match(await who(undefined, "127.0.0.1", 30080), /^[ab]$/, "node port by loopback");
    t.match(await who(client.netnsPath, "198.51.100.1", 30080), /^[ab]$/, "node port from a pod");
    t.match(await who(outside, "203.0.113.9", 80), /^[ab]$/, "external address");
    t.match(await who(outside, "198.51.100.1", 80), /^[ab]$/, "the node's address as load balancer");
    t.match(
      await ask(outside, { address: "198.51.100.1", port: 30080 }),
      / 10\.42\.0\.1$/,
      "masqueraded under policy Cluster",
    );
  });

  await t.test("externalTrafficPolicy Local keeps the source and stays on the node; health checks tell", async (t) => {
    const healthCheckNodePort = 30999;
    await put({ type: "NodePort", externalTrafficPolicy: "Local", healthCheckNodePort }, [
      { ip: a.ip },
      { ip: b.ip, node: "n2" },
    ]);
    t.equal(await ask(outside, { address: "198.51.100.1", port: 30080 }), "a 198.51.100.2");
    t.same(await seen(client.netnsPath, "198.51.100.1", 30080, 2), ["a", "b"], "for pods it is Cluster");
    t.equal((await fetch(`http://127.0.0.1:${healthCheckNodePort}/`)).status, 200);
    const terminating = { ready: false, serving: true, terminating: true };
    await put({ type: "NodePort", externalTrafficPolicy: "Local", healthCheckNodePort }, [], {
      addressType: "IPv4",
      endpoints: [{ addresses: [a.ip], nodeName: "n1", conditions: terminating }],
    });
    t.equal(await who(outside, "198.51.100.1", 30080), "a", "one that goes serves on");
    t.equal((await fetch(`http://127.0.0.1:${healthCheckNodePort}/`)).status, 503, "but is not told of");
    await put({ type: "NodePort", externalTrafficPolicy: "Local", healthCheckNodePort }, [{ ip: b.ip, node: "n2" }]);
    t.equal(await ask(outside, { address: "198.51.100.1", port: 30080 }), "", "nobody here");
    t.equal((await fetch(`http://127.0.0.1:${healthCheckNodePort}/`)).status, 503);
    await put({ internalTrafficPolicy: "Local" }, [{ ip: a.ip }, { ip: b.ip, node: "n2" }]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80), ["a"]);
  });

  await t.test("source ranges guard load balancer addresses", async (t) => {
    await put({ type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] }, both);
    t.equal(await who(outside, "198.51.100.1", 80), "");
    await put({ type: "LoadBalancer", loadBalancerSourceRanges: ["198.51.100.0/24"] }, both);
    t.match(await who(outside, "198.51.100.1", 80), /^[ab]$/);
  });

  await t.test("session affinity keeps a client at its endpoint", async (t) => {
    await put({ sessionAffinity: "ClientIP" }, both);
    t.equal((await seen(client.netnsPath, "10.43.0.5", 80)).length, 1);
    await put({ sessionAffinity: "None" }, both);
    t.equal((await seen(client.netnsPath, "10.43.0.5", 80, 2)).length, 2);
  });

  await t.test("session affinity ends after its time", async (t) => {
    await put({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } }, [
      { ip: a.ip },
      { ip: b.ip },
    ]);
    const remembered = async () =>
      (await kernel.nft.list(`list table ${serviceTable}`, call)).some((entry) => {
        const set = entry.set as { name: string; elem?: unknown[] } | undefined;
        return set?.name.startsWith("af_") && (set.elem?.length ?? 0) > 0;
      });
    const first = await who(client.netnsPath, "10.43.0.5", 80);
    t.match(first, /^[ab]$/);
    const drawn = await until(
      "the client to be sent elsewhere",
      async () => {
        await until("it to be forgotten", async () => !(await remembered()), 60_000);
        const now = await who(client.netnsPath, "10.43.0.5", 80);
        return now !== first && now;
      },
      120_000,
    );
    t.match(drawn, /^[ab]$/);
  });

  /** The service with exactly these endpoints, conditions, hints and all. */
  const putEndpoints = async (endpoints: Record<string, unknown>[]) => {
    await put({}, []);
    proxy.setSlice(
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { namespace: "shop", name: "web-4", labels: { "kubernetes.io/service-name": "web" } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints,
      } as unknown as EndpointSlice,
      false,
    );
    await proxy.commit(call);
  };

  await t.test("topology hints keep traffic in the zone while every endpoint has one", async (t) => {
    proxy.setContext({ ...context, zone: "east" });
    const hinted = (ip: string, zone: string) => ({ addresses: [ip], hints: { forZones: [{ name: zone }] } });
    await putEndpoints([hinted(a.ip, "east"), hinted(b.ip, "west")]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80), ["a"]);
    await putEndpoints([hinted(a.ip, "east"), { addresses: [b.ip] }]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80, 2), ["a", "b"], "not when one has none");
    await putEndpoints([hinted(a.ip, "north"), hinted(b.ip, "west")]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80, 2), ["a", "b"], "nor when none is for this zone");
    proxy.setContext(context);
    await proxy.commit(call);
  });

  await t.test("endpoints that terminate serve on while there is no other", async (t) => {
    const ending = (ip: string, serving: boolean) => ({
      addresses: [ip],
      conditions: { ready: false, serving, terminating: true },
    });
    const well = (ip: string) => ({ addresses: [ip], conditions: { ready: true, serving: true, terminating: false } });
    await putEndpoints([ending(a.ip, true), well(b.ip)]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80), ["b"]);
    await putEndpoints([ending(a.ip, true), ending(b.ip, false)]);
    t.same(await seen(client.netnsPath, "10.43.0.5", 80), ["a"], "the one that still serves");
    await putEndpoints([ending(a.ip, false), { addresses: [b.ip], conditions: { ready: false } }]);
    t.equal(await who(client.netnsPath, "10.43.0.5", 80), "", "nobody does");
  });

  await t.test("a LoadBalancer that another class serves is left to it, but for its node port", async (t) => {
    await put({ type: "LoadBalancer", loadBalancerClass: "example.com/cloud" }, [{ ip: a.ip }]);
    t.equal(await who(outside, "198.51.100.1", 80), "");
    t.equal(await who(outside, "198.51.100.1", 30080), "a");
  });

  await t.test("SCTP goes to an endpoint and back", async (t) => {
    const ports = [{ name: "http", port: 80, protocol: "SCTP", nodePort: 30080 }];
    await put({ type: "NodePort", ports }, []);
    proxy.setSlice(
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { namespace: "shop", name: "web-4", labels: { "kubernetes.io/service-name": "web" } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "SCTP" }],
        endpoints: [{ addresses: [a.ip] }, { addresses: [b.ip] }],
      } as EndpointSlice,
      false,
    );
    await proxy.commit(call);
    const listed = async (map: string) =>
      JSON.stringify(await kernel.nft.list(`list map ${serviceTable} ${map}`, call));
    t.match(await listed("services4"), /10\.43\.0\.5.*sctp/);
    t.match(await listed("byaddr4_sctp_2"), a.ip);

    for (const [name, from, address, port] of [
      ["a cluster IP", client.netnsPath, "10.43.0.5", 80],
      ["a node port", outside, "198.51.100.1", 30080],
    ] as const) {
      const pods = await Promise.all([a, b].map(({ netnsPath }) => sctpIn(t, netnsPath, undefined)));
      const caller = await sctpIn(t, from, address);
      const [ownTag, theirTag, source] = [newTag(), newTag(), 20_000 + port];
      caller.send({ kind: "INIT", from: source, to: port, tag: 0, ownTag });
      const reached = await until("an endpoint to be asked", () => pods.find(({ heard }) => heard.length > 0));
      const asked = await reached.next("INIT");
      t.match(asked, { to: 8080, tag: 0, ownTag, isWhole: true }, `${name} reaches an endpoint`);
      const here = pods[0] === reached ? a : b;
      const source4 = from === outside ? "10.42.0.1" : client.ip;
      const answerer = await sctpIn(t, here.netnsPath, source4);
      answerer.send({ kind: "INIT ACK", from: 8080, to: asked.from, tag: ownTag, ownTag: theirTag });
      const answer = await caller.next("INIT ACK");
      t.match(answer, { from: port, to: source, tag: ownTag, isWhole: true }, "the answer comes from whom was asked");
      caller.send({ kind: "COOKIE ECHO", from: source, to: port, tag: theirTag });
      t.match(await reached.next("COOKIE ECHO"), { to: 8080, isWhole: true }, "the association stays where it began");
    }
  });

  await t.test("a UDP client moves on when its endpoint leaves", async (t) => {
    await put({}, [{ ip: a.ip }]);
    t.equal(await who(client.netnsPath, "10.43.0.5", 53, "udp", 20002), "a");
    await put({}, [{ ip: b.ip }]);
    t.equal(await who(client.netnsPath, "10.43.0.5", 53, "udp", 20002), "b");
  });

  await t.test("what conntrack cannot place does not leave a pod under its own address", async (t) => {
    await put({}, both);
    t.equal(await who(client.netnsPath, a.ip, 8080), "a");
    // The kernel misses the first packet of this one, so that the answer to it belongs to no connection.
    await kernel.nft.run(
      `add table inet theirs
       add chain inet theirs early { type filter hook prerouting priority raw; }
       add rule inet theirs early ip saddr ${client.ip} ip daddr ${a.ip} tcp dport 8080 notrack`,
      call,
    );
    t.equal(await who(client.netnsPath, a.ip, 8080), "");
    t.equal(await who(client.netnsPath, b.ip, 8080), "b", "others are not minded");
    await kernel.nft.run("delete table inet theirs", call);
  });

  await t.test("verify() repairs what others did, and touches nothing of theirs", async (t) => {
    await put({ type: "NodePort" }, both);
    await kernel.nft.run("add table inet theirs; add chain inet theirs c", call);
    t.equal(await proxy.verify(call), false);
    t.equal(await proxy.verify(call), false);
    for (const damage of [
      `flush chain ${serviceTable} services`,
      `flush map ${serviceTable} services4`,
      `delete table ${serviceTable}`,
      "flush ruleset\nadd table inet theirs\nadd chain inet theirs c",
    ]) {
      await kernel.nft.run(damage, call);
      if (!damage.includes("chain inet skiff") || damage.includes("flush chain"))
        t.equal(await proxy.verify(call), true, damage);
      t.match(await who(client.netnsPath, "10.43.0.5", 80), /^[ab]$/, damage);
    }
    await kernel.nft.run(`delete table ${serviceTable}`, call);
    await put({ type: "NodePort" }, [{ ip: a.ip }]);
    t.equal(await who(client.netnsPath, "10.43.0.5", 80), "a", "a commit on a table that is gone writes it anew");
    t.ok(
      (await kernel.nft.list("list tables", call)).some(
        (entry) => (entry.table as { name: string } | undefined)?.name === "theirs",
      ),
    );
  });

  await t.test("remove() leaves no trace", async (t) => {
    await proxy.remove(call);
    await proxy.remove(call);
    t.notOk(
      (await kernel.nft.list("list tables", call)).some(
        (entry) => (entry.table as { name: string } | undefined)?.name === "skiff_services",
      ),
    );
  });
});
