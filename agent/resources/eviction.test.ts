import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { agentConfig } from "../config/agent-config.ts";
import { evictionThresholds, type ThresholdTexts } from "../config/eviction-thresholds.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { Verdict } from "../model/verdict.ts";
import { Eviction, type EvictionOptions } from "./eviction.ts";
import { evictionOrder, type PodUsage, type Signal } from "./eviction-rank.ts";

const mi = 1 << 20;
function asking(name: string, memory: string | undefined, priority = 0, more: object = {}): AgentPod {
  const resources = memory ? { requests: { memory } } : {};
  return testPod(name, { priority, containers: [{ name: "main", image: "x", resources }], ...more });
}
const using = (memoryBytes: number, rootBytes = 0, processes = 1, localBytes = 0): PodUsage => ({
  memoryBytes,
  rootBytes,
  localBytes,
  inodes: 0,
  processes,
  containers: new Map([["main", { memoryBytes, rootBytes, logBytes: 0 }]]),
});

interface Row {
  name: string;
  signal?: Signal;
  hasImageFs?: boolean;
  pods: [AgentPod, PodUsage][];
  expect: string[];
}

const rows: Row[] = [
  {
    name: "over its request before within it, whatever the priority",
    pods: [
      [asking("within", "100Mi", 0), using(50 * mi)],
      [asking("over", "100Mi", 1000), using(150 * mi)],
    ],
    expect: ["over", "within"],
  },
  {
    name: "among those over, the lower priority first",
    pods: [
      [asking("high", "10Mi", 100), using(900 * mi)],
      [asking("low", "10Mi", 1), using(20 * mi)],
    ],
    expect: ["low", "high"],
  },
  {
    name: "at the same priority, who is furthest over",
    pods: [
      [asking("little", "100Mi"), using(110 * mi)],
      [asking("much", "100Mi"), using(300 * mi)],
      [asking("none", undefined), using(50 * mi)],
    ],
    expect: ["much", "none", "little"],
  },
  {
    name: "critical pods never",
    pods: [
      [asking("system", undefined, 2_000_001_000), using(900 * mi)],
      [asking("plain", undefined), using(1 * mi)],
    ],
    expect: ["plain"],
  },
  {
    name: "process ids by priority and count",
    signal: "pid.available",
    pods: [
      [asking("few", undefined), using(0, 0, 3)],
      [asking("many", undefined), using(0, 0, 300)],
      [asking("high", undefined, 5), using(0, 0, 999)],
    ],
    expect: ["many", "few", "high"],
  },
  {
    name: "disk by what the containers wrote",
    signal: "nodefs.available",
    pods: [
      [asking("clean", undefined), using(900 * mi, 0)],
      [asking("writer", undefined), using(0, 50 * mi)],
    ],
    expect: ["writer", "clean"],
  },
  {
    name: "disk by volumes and logs too",
    signal: "imagefs.available",
    pods: [
      [asking("writer", undefined), using(0, 50 * mi)],
      [asking("keeper", undefined), using(0, 10 * mi, 1, 90 * mi)],
    ],
    expect: ["keeper", "writer"],
  },
  {
    name: "the node's own disk by volumes and logs alone where images lie elsewhere",
    signal: "nodefs.available",
    hasImageFs: true,
    pods: [
      [asking("writer", undefined), using(0, 50 * mi)],
      [asking("keeper", undefined), using(0, 0, 1, 20 * mi)],
    ],
    expect: ["keeper", "writer"],
  },
  {
    name: "the images' own disk by what the containers wrote",
    signal: "imagefs.available",
    hasImageFs: true,
    pods: [
      [asking("keeper", undefined), using(0, 0, 1, 90 * mi)],
      [asking("writer", undefined), using(0, 50 * mi)],
    ],
    expect: ["writer", "keeper"],
  },
];

for (const { name, signal = "memory.available", hasImageFs = false, pods, expect } of rows) {
  t.test(`evictionOrder() ${name}`, async (t) => {
    const usage = new Map(pods.map(([pod, used]) => [pod.metadata.uid, used]));
    const order = evictionOrder(
      { signal, hasImageFs },
      pods.map(([pod]) => pod),
      (uid) => usage.get(uid),
    );
    t.same(
      order.map(({ pod }) => pod.metadata.name),
      expect,
    );
  });
}

const thresholds = (said: Partial<ThresholdTexts>) =>
  evictionThresholds({ hard: [], soft: [], softGracePeriods: [], minimumReclaims: [], ...said });

function open(more: Partial<EvictionOptions> & { freeMemory?: () => number } = {}) {
  const ended: [string, Verdict, number | undefined][] = [];
  const events: string[] = [];
  const clock = new FakeClock();
  const whole = { bytes: 100, availableBytes: 90, inodes: 100, freeInodes: 90 };
  const eviction = new Eviction({
    config: agentConfig({}).eviction,
    signals: {
      memory: () => ({ availableBytes: more.freeMemory?.() ?? 1 << 30, bytes: 2 ** 31 }),
      nodeFs: () => whole,
      imageFs: () => undefined,
      hasImageFs: () => false,
      processIds: () => ({ used: 10, most: 1000 }),
    },
    clock,
    log: noLog,
    recorder: { event: ({ kind }, _, reason, message) => void events.push(`${kind} ${reason}: ${message}`) },
    node: { apiVersion: "v1", kind: "Node", metadata: { name: "n" } },
    volumes: { overLimit: async () => undefined },
    pods: () => [],
    usage: async () => new Map(),
    end: (uid, verdict, grace) => ended.push([uid, verdict, grace]),
    isReleased: () => true,
    reclaimDisk: async () => {},
    onPressure: () => {},
    ...more,
  });
  return { eviction, ended, events, clock };
}

t.test("Eviction ends one pod a round and tells pressure until five minutes after", async (t) => {
  let free = 50 * mi;
  const pods = [asking("a", undefined), asking("b", undefined)];
  const usage = new Map([
    ["uid-a", using(10 * mi)],
    ["uid-b", using(500 * mi)],
  ]);
  const { eviction, ended, clock } = open({ freeMemory: () => free, pods: () => pods, usage: async () => usage });
  await eviction.look(uninterrupted);
  t.equal(ended.length, 1);
  t.match(ended[0], ["uid-b", { reason: "Evicted", condition: { type: "DisruptionTarget" } }, 1]);
  t.equal(
    ended[0]?.[1].message,
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container main was using 500Mi, request is 0, has larger consumption of memory. ",
  );
  t.ok(eviction.pressure().memory);
  t.match(eviction.refuses(asking("new", undefined), "BestEffort"), { reason: "Evicted" });
  t.equal(eviction.refuses(asking("new", "1Mi"), "Burstable"), undefined);
  free = 1 << 30;
  await clock.advance(299_000);
  await eviction.look(uninterrupted);
  t.ok(eviction.pressure().memory);
  await clock.advance(2_000);
  t.notOk(eviction.pressure().memory);
});

t.test("Eviction ends a pod whose emptyDir is over its limit", async (t) => {
  const pods = [asking("full", undefined)];
  const overLimit = async () => ({ volume: "scratch", usedBytes: 2 * mi, limitBytes: mi });
  const { eviction, ended } = open({ pods: () => pods, volumes: { overLimit } });
  await eviction.look(uninterrupted);
  t.equal(ended[0]?.[1].message, 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ');
});

t.test("Eviction ends a pod whose containers, logs and volumes are over the sum of its limits", async (t) => {
  const limited = (limit: string) => ({
    name: limit,
    image: "x",
    resources: { limits: { "ephemeral-storage": limit } },
  });
  const pod = testPod("a", { containers: [limited("1Mi"), limited("2Mi")] });
  const usage = new Map([["uid-a", using(0, 1 * mi, 1, 3 * mi)]]);
  const { eviction, ended } = open({ pods: () => [pod], usage: async () => usage });
  await eviction.look(uninterrupted);
  t.notOk(ended[0]?.[1].condition, "nobody disturbs it: it broke its own limit");
  t.match(ended, [
    ["uid-a", { message: "Pod ephemeral local storage usage exceeds the total limit of containers 3Mi. " }],
  ]);
});

t.test("Eviction waits for the pod that it ended before it ends another, but not for ever", async (t) => {
  const pods = [asking("a", undefined), asking("b", undefined)];
  const { eviction, ended, clock } = open({ freeMemory: () => mi, pods: () => pods, isReleased: () => false });
  await eviction.look(uninterrupted);
  await clock.advance(10_000);
  await eviction.look(uninterrupted);
  t.equal(ended.length, 1);
  await clock.advance(20_000);
  await eviction.look(uninterrupted);
  t.equal(ended.length, 2);
});

t.test(
  "Eviction by a soft threshold waits for its grace period, begins anew after a break, and gives the pod time",
  async (t) => {
    let free = 250 * mi;
    const pods = [testPod("a", { terminationGracePeriodSeconds: 5 })];
    const soft = { soft: ["memory.available<300Mi"], softGracePeriods: ["memory.available=1m30s"] };
    const config = { ...agentConfig({}).eviction, thresholds: thresholds(soft), maxPodGraceSeconds: 20 };
    const { eviction, ended, clock } = open({ config, freeMemory: () => free, pods: () => pods });
    const look = () => eviction.look(uninterrupted);
    await look();
    t.ok(eviction.pressure().memory, "the node says so at once");
    await clock.advance(60_000);
    await look();
    free = 400 * mi;
    await look();
    free = 250 * mi;
    await clock.advance(60_000);
    await look();
    t.same(ended, [], "it was well in between");
    await clock.advance(90_000);
    await look();
    t.match(ended, [["uid-a", { reason: "Evicted", message: /Threshold quantity: 300Mi, available: 250Mi/ }, 5]]);
    free = 50 * mi;
    await look();
    t.equal(ended[1]?.[2], 1, "a hard threshold gives no time");
  },
);

t.test("Eviction goes on until what its threshold asks to be freed beyond is free", async (t) => {
  let free = 50 * mi;
  const pods = ["a", "b", "c"].map((name) => asking(name, undefined));
  const config = {
    ...agentConfig({}).eviction,
    thresholds: thresholds({ minimumReclaims: ["memory.available=100Mi"] }),
  };
  const { eviction, ended, events } = open({ config, freeMemory: () => free, pods: () => pods });
  const look = () => eviction.look(uninterrupted);
  await look();
  free = 150 * mi;
  await look();
  t.equal(ended.length, 2, "more than the threshold is free, but not enough");
  free = 200 * mi;
  await look();
  free = 150 * mi;
  await look();
  t.equal(ended.length, 2, "it was resolved");
  t.same(
    events.filter((event) => event.startsWith("Node")),
    Array.from({ length: 2 }, () => "Node EvictionThresholdMet: Attempting to reclaim memory"),
  );
});

t.test("Eviction frees disk by other means before it ends a pod", async (t) => {
  let free = 5;
  let reclaims = 0;
  const pods = [asking("a", undefined)];
  const more = { pods: () => pods, reclaimDisk: async () => void (reclaims++, (free += 6)) };
  const { eviction, ended } = open({
    ...more,
    signals: {
      memory: () => ({ availableBytes: 1 << 30, bytes: 2 ** 31 }),
      nodeFs: () => ({ bytes: 100, availableBytes: free, inodes: 0, freeInodes: 0 }),
      imageFs: () => undefined,
      hasImageFs: () => false,
      processIds: () => ({ used: 10, most: 1000 }),
    },
  });
  await eviction.look(uninterrupted);
  t.same([reclaims, ended], [1, []]);
  free = 1;
  await eviction.look(uninterrupted);
  t.same([reclaims, ended.length], [2, 1], "where that is not enough, a pod goes");
});

t.test("evictionThresholds() reads kubelet's spelling and names what is wrong", async (t) => {
  const texts = { hard: ["nodefs.inodesFree<0", "imagefs.available<20%"], minimumReclaims: ["nodefs.available=1Gi"] };
  t.same(thresholds({ ...texts, soft: ["nodefs.available<15%"], softGracePeriods: ["nodefs.available=2h5ms"] }), [
    { signal: "memory.available", below: { amount: 100 * mi } },
    { signal: "nodefs.available", below: { fraction: 0.1 }, minimumReclaim: { amount: 1 << 30 } },
    { signal: "imagefs.available", below: { fraction: 0.2 } },
    { signal: "imagefs.inodesFree", below: { fraction: 0.05 } },
    { signal: "pid.available", below: { fraction: 0.02 } },
    {
      signal: "nodefs.available",
      below: { fraction: 0.15 },
      graceMs: 7_200_005,
      minimumReclaim: { amount: 1 << 30 },
    },
  ]);
  const soft = (text: string, grace?: string) =>
    thresholds({ soft: [text], softGracePeriods: grace === undefined ? [] : [grace] });
  t.throws(() => soft("disk<1"), /eviction-soft: "disk" is none of memory\.available/);
  t.throws(() => soft("pid.available<10"), /eviction-soft-grace-period: there is none for pid/);
  t.throws(() => soft("pid.available<x", "pid.available=1m"), /neither a quantity nor a percentage/);
  t.throws(() => soft("pid.available<10", "pid.available=soon"), /no duration such as 1m30s/);
  t.throws(() => thresholds({ minimumReclaims: ["all=1"] }), /eviction-minimum-reclaim: "all" is none of/);
});
