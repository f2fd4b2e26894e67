// A flood of ordinary requests: the control plane, nodes and leases are answered all the same, the rest is told to come back.

import t from "tap";
import type { AdmissionPlugin } from "../../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import { type Json, startApi } from "../../../test/harness/api-server.ts";
import { type Call, uninterrupted } from "../../../plugins/kit/base/call.ts";
import { handOf } from "./hand.ts";
import { Seats } from "./seats.ts";
import { until } from "../../../test/harness/until.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";

/** Of 100 seats eve has 4, and may let 4 more wait. */
const evesLevel = {
  metadata: { name: "eves" },
  spec: {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: 10,
      borrowingLimitPercent: 0,
      limitResponse: { type: "Queue", queuing: { queues: 1, handSize: 1, queueLengthLimit: 4 } },
    },
  },
};
const evesWrites = {
  metadata: { name: "eves-writes" },
  spec: {
    priorityLevelConfiguration: { name: "eves" },
    matchingPrecedence: 500,
    distinguisherMethod: { type: "ByUser" },
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "eve" } }],
        resourceRules: [{ verbs: ["create"], apiGroups: ["*"], resources: ["configmaps"], namespaces: ["default"] }],
      },
    ],
  },
};

async function inSeat<T>(seats: Seats, flow: string, call: Call, work: () => Promise<T>): Promise<T> {
  const leave = await seats.enter("a", flow, call);
  return work().finally(leave);
}

/** Holds creations of config maps until they are released. */
function dam() {
  const open = Promise.withResolvers<void>();
  let held = 0;
  const plugin: AdmissionPlugin = {
    name: "Dam",
    handles: (request) => request.resource === "configmaps",
    mutate: async () => {
      held++;
      await open.promise;
    },
  };
  return { plugin, release: () => open.resolve(), held: () => held };
}

t.test("a flood keeps neither nodes nor leases nor the control plane waiting", async (t) => {
  const { plugin, release, held } = dam();
  const api = await startApi({ admission: [plugin], seats: 100 });
  t.teardown(() => api.close());
  const as = (user: UserInfo) => {
    const fetch = api.server.fetchAs(user);
    return async (method: string, path: string, body?: Json, type = "application/json") => {
      const headers: Record<string, string> = body ? { "content-type": type } : {};
      const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
      const response = await fetch(new Request(`http://api${path}`, init));
      return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
    };
  };
  const user = as({ name: "eve", groups: ["system:authenticated"] });
  const node = as({ name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] });
  const scheduler = as({ name: "system:kube-scheduler", groups: ["system:authenticated"] });
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const level = await api.ask("POST", `${flowControl}/prioritylevelconfigurations`, evesLevel);
  const schema = await api.ask("POST", `${flowControl}/flowschemas`, evesWrites);
  const flood = Array.from({ length: 8 }, (_, n) => user("POST", configMaps, { metadata: { name: `c${n}` } }));
  await until("the lane to fill", () => held() === 4);

  const refused = await user("POST", configMaps, { metadata: { name: "one-too-many" } });
  t.match(refused, { status: 429, body: { kind: "Status", reason: "TooManyRequests", code: 429 } });
  t.equal(refused.headers.get("retry-after"), "1");
  t.equal(refused.headers.get("x-kubernetes-pf-flowschema-uid"), schema.body.metadata.uid);
  t.equal(refused.headers.get("x-kubernetes-pf-prioritylevel-uid"), level.body.metadata.uid);
  t.equal((await user("GET", configMaps)).status, 200, "what the schema does not name goes on");
  const other = as({ name: "bob", groups: ["system:authenticated"] });
  t.equal((await other("GET", configMaps)).status, 200, "and so do others");
  const heartbeat = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  const beaten = await node("PATCH", "/api/v1/nodes/n1/status", heartbeat, "application/merge-patch+json");
  t.equal(beaten.status, 200, "a node's heartbeat");
  const lease = { metadata: { name: "n1" }, spec: { holderIdentity: "n1" } };
  t.equal((await node("POST", leases, lease)).status, 201, "a node's lease");
  const own = { metadata: { name: "own" }, spec: { holderIdentity: "eve" } };
  t.equal((await user("POST", leases, own)).status, 201, "a leader's lease");
  const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "x" }] } };
  t.equal((await scheduler("POST", "/api/v1/namespaces/default/pods", pod)).status, 201, "the control plane");

  release();
  t.same(
    (await Promise.all(flood)).map(({ status }) => status),
    Array(8).fill(201),
    "who waited is answered in turn",
  );
  t.equal((await user("POST", configMaps, { metadata: { name: "later" } })).status, 201);
});

t.test("every cluster begins with upstream's flow schemas and levels, and keeps them", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const names = async (plural: string) =>
    (await api.ask("GET", `${flowControl}/${plural}`)).body.items.map((item: Json) => item.metadata.name);
  t.equal((await names("flowschemas")).length, 13);
  t.same(await names("prioritylevelconfigurations"), [
    "catch-all",
    "exempt",
    "global-default",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
  ]);
  await api.ask("DELETE", `${flowControl}/flowschemas/probes`);
  await until("it to be there again", async () => (await names("flowschemas")).includes("probes"));
  await until("its level to be found", async () => {
    const { body } = await api.ask("GET", `${flowControl}/flowschemas/probes`);
    return body.status?.conditions?.[0]?.reason === "Found";
  });
  await api.ask("POST", `${flowControl}/flowschemas`, evesWrites);
  await until("the missing level to be told", async () => {
    const { body } = await api.ask("GET", `${flowControl}/flowschemas/eves-writes`);
    return body.status?.conditions?.[0]?.status === "True";
  });
  const table = await api.ask("GET", `${flowControl}/flowschemas/exempt`, undefined, {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
  });
  t.same(table.body.rows[0].cells.slice(0, 4), ["exempt", "exempt", 1, "<none>"]);
});

t.test("flowOf() sorts requests as upstream does", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const rows: [name: string, user: UserInfo, path: string, schema: string][] = [
    ["a master", { name: "a", groups: ["system:masters"] }, "/api/v1/pods", "exempt"],
    ["a probe", { name: "b", groups: ["system:unauthenticated"] }, "/readyz", "probes"],
    ["a node's lease", { name: "system:node:n", groups: ["system:nodes"] }, `${leases}/n`, "system-node-high"],
    ["a node's pods", { name: "system:node:n", groups: ["system:nodes"] }, "/api/v1/pods", "system-nodes"],
    [
      "a leader",
      { name: "system:serviceaccount:kube-system:a", groups: ["system:serviceaccounts"] },
      `${leases}/l`,
      "system-leader-election",
    ],
    [
      "a controller",
      { name: "system:serviceaccount:kube-system:a", groups: ["system:serviceaccounts"] },
      "/api/v1/pods",
      "kube-system-service-accounts",
    ],
    [
      "an account",
      { name: "system:serviceaccount:x:a", groups: ["system:serviceaccounts"] },
      "/api/v1/pods",
      "service-accounts",
    ],
    ["anyone", { name: "jane", groups: ["system:authenticated"] }, "/api/v1/pods", "global-default"],
    [
      "a watch",
      { name: "jane", groups: ["system:authenticated"] },
      "/api/v1/pods?watch=1&timeoutSeconds=1",
      "global-default",
    ],
  ];
  for (const [name, user, path, schema] of rows) {
    const { uid } = (await api.ask("GET", `${flowControl}/flowschemas/${schema}`)).body.metadata;
    const response = await api.server.fetchAs(user)(new Request(`http://api${path}`));
    t.equal(response.headers.get("x-kubernetes-pf-flowschema-uid"), uid, name);
    await response.body?.cancel();
  }
});

t.test("run() serves flows of a full level in turn, and lends what is free", async (t) => {
  const seats = new Seats();
  const limits = { atOnce: 1, lendable: 0, borrowable: 0, queues: 8, handSize: 1, queueLength: 10 };
  seats.setLevels(new Map([["a", limits]]));
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const ask = (flow: string) => inSeat(seats, flow, uninterrupted, async () => void order.push(flow));
  const first = inSeat(seats, "first", uninterrupted, () => gate.promise);
  // Two flows that wait in different queues.
  const work = [ask("x"), ask("x"), ask("x"), ask("z")];
  gate.resolve();
  await Promise.all([first, ...work]);
  t.same(order, ["x", "z", "x", "x"]);

  const lender = { ...limits, atOnce: 2, lendable: 1 };
  seats.setLevels(
    new Map([
      ["a", { ...limits, borrowable: 5, queues: 0 }],
      ["b", lender],
    ]),
  );
  const open = Promise.withResolvers<void>();
  const held = [1, 2].map(() => inSeat(seats, "f", uninterrupted, () => open.promise));
  await t.rejects(
    inSeat(seats, "f", uninterrupted, async () => {}),
    { code: "too-many" },
  );
  t.same(
    [...seats.counts()].map(({ running }) => running),
    [2, 0],
  );
  open.resolve();
  await Promise.all(held);
});

t.test("handOf() deals each flow its own queues", async (t) => {
  t.same(handOf("a", 64, 6), handOf("a", 64, 6));
  t.equal(new Set(handOf("a", 64, 6)).size, 6);
  t.equal(handOf("a", 2, 6).length, 2);
  t.notSame(handOf("a", 64, 6), handOf("b", 64, 6));
});
