import t from "tap";
import { noLog } from "../../kit/base/log.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import type { Nft } from "../../kit/os/net/nft.ts";
import { chooseEndpoints } from "./endpoints.ts";
import { ServiceProxy } from "./proxy.ts";
import { planService } from "./rules.ts";
import { viewService } from "./service-view.ts";
import { staleFlows } from "./stale-flows.ts";

const context = { nodeName: "n1", zone: "z1", nodeIps: ["192.0.2.1"], skippedIps: new Set(["10.43.0.10"]) };

function service(spec: Record<string, unknown>, name = "web"): Service {
  return {
    metadata: { namespace: "shop", name },
    spec: {
      clusterIP: "10.43.0.5",
      clusterIPs: ["10.43.0.5"],
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
      ...spec,
    },
  } as Service;
}

interface EndpointRow {
  ip: string;
  node?: string;
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
  zones?: string[];
}

function slice(rows: EndpointRow[], extra: Record<string, unknown> = {}): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: rows.map(({ ip, node, zones, ...conditions }) => ({
      addresses: [ip],
      nodeName: node ?? "n1",
      conditions,
      ...(zones ? { hints: { forZones: zones.map((name) => ({ name })) } } : {}),
    })),
    ...extra,
  } as EndpointSlice;
}

const question = { portName: "http", protocol: "TCP", family: 4, nodeName: "n1", zone: "z1" } as const;

t.test("chooseEndpoints() takes what may serve", async (t) => {
  const rows: [string, EndpointRow[], string[], string[]][] = [
    [
      "ready only",
      [
        { ip: "a", ready: true },
        { ip: "b", ready: false },
      ],
      ["a"],
      ["a"],
    ],
    ["unset is ready", [{ ip: "a" }], ["a"], ["a"]],
    [
      "terminating ones when none is ready",
      [
        { ip: "a", ready: false, serving: true, terminating: true },
        { ip: "b", ready: false },
      ],
      ["a"],
      ["a"],
    ],
    [
      "no terminating ones beside a ready one",
      [
        { ip: "a", ready: false, serving: true, terminating: true },
        { ip: "b", ready: true, node: "n2" },
      ],
      ["b"],
      ["a"],
    ],
    [
      "local ones apart",
      [
        { ip: "a", node: "n2" },
        { ip: "b", node: "n1" },
      ],
      ["a", "b"],
      ["b"],
    ],
    [
      "hints for our zone",
      [
        { ip: "a", zones: ["z1"] },
        { ip: "b", zones: ["z2"] },
      ],
      ["a"],
      ["a", "b"],
    ],
    ["no hints when one lacks them", [{ ip: "a", zones: ["z1"] }, { ip: "b" }], ["a", "b"], ["a", "b"]],
    ["no hints for us", [{ ip: "a", zones: ["z2"] }], ["a"], ["a"]],
  ];
  for (const [name, endpoints, any, local] of rows) {
    const chosen = chooseEndpoints([slice(endpoints)], question);
    t.same([chosen.endpoints.map(({ ip }) => ip), chosen.localEndpoints.map(({ ip }) => ip)], [any, local], name);
  }
});

t.test("viewService() leaves out what no proxy serves", async (t) => {
  t.same(viewService(service({ type: "ExternalName", clusterIP: undefined }), [], context), []);
  t.same(viewService(service({ clusterIP: "None", clusterIPs: ["None"] }), [], context), []);
  t.same(viewService(service({ clusterIP: "10.43.0.10", clusterIPs: ["10.43.0.10"] }), [], context), []);
  for (const labels of [
    { "service.kubernetes.io/service-proxy-name": "other" },
    { "service.kubernetes.io/headless": "" },
  ]) {
    const labelled = service({});
    labelled.metadata.labels = labels;
    t.same(viewService(labelled, [], context), [], JSON.stringify(labels));
  }
});

t.test("planService() refuses, drops or serves by policy and endpoints", async (t) => {
  const plan = (spec: Record<string, unknown>, rows: EndpointRow[]) => {
    const { elements, chains } = planService(viewService(service(spec), [slice(rows)], context));
    const sets = [...elements].flatMap(([set, keys]) => [...keys.keys()].map((key) => `${set} ${key}`));
    return {
      sets: sets.filter((key) => !/^(clusterips|hairpin)/.test(key)),
      chains: [...chains.keys()].map((name) => name.slice(0, 3)),
    };
  };
  const remote = [{ ip: "10.42.1.2", node: "n2" }];
  const nodePort = { type: "NodePort", ports: [{ name: "http", port: 80, nodePort: 30080 }] };
  t.same(plan({}, remote), {
    sets: ["byaddr4_tcp_1 10.43.0.5 . 80", "services4 10.43.0.5 . tcp . 80"],
    chains: ["poo"],
  });
  t.same(plan({}, []).sets, []);
  t.same(plan({ internalTrafficPolicy: "Local" }, remote).sets, ["dropped4 10.43.0.5 . tcp . 80"]);
  t.same(plan(nodePort, []).sets, ["refusedports4 tcp . 30080"]);
  t.same(plan({ ...nodePort, externalTrafficPolicy: "Local" }, remote).sets, [
    "byaddr4_tcp_1 10.43.0.5 . 80",
    "services4 10.43.0.5 . tcp . 80",
    "nodeports4 tcp . 30080",
  ]);
  t.same(plan({ type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] }, remote).chains, [
    "poo",
    "xpo",
    "fw_",
  ]);
  t.ok(
    plan({ type: "LoadBalancer" }, remote).sets.includes("services4 192.0.2.1 . tcp . 80"),
    "the node's address stands in for a cloud",
  );
  t.notOk(
    plan({ type: "LoadBalancer", loadBalancerClass: "cloud/x" }, remote).sets.includes(
      "services4 192.0.2.1 . tcp . 80",
    ),
  );
});

t.test("commit() writes only what changed", async (t) => {
  const scripts: string[] = [];
  const nft: Nft = { run: async (script) => void scripts.push(script), list: async () => [], close() {} };
  const proxy = new ServiceProxy({ instance: "", nft, log: noLog, podCidrs: ["10.42.0.0/16"], context });
  for (let index = 0; index < 50; index++) {
    const name = `s${index}`;
    proxy.setService(
      `shop/${name}`,
      service({ clusterIP: `10.43.1.${index}`, clusterIPs: [`10.43.1.${index}`] }, name),
    );
    proxy.setSlice(
      slice([{ ip: `10.42.0.${index}` }], {
        metadata: { namespace: "shop", name, labels: { "kubernetes.io/service-name": name } },
      }),
      false,
    );
  }
  await proxy.commit(uninterrupted);
  t.equal(scripts.length, 1);
  proxy.setSlice(
    slice([{ ip: "10.42.9.9" }], {
      metadata: { namespace: "shop", name: "s7", labels: { "kubernetes.io/service-name": "s7" } },
    }),
    false,
  );
  await proxy.commit(uninterrupted);
  t.match(scripts[1], /10\.43\.1\.7 \. 80 : 10\.42\.9\.9 \. 8080/);
  t.notMatch(scripts[1], /10\.43\.1\.8/);
  t.ok((scripts[1] ?? "").split("\n").length <= 5, String(scripts[1]));
  await proxy.commit(uninterrupted);
  t.equal(scripts.length, 2, "nothing to write");
  proxy.setService("shop/s7", undefined);
  await proxy.commit(uninterrupted);
  t.match(scripts[2], /delete element inet skiff_services services4 \{ 10\.43\.1\.7 \. tcp \. 80 \}/);
  t.notMatch(scripts[2], /delete chain/, "the others still use the pool");
});

t.test("staleFlows() names the flows of UDP endpoints that left and of first ones", async (t) => {
  const views = (rows: EndpointRow[], spec = {}) =>
    viewService(
      service({ ports: [{ name: "http", port: 53, protocol: "UDP" }], ...spec }),
      [slice(rows, { ports: [{ name: "http", port: 53, protocol: "UDP" }] })],
      context,
    );
  t.same(
    staleFlows(views([{ ip: "a" }, { ip: "b" }]), views([{ ip: "a" }])).frontends,
    new Map([["10.43.0.5:53", new Set(["b"])]]),
  );
  t.same(staleFlows(views([]), views([{ ip: "a" }])).frontends, new Map([["10.43.0.5:53", undefined]]));
  t.same(staleFlows(views([{ ip: "a" }]), views([{ ip: "a" }, { ip: "b" }])).frontends.size, 0);
  t.same(staleFlows(views([{ ip: "a" }]), []).frontends, new Map([["10.43.0.5:53", new Set(["a"])]]));
  const local = { internalTrafficPolicy: "Local" };
  const elsewhere = { ip: "b", node: "n2" };
  const leaving = { ip: "a", ready: false, serving: true, terminating: true };
  t.same(
    staleFlows(views([leaving, elsewhere], local), views([elsewhere], local)).frontends,
    new Map([["10.43.0.5:53", new Set(["a"])]]),
    "one of this node that served to the last",
  );
});
