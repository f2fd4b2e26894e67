import t from "tap";
import type { Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { desiredGroups, type Endpoint, portsKey } from "./desired.ts";
import { type EndpointSlice, planSlices } from "./slices.ts";

const service = (ports: object[], extra: object = {}): Service =>
  ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "n", name: "s" },
    spec: { selector: { a: "b" }, ports, ...extra },
  }) as unknown as Service;

function pod(
  name: string,
  options: { ready?: boolean; going?: boolean; port?: number; ip?: string; hostname?: string } = {},
): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: "n",
      name,
      uid: name,
      ...(options.going ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: {
      nodeName: "node",
      ...(options.hostname ? { hostname: options.hostname, subdomain: "s" } : {}),
      containers: [{ name: "c", image: "i", ports: [{ name: "web", containerPort: options.port ?? 8080 }] }],
    },
    status: {
      podIP: options.ip ?? "10.0.0.1",
      conditions: [{ type: "Ready", status: options.ready === false ? "False" : "True" }],
    },
  } as unknown as Pod;
}

const groupsOf = (target: Service, ...pods: Pod[]) => [
  ...desiredGroups(target, pods, "IPv4", () => undefined).values(),
];
const web = service([{ name: "http", port: 80, targetPort: "web" }]);

t.test("desiredGroups() tells ready, serving and terminating apart", async (t) => {
  const rows = [
    { name: "ready", pod: pod("p"), expected: { ready: true, serving: true, terminating: false } },
    {
      name: "not ready",
      pod: pod("p", { ready: false }),
      expected: { ready: false, serving: false, terminating: false },
    },
    {
      name: "on its way out and still serving",
      pod: pod("p", { going: true }),
      expected: { ready: false, serving: true, terminating: true },
    },
  ];
  for (const row of rows)
    t.same([...(groupsOf(web, row.pod)[0]?.endpoints.values() ?? [])][0]?.conditions, row.expected, row.name);
  const eager = service([{ port: 80 }], { publishNotReadyAddresses: true });
  t.equal([...(groupsOf(eager, pod("p", { ready: false }))[0]?.endpoints.values() ?? [])][0]?.conditions.ready, true);
});

t.test("desiredGroups() groups pods by what their named port means", async (t) => {
  const groups = groupsOf(web, pod("a"), pod("b", { port: 9090 }), pod("c"));
  t.same(
    groups.map((group) => [group.ports[0]?.port, group.endpoints.size]),
    [
      [8080, 2],
      [9090, 1],
    ],
  );
});

t.test("desiredGroups() gives a pod of the subdomain its host name", async (t) => {
  t.equal([...(groupsOf(web, pod("a", { hostname: "db-0" }))[0]?.endpoints.values() ?? [])][0]?.hostname, "db-0");
});

const endpoint = (name: string, ip = name): Endpoint => ({
  addresses: [ip],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { kind: "Pod", namespace: "n", name, uid: name },
});
const ports = [{ name: "", port: 80, protocol: "TCP" }];
const slice = (name: string, endpoints: Endpoint[]): EndpointSlice => ({
  metadata: { name },
  addressType: "IPv4",
  ports,
  endpoints,
});
const wanted = (...endpoints: Endpoint[]) =>
  new Map([
    [portsKey(ports), { ports, endpoints: new Map(endpoints.map((item) => [item.targetRef?.uid ?? "", item])) }],
  ]);

t.test("planSlices() writes only what changed", async (t) => {
  const same = planSlices(wanted(endpoint("a")), [slice("s1", [endpoint("a")])]);
  t.same(same, { create: [], update: [], remove: [] });
  const moved = planSlices(wanted(endpoint("a", "10.0.0.9"), endpoint("b")), [slice("s1", [endpoint("a")])]);
  t.same(
    moved.update.map(({ endpoints }) => endpoints.map((item) => item.addresses[0])),
    [["10.0.0.9", "b"]],
  );
  t.same(planSlices(new Map(), [slice("s1", [endpoint("a")])]).remove.length, 1);
});

t.test("planSlices() never holds more than a hundred in one slice", async (t) => {
  const many = Array.from({ length: 250 }, (_, index) => endpoint(`p${index}`));
  const writes = planSlices(wanted(...many), [slice("s1", many.slice(0, 90))]);
  t.same(
    writes.update.map(({ endpoints }) => endpoints.length),
    [100],
  );
  t.same(
    writes.create.map(({ endpoints }) => endpoints.length),
    [100, 50],
  );
});

t.test("planSlices() keeps one slice where asked to, and uses what is left over again", async (t) => {
  const empty = { ports: [], endpoints: [] };
  t.same(planSlices(new Map(), [], { keepsOne: true }), { create: [empty], update: [], remove: [] });
  t.same(planSlices(new Map(), []), { create: [], update: [], remove: [] }, "not where nobody asks");
  const placeholder = { ...slice("s0", []), ports: [] };
  t.same(planSlices(new Map(), [placeholder], { keepsOne: true }), { create: [], update: [], remove: [] });
  const filled = planSlices(wanted(endpoint("a")), [placeholder], { keepsOne: true });
  t.match(filled, { create: [], update: [{ slice: placeholder, ports, endpoints: [endpoint("a")] }], remove: [] });
  const emptied = planSlices(new Map(), [slice("s1", [endpoint("a")])], { keepsOne: true });
  t.match(emptied, { create: [], update: [{ slice: { metadata: { name: "s1" } }, ...empty }], remove: [] });
});
