import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { imagesToRemove } from "../images/image-gc.ts";
import { admissionOf, resizeRefusal } from "./admission.ts";
import { CpuManager, formatCpus, parseCpus } from "./cpu-manager.ts";
import { DeviceManager } from "./devices/device-manager.ts";
import { hostDeviceProvider } from "./devices/host-devices.ts";
import { LogRotation } from "./log-rotation.ts";

const limits = (list: Record<string, string>) => [{ name: "main", image: "x", resources: { limits: list } }];

t.test("CpuManager gives whole CPUs to guaranteed containers only", async (t) => {
  const told: string[] = [];
  const cpus = new CpuManager({
    policy: "static",
    reserved: [0],
    cpus: [0, 1, 2, 3],
    onShared: (set) => told.push(set),
  });
  const container = (pod: ReturnType<typeof testPod>) => pod.spec.containers[0] ?? { name: "main" };
  const whole = testPod("whole", { containers: limits({ cpu: "2", memory: "1Gi" }) });
  const part = testPod("part", { containers: limits({ cpu: "1500m", memory: "1Gi" }) });
  t.equal(cpus.allot(whole, container(whole)), "1-2");
  t.equal(cpus.allot(whole, container(whole)), "1-2", "the same again after a restart of the container");
  t.equal(cpus.allot(part, container(part)), "0,3");
  cpus.release("uid-whole");
  t.same(told, ["0,3", "0-3"]);
  const both = testPod("both", {
    initContainers: [
      { name: "first", image: "x", resources: { limits: { cpu: "3", memory: "1Gi" } } },
      { name: "side", image: "x", restartPolicy: "Always", resources: { limits: { cpu: "1", memory: "1Gi" } } },
    ],
    containers: limits({ cpu: "2", memory: "1Gi" }),
  });
  const [first, side] = both.spec.initContainers ?? [];
  t.equal(cpus.allot(both, first ?? { name: "first" }), "1-3");
  t.equal(cpus.allot(both, side ?? { name: "side" }), "1", "the init container has ended");
  t.equal(cpus.allot(both, container(both)), "2-3", "the sidecar runs on");
  t.equal(new CpuManager({ policy: "none", reserved: [], onShared: () => {} }).allot(whole, container(whole)), "");
});

t.test("parseCpus() and formatCpus()", async (t) => {
  t.same(parseCpus("0-2,5"), [0, 1, 2, 5]);
  t.equal(formatCpus([5, 0, 1, 2, 7]), "0-2,5,7");
  t.equal(formatCpus([]), "");
});

t.test("DeviceManager gives each device once and remembers", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-devices-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const open = () => {
    const manager = new DeviceManager(join(dir, "devices.json"));
    manager.add(
      hostDeviceProvider("skiff.dev/serial", ["/dev/a", "/dev/b", "/dev/gone"], (path) => path !== "/dev/gone"),
    );
    return manager;
  };
  const first = open();
  t.same(first.counts(), { "skiff.dev/serial": { capacity: 3, allocatable: 2 } });
  const pods = ["p", "q", "r"].map((name) => testPod(name, { containers: limits({ "skiff.dev/serial": "1" }) }));
  const allot = async (manager: DeviceManager, index: number) => {
    const pod = pods[index] ?? testPod("none");
    const [part] = await manager.allot(pod, pod.spec.containers[0] ?? { name: "main" }, uninterrupted);
    return part?.devices?.map(({ hostPath }) => hostPath);
  };
  t.same(await allot(first, 0), ["/dev/a"]);
  t.same(await allot(first, 1), ["/dev/b"]);
  await t.rejects(allot(first, 2), /needs 1 of skiff.dev\/serial, 0 are free/);
  const second = open();
  t.same(await allot(second, 1), ["/dev/b"], "after a restart of the agent");
  second.release("uid-p");
  t.same(await allot(second, 2), ["/dev/a"]);
});

t.test("DeviceManager hands an init container's devices on, asks a provider once, and gives none twice", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-devices-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const asked: (readonly string[])[] = [];
  const manager = new DeviceManager(join(dir, "devices.json"));
  manager.add({
    resource: "x.dev/y",
    devices: () => ["a", "b", "c"].map((id) => ({ id, isHealthy: true })),
    async allocate(ids) {
      await new Promise((resolve) => setImmediate(resolve));
      asked.push(ids);
      return { environment: new Map([["IDS", ids.join()]]) };
    },
  });
  const idsFor = async (from: DeviceManager, pod: ReturnType<typeof testPod>, name: string) => {
    const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find((own) => own.name === name);
    const [part] = await from.allot(pod, container ?? { name }, uninterrupted);
    return part?.environment?.get("IDS");
  };
  const asking = (name: string, more: object = {}) => ({ ...limits({ "x.dev/y": "1" })[0], ...more, name });
  const pod = testPod("p", {
    initContainers: [asking("init"), asking("side", { restartPolicy: "Always" })],
    containers: [asking("main")],
  });
  t.equal(await idsFor(manager, pod, "init"), "a");
  t.equal(await idsFor(manager, pod, "side"), "a", "the init container has ended");
  t.equal(await idsFor(manager, pod, "main"), "b", "the sidecar runs on");
  t.equal(await idsFor(manager, pod, "main"), "b");
  t.equal(asked.length, 3, "a restart asks nobody");
  const others = ["q", "r"].map((name) => testPod(name, { containers: limits({ "x.dev/y": "1" }) }));
  const raced = await Promise.allSettled(others.map((other) => idsFor(manager, other, "main")));
  t.match(raced, [{ value: "c" }, { reason: /0 are free/ }], "two at once");
  const second = new DeviceManager(join(dir, "devices.json"));
  t.equal(await idsFor(second, pod, "main"), "b", "with the provider not back yet after a restart of the agent");
  t.same(second.counts(), { "x.dev/y": { capacity: 0, allocatable: 0 } }, "nobody answers for its devices until it is");
});

t.test("resizeRefusal()", async (t) => {
  const asks = (cpu: string) => testPod(`of-${cpu}`, { containers: limits({ cpu }) });
  const refusal = (cpu: string, ...others: string[]) =>
    resizeRefusal(asks(cpu), others.map(asks), { cpu: "2", pods: "9" });
  t.equal(refusal("1500m", "500m"), undefined);
  t.same(
    refusal("1500m", "600m"),
    {
      resize: "Deferred",
      message: "Node didn't have enough resource: cpu, requested: 1500, used: 600, capacity: 2000",
    },
    "until the other one goes",
  );
  t.same(
    refusal("200", "500m"),
    { resize: "Infeasible", message: "Node didn't have enough capacity: cpu, requested: 200000, capacity: 2000" },
    "whoever goes",
  );
});

t.test("admissionOf()", async (t) => {
  const facts = {
    allocatable: { pods: "2", cpu: "1", memory: "1Gi", "x.dev/y": "1" },
    nodeName: "node",
    labels: { disk: "ssd" },
    taints: [{ key: "broken", effect: "NoExecute" as const }],
    allowedSysctls: ["net.core.*"],
  };
  const asks = (name: string, list: Record<string, string>, more: object = {}) =>
    testPod(name, { tolerations: [{ operator: "Exists" }], containers: limits(list), ...more });
  const admission = (pod: ReturnType<typeof testPod>, ...others: ReturnType<typeof testPod>[]) => {
    const answer = admissionOf(pod, others, facts);
    return answer && "preempt" in answer ? answer.preempt.map(({ metadata }) => metadata.name) : answer;
  };
  const verdict = (pod: ReturnType<typeof testPod>, ...others: ReturnType<typeof testPod>[]) => {
    const answer = admission(pod, ...others);
    return answer && "reason" in answer ? answer.reason : answer;
  };
  t.equal(verdict(asks("a", { cpu: "600m" })), undefined);
  t.equal(verdict(asks("a", { cpu: "600m" }), asks("b", { cpu: "600m" })), "OutOfcpu");
  t.equal(verdict(asks("a", { "x.dev/y": "1" }), asks("b", { "x.dev/y": "1" })), "OutOfx.dev/y");
  t.match(admission(asks("a", { "x.dev/y": "1" }), asks("b", { "x.dev/y": "1" })), {
    message: "Node didn't have enough resource: x.dev/y, requested: 1, used: 1, capacity: 1",
  });
  t.equal(verdict(asks("a", { "no.dev/such": "1" })), undefined, "what the node never heard of is counted elsewhere");
  t.equal(verdict(asks("a", { "hugepages-2Mi": "2Mi" })), "OutOfhugepages-2Mi");
  t.equal(verdict(asks("a", {}), testPod("b"), testPod("c")), "OutOfpods");
  t.equal(verdict(asks("a", {}, { nodeSelector: { disk: "hdd" } })), "NodeAffinity");
  const affinity = (term: object) => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
  });
  const disk = (...values: string[]) => affinity({ matchExpressions: [{ key: "disk", operator: "In", values }] });
  t.equal(verdict(asks("a", {}, disk("hdd", "tape"))), "NodeAffinity");
  t.equal(verdict(asks("a", {}, disk("hdd", "ssd"))), undefined);
  const named = affinity({ matchFields: [{ key: "metadata.name", operator: "In", values: ["other"] }] });
  t.equal(verdict(asks("a", {}, named)), "NodeAffinity");
  const critical = { priority: 2_000_000_000 };
  t.same(
    verdict(asks("a", { cpu: "600m" }, critical), asks("b", { cpu: "100m" }), asks("c", { cpu: "500m" })),
    ["c"],
    "others go for a critical pod, and only as many as must",
  );
  t.equal(
    verdict(asks("a", { cpu: "600m" }, { ...critical, nodeSelector: { disk: "hdd" } }), asks("c", { cpu: "500m" })),
    "NodeAffinity",
    "nobody goes for one that cannot run all the same",
  );
  t.match(admission(asks("a", { cpu: "2" }, critical), asks("b", { cpu: "100m" }, critical)), {
    reason: "UnexpectedAdmissionError",
    message: /no set of running pods found to reclaim resources: \[\(res: cpu, q: 1100\), \]$/,
  });
  t.match(admission(asks("a", {}, { tolerations: [] })), {
    reason: "TaintToleration",
    message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  });
  const port = {
    tolerations: [{ operator: "Exists" as const }],
    containers: [{ name: "m", ports: [{ containerPort: 80, hostPort: 80 }] }],
  };
  t.equal(verdict(testPod("a", port), testPod("b", port)), "NodePorts");
  const sysctl = (name: string, more: object = {}) =>
    asks("a", {}, { securityContext: { sysctls: [{ name, value: "1" }] }, ...more });
  t.equal(verdict(sysctl("kernel.msgmax")), "SysctlForbidden");
  t.equal(verdict(sysctl("net.ipv4.tcp_syncookies")), undefined);
  t.equal(verdict(sysctl("net.core.somaxconn")), undefined, "allowed by the owner");
  t.equal(verdict(sysctl("net.ipv4.tcp_syncookies", { hostNetwork: true })), "SysctlForbidden");
});

t.test("imagesToRemove() takes the least recently used until enough is free", async (t) => {
  const record = (id: string, lastUsedAt: number, more: object = {}) => ({
    id,
    sizeBytes: 10,
    firstSeenAt: 0,
    lastUsedAt,
    isUsed: false,
    isPinned: false,
    ...more,
  });
  const records = [
    record("new", 90),
    record("old", 10),
    record("used", 5, { isUsed: true }),
    record("pinned", 1, { isPinned: true }),
    record("young", 2, { firstSeenAt: 95 }),
  ];
  const config = { minAgeMs: 10, maxAgeMs: 0 };
  t.same(imagesToRemove(records, 15, config, 100), ["old", "new"]);
  t.same(imagesToRemove(records, 5, config, 100), ["old"]);
  t.same(imagesToRemove(records, 0, config, 100), []);
  t.same(imagesToRemove(records, 0, { minAgeMs: 10, maxAgeMs: 50 }, 100), ["old"], "unused for too long");
});

t.test("LogRotation cuts, compresses and removes", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-logs-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const logPath = join(dir, "0.log");
  const clock = new FakeClock();
  const reopenContainerLog = async () => {
    writeFileSync(logPath, "");
    return {};
  };
  const rotation = new LogRotation({
    runtime: { reopenContainerLog },
    observed: () => [],
    maxBytes: 10,
    maxFiles: 4,
    clock,
    log: noLog,
  });
  for (let round = 0; round < 5; round++) {
    writeFileSync(logPath, `round ${round}\n`);
    await rotation.rotate("c", logPath, uninterrupted);
    await clock.advance(60_000);
  }
  t.same(readdirSync(dir).sort(), [
    "0.log",
    "0.log.20260101-000200.gz",
    "0.log.20260101-000300.gz",
    "0.log.20260101-000400",
  ]);
});
