import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { networkLists } from "../../../cni/invoke/network-lists.ts";
import { writeNetworkList } from "../../../cni/invoke/write-network-list.ts";
import { openKernel } from "../../../cni/net/kernel.ts";
import { ask, noNetworkReason, playHost, serveIn, testNetns } from "../../../test/harness/network.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { noLog } from "../../kit/base/log.ts";
import type { Namespace, NetworkPolicy, Pod } from "../../kit/kube/objects/types.ts";
import { OwnedTable } from "../ruleset/table.ts";
import { policyBase, policyTable } from "./base.ts";
import { compilePolicies } from "./compile.ts";
import { portMatches } from "./ports.ts";

function pod(namespace: string, name: string, ip: string, labels: Record<string, string>, node = "n1"): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels },
    spec: { nodeName: node, containers: [{ name: "c", ports: [{ name: "http", containerPort: 8080 }] }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  } as Pod;
}

function namespace(name: string, labels: Record<string, string> = {}): Namespace {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } } as Namespace;
}

function policy(name: string, spec: Record<string, unknown>, inNamespace = "shop"): NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { namespace: inNamespace, name },
    spec,
  } as unknown as NetworkPolicy;
}

/** What the service proxy would do for a service with one endpoint. */
const serviceOf = (clusterIp: string, podIp: string): string[] => [
  "add table ip service",
  "add chain ip service prerouting { type nat hook prerouting priority -100; }",
  `add rule ip service prerouting ip daddr ${clusterIp} dnat to ${podIp}`,
  "add chain ip service postrouting { type nat hook postrouting priority 100; }",
  `add rule ip service postrouting ip saddr ${podIp} ip daddr ${podIp} masquerade`,
];

const namespaces = [namespace("shop", { team: "a" }), namespace("other", { team: "b" })];

t.test("portMatches() writes numbers, ranges, whole protocols and names", async (t) => {
  const targets = [pod("shop", "web", "10.1.0.2", {})];
  t.same(portMatches([], { family: 4, targets }), [""]);
  t.same(
    portMatches([{ port: 80 }, { port: 70, endPort: 85 }, { port: 443 }, { protocol: "UDP", port: 53 }], {
      family: 4,
      targets,
    }),
    ["meta l4proto tcp th dport { 70-85, 443 }", "meta l4proto udp th dport { 53 }"],
  );
  t.same(portMatches([{ protocol: "SCTP" }, { protocol: "SCTP", port: 9 }], { family: 4, targets }), [
    "meta l4proto sctp",
  ]);
  t.same(portMatches([{ port: "http" }], { family: 4, targets }), [
    "ip daddr { 10.1.0.2 } meta l4proto tcp th dport 8080",
  ]);
  t.same(portMatches([{ port: "http" }], { family: 6, targets }), []);
});

t.test("compilePolicies() restricts only selected pods of this node", async (t) => {
  const pods = [
    pod("shop", "web", "10.1.0.2", { app: "web" }),
    pod("shop", "far", "10.1.0.3", { app: "web" }, "n2"),
    pod("shop", "db", "10.1.0.4", { app: "db" }),
  ];
  const world = { pods, namespaces, nodeName: "n1" };
  const deny = policy("deny", { podSelector: { matchLabels: { app: "web" } } });
  const plan = compilePolicies({ ...world, policies: [deny] });
  t.same([...(plan.elements.get("ingress4")?.keys() ?? [])], ["10.1.0.2"]);
  t.equal(plan.elements.get("egress4"), undefined);
  const allow = policy("allow", {
    podSelector: {},
    policyTypes: ["Ingress", "Egress"],
    ingress: [{}],
    egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "10.1.2.0/24"] } }] }],
  });
  const both = compilePolicies({ ...world, policies: [deny, allow] });
  t.same([...(both.elements.get("ingress4")?.keys() ?? [])].sort(), ["10.1.0.2", "10.1.0.4"]);
  t.ok(
    [...both.chains.values()].some((rules) => rules.includes("ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/16 } accept")),
  );
  t.same(compilePolicies({ ...world, policies: [policy("else", { podSelector: {} }, "other")] }).elements.size, 0);
});

t.test("policies on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-policy-"));
  const kernel = openKernel();
  t.teardown(() => {
    rmSync(dir, { recursive: true, force: true });
    kernel.close();
  });
  writeNetworkList({ dir: join(dir, "net.d"), podCidrs: ["10.42.0.0/24"], leaseDir: join(dir, "leases") });
  const lists = networkLists({ confDir: join(dir, "net.d"), binDirs: [], cacheDir: join(dir, "cache"), kernel });
  const run = async (inNamespace: string, name: string, labels: Record<string, string>) => {
    const netnsPath = testNetns(t);
    const { ips } = await lists.add({ containerId: name, netnsPath }, uninterrupted);
    const ip = ips[0]?.address.split("/")[0] ?? "";
    for (const port of [8080, 9090]) await serveIn(t, netnsPath, { port, name });
    return { netnsPath, ip, object: pod(inNamespace, name, ip, labels) };
  };
  const web = await run("shop", "web", { app: "web" });
  const friend = await run("shop", "friend", { app: "friend" });
  const stranger = await run("other", "stranger", { app: "friend" });
  const pods = [web, friend, stranger].map(({ object }) => object);
  await serveIn(t, undefined, { port: 7000, name: "host" });
  const table = new OwnedTable({
    nft: kernel.nft,
    table: policyTable(""),
    base: policyBase(policyTable(""), []),
    log: noLog,
  });
  const apply = async (...policies: NetworkPolicy[]) => {
    table.update("policies", compilePolicies({ policies, pods, namespaces, nodeName: "n1" }));
    await table.commit(uninterrupted);
    t.equal(await table.verify(uninterrupted), false, "the table is as it was written");
  };
  const reach = async (from: { netnsPath: string } | undefined, to: { ip: string }, port = 8080) =>
    (await ask(from?.netnsPath, { address: to.ip, port })) !== "";
  const selectWeb = { podSelector: { matchLabels: { app: "web" } } };

  await apply();
  t.ok(await reach(friend, web), "without policies everything goes");
  await apply(policy("deny", selectWeb));
  t.notOk(await reach(friend, web), "default deny");
  t.ok(await reach(undefined, web), "the node itself always reaches its pods");
  t.ok(await reach(web, friend), "answers to its own connections come through");
  const service = { ip: "10.96.0.9" };
  await kernel.nft.run(serviceOf(service.ip, web.ip).join("\n"), uninterrupted);
  t.notOk(await reach(friend, service), "a service is no way around");
  t.ok(await reach(web, service), "a pod that a service sends to itself");
  await apply(policy("deny", { ...selectWeb, policyTypes: ["Ingress", "Egress"] }));
  t.ok(await reach(web, service), "also where it may send to nobody");
  t.notOk(await reach(web, friend));
  await apply(
    policy("deny", selectWeb),
    policy("allow", {
      ...selectWeb,
      ingress: [{ from: [{ podSelector: { matchLabels: { app: "friend" } } }], ports: [{ port: "http" }] }],
    }),
  );
  t.ok(await reach(friend, web), "a pod of the same namespace, by label and named port");
  t.notOk(await reach(friend, web, 9090), "not another port");
  t.notOk(await reach(stranger, web), "not the same label in another namespace");
  await apply(
    policy("allow", { ...selectWeb, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "b" } } }] }] }),
  );
  t.ok(await reach(stranger, web), "a namespace by label");
  t.notOk(await reach(friend, web));
  await apply(
    policy("out", {
      ...selectWeb,
      policyTypes: ["Egress"],
      egress: [
        {
          to: [{ ipBlock: { cidr: "10.42.0.0/24", except: [`${stranger.ip}/32`] } }],
          ports: [{ port: 8000, endPort: 8100 }],
        },
      ],
    }),
  );
  t.ok(await reach(web, friend), "egress by block and range");
  t.notOk(await reach(web, friend, 9090));
  t.notOk(await reach(web, stranger), "egress but for an exception");
  t.notOk(await reach(web, { ip: "10.42.0.1" }, 7000), "egress to the node is egress too");
  t.ok(await reach(friend, web), "ingress is not touched");
  await apply();
  t.ok(await reach(friend, web, 9090), "policies gone, everything goes");
  await table.remove(uninterrupted);
});
