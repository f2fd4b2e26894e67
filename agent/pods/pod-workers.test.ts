import { createServer } from "node:http";
import t from "tap";
import { openFake } from "../../cri/fake/open.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { PodHook } from "../../plugins/kit/contracts/hook.ts";
import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { everythingFits, isReady, openPodRoom, testPod } from "../../test/harness/pod-room.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { nothingAllotted } from "../resources/contract.ts";
import type { RefusedResize } from "../model/resize.ts";

const images = ["busybox:1"];
const deleted = (pod: AgentPod, graceSeconds = 1): AgentPod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: graceSeconds },
});
const settle = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
};

t.test("a pod becomes ready, and everything of it goes when it is deleted", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("web");
  room.workers.update(pod);
  const status = await room.until(pod.metadata.uid, isReady);
  t.equal(status.phase, "Running");
  t.match(status.containerStatuses?.[0], { name: "main", ready: true, started: true, restartCount: 0 });
  t.ok(status.podIP);
  t.same(
    room.events.map(({ reason }) => reason),
    ["Pulled", "Created", "Started"],
  );

  room.workers.update(deleted(pod));
  await settle(() => fake.world.sandboxes.size === 0);
  t.equal(fake.world.containers.size, 0);
  room.workers.remove(pod.metadata.uid);
  await settle(() => room.workers.list().length === 0);
});

t.test("init containers run in order and a sidecar stays", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("inits", {
    initContainers: [
      { name: "first", image: "busybox:1", command: ["true"] },
      { name: "side", image: "busybox:1", command: ["pause"], restartPolicy: "Always" },
      { name: "second", image: "busybox:1", command: ["true"] },
    ],
  });
  room.workers.update(pod);
  const status = await room.until(pod.metadata.uid, isReady);
  t.same(
    status.initContainerStatuses?.map(({ name, ready }) => [name, ready]),
    [
      ["first", true],
      ["side", true],
      ["second", true],
    ],
  );
  const created = fake.calls.filter(({ method }) => method === "createContainer");
  const order = created.map(
    ({ request }) => (request as { config: { metadata: { name: string } } }).config.metadata.name,
  );
  t.same(order, ["first", "side", "second", "main"]);
});

t.test("a job ends as Succeeded and its containers stay for their logs", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("job", {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "busybox:1", command: ["true"] }],
  });
  room.workers.update(pod);
  await room.until(pod.metadata.uid, ({ phase }) => phase === "Succeeded");
  await settle(() => room.workers.get(pod.metadata.uid)?.stage === "terminated");
  t.equal(fake.world.containers.size, 1);
});

t.test("a crashing container waits for its back-off and comes back", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ images, clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  const pod = testPod("crash", { containers: [{ name: "main", image: "busybox:1", command: ["false"] }] });
  room.workers.update(pod);
  const waits = () => room.deps.statuses.get(pod.metadata.uid)?.containerStatuses?.[0];
  await settle(() => waits()?.state?.waiting?.reason === "CrashLoopBackOff");
  t.equal(waits()?.restartCount, 1, "the first restart is at once");
  t.match(waits()?.state?.waiting?.message, /back-off 10s restarting failed container=main pod=crash_default/);
  await clock.advance(10_100);
  await settle(() => waits()?.restartCount === 2 && waits()?.state?.waiting?.reason === "CrashLoopBackOff");
  t.match(waits()?.state?.waiting?.message, /back-off 20s/);
  t.equal(waits()?.lastState?.terminated?.exitCode, 1);
});

t.test("a crashing container that is given other resources does not wait for its back-off", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ images, clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  const asking = (memory: string) => ({
    containers: [{ name: "main", image: "busybox:1", command: ["false"], resources: { limits: { memory } } }],
  });
  const pod = testPod("starved", asking("1Mi"));
  room.workers.update(pod);
  const status = () => room.deps.statuses.get(pod.metadata.uid)?.containerStatuses?.[0];
  await settle(() => status()?.restartCount === 1 && status()?.state?.waiting?.reason === "CrashLoopBackOff");
  room.workers.update({ ...pod, spec: { ...pod.spec, ...asking("64Mi") } });
  await settle(() => status()?.restartCount === 2);
  t.pass("no time has passed");
});

t.test("a pod deleted while its image is pulled goes at once", async (t) => {
  const fake = openFake();
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  let release = () => {};
  fake.before("pullImage", () => new Promise<void>((resolve) => (release = resolve)));
  const pod = testPod("pulling");
  room.workers.update(pod);
  await settle(() => fake.calls.some(({ method }) => method === "pullImage"));
  room.workers.update(deleted(pod));
  await settle(() => room.workers.get(pod.metadata.uid)?.stage === "terminated" && fake.world.sandboxes.size === 0);
  release();
  t.notOk(fake.calls.some(({ method }) => method === "createContainer"));
});

t.test("an image that cannot be pulled is told and retried", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  fake.canPull = () => false;
  const pod = testPod("bad");
  room.workers.update(pod);
  const reason = () => room.deps.statuses.get(pod.metadata.uid)?.containerStatuses?.[0]?.state?.waiting?.reason;
  await settle(() => /^(ErrImagePull|ImagePullBackOff)$/.test(reason() ?? ""));
  fake.canPull = () => true;
  await clock.advance(11_000);
  await settle(() => isReady(room.deps.statuses.get(pod.metadata.uid) ?? {}));
});

t.test("an image that comes by another way ends the back-off", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  fake.canPull = () => false;
  const pod = testPod("waiting");
  const reason = () => room.deps.statuses.get(pod.metadata.uid)?.containerStatuses?.[0]?.state?.waiting?.reason;
  const pulls = () => fake.calls.filter(({ method }) => method === "pullImage").length;
  room.workers.update(pod);
  await settle(() => /^(ErrImagePull|ImagePullBackOff)$/.test(reason() ?? ""));
  fake.addImage(pod.spec.containers[0]?.image ?? "");
  room.workers.wakeAll();
  await settle(() => isReady(room.deps.statuses.get(pod.metadata.uid) ?? {}));
  t.equal(pulls(), 1);
});

t.test("a restarted agent touches no container and an orphan is taken down", async (t) => {
  const fake = openFake({ images });
  const first = await openPodRoom(fake);
  const [kept, orphan] = [testPod("kept"), testPod("orphan")];
  first.workers.update(kept);
  first.workers.update(orphan);
  const before = await first.until(kept.metadata.uid, isReady);
  await first.until(orphan.metadata.uid, isReady);
  await first.close();

  const { length } = fake.calls.filter(({ method }) => method === "createContainer");
  const second = await openPodRoom(fake);
  t.teardown(() => second.close());
  second.workers.update({ ...kept, status: before });
  second.workers.cleanOrphans();
  await settle(() => fake.world.sandboxes.size === 1);
  const after = await second.until(kept.metadata.uid, isReady);
  t.same(after.containerStatuses, before.containerStatuses);
  t.equal(fake.calls.filter(({ method }) => method === "createContainer").length, length);
});

t.test("a failed liveness probe restarts the container", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ images, clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  const livenessProbe = { exec: { command: ["false"] }, periodSeconds: 1, failureThreshold: 2 };
  const pod = testPod("sick", {
    containers: [{ name: "main", image: "busybox:1", command: ["pause"], livenessProbe }],
  });
  room.workers.update(pod);
  const status = () => room.deps.statuses.get(pod.metadata.uid);
  await settle(() => isReady(status() ?? {}));
  while ((status()?.containerStatuses?.[0]?.restartCount ?? 0) < 1) await clock.advance(500);
  t.ok(
    room.events.some(({ reason, message }) => reason === "Unhealthy" && message.startsWith("Liveness probe failed")),
  );
  t.ok(room.events.some(({ message }) => message === "Container main failed liveness probe, will be restarted"));
});

t.test("activeDeadlineSeconds ends the pod", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ images, clock });
  const room = await openPodRoom(fake, { clock });
  t.teardown(() => room.close());
  const pod = testPod("late", { activeDeadlineSeconds: 30 });
  room.workers.update(pod);
  await settle(() => isReady(room.deps.statuses.get(pod.metadata.uid) ?? {}));
  while (room.deps.statuses.get(pod.metadata.uid)?.phase !== "Failed") await clock.advance(1_000);
  t.equal(room.deps.statuses.get(pod.metadata.uid)?.reason, "DeadlineExceeded");
});

t.test("a sandbox that cannot be made is retried and told", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  fake.failNext("runPodSandbox", new Fault("unavailable", "no network"));
  const pod = testPod("later");
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  t.match(
    room.events.find(({ reason }) => reason === "FailedCreatePodSandBox"),
    { message: "Failed to create pod sandbox: no network" },
  );
});

for (const kind of ["livenessProbe", "startupProbe"])
  t.test(`a ${kind} with a grace of its own ends the container by that, not by the pod's`, async (t) => {
    const fake = openFake({ images });
    const room = await openPodRoom(fake);
    t.teardown(() => room.close());
    const probe = {
      exec: { command: ["false"] },
      periodSeconds: 1,
      failureThreshold: 1,
      terminationGracePeriodSeconds: 7,
    };
    const main = { name: "main", image: "busybox:1", command: ["pause"], [kind]: probe };
    room.workers.update(testPod("graced", { terminationGracePeriodSeconds: 600, containers: [main] }));
    const stopped = () => fake.calls.find(({ method }) => method === "stopContainer")?.request;
    await settle(() => stopped() !== undefined);
    t.match(stopped(), { timeout: 7n });
  });

t.test("less grace cuts a long one short", async (t) => {
  const fake = openFake({ images });
  fake.ignoresTerm = () => true;
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("deaf", { terminationGracePeriodSeconds: 600 });
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.update(deleted(pod, 600));
  await settle(() => fake.calls.some(({ method }) => method === "stopContainer"));
  room.workers.update(deleted(pod, 0));
  await settle(() => fake.world.sandboxes.size === 0);
});

t.test("a pod that waits for its end is told not ready when it no longer is", async (t) => {
  let code = 200;
  const server = createServer((_request, response) => response.writeHead(code).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const fake = openFake({ images });
  fake.ignoresTerm = () => true;
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const readinessProbe = { httpGet: { host: "127.0.0.1", port }, periodSeconds: 1, failureThreshold: 1 };
  const pod = testPod("late", {
    terminationGracePeriodSeconds: 600,
    containers: [{ name: "main", image: "busybox:1", command: ["pause"], readinessProbe }],
  });
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.update(deleted(pod, 600));
  await settle(() => fake.calls.some(({ method }) => method === "stopContainer"));
  code = 503;
  const status = await room.until(pod.metadata.uid, (now) => !isReady(now));
  t.match(status, { phase: "Running", containerStatuses: [{ ready: false, state: { running: {} } }] });
  room.workers.update(deleted(pod, 0));
  await settle(() => fake.world.sandboxes.size === 0);
});

t.test("a pod that is met when it is going already is taken down", async (t) => {
  const fake = openFake({ images });
  const first = await openPodRoom(fake);
  const pod = testPod("going");
  first.workers.update(pod);
  await first.until(pod.metadata.uid, isReady);
  await first.close();
  const second = await openPodRoom(fake);
  t.teardown(() => second.close());
  second.workers.update(deleted(pod));
  await settle(() => fake.world.sandboxes.size === 0);
  t.equal(second.workers.get(pod.metadata.uid)?.stage, "terminated");
});

t.test("a changed resource is resized in place, once", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const spec = (cpu: string) => ({
    containers: [{ name: "main", image: "busybox:1", command: ["pause"], resources: { limits: { cpu } } }],
  });
  const pod = testPod("grow", spec("100m"));
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.update({ ...pod, spec: { ...pod.spec, ...spec("200m") } });
  const resizes = () => fake.calls.filter(({ method }) => method === "updateContainerResources");
  await settle(() => resizes().length > 0);
  const status = await room.until(
    pod.metadata.uid,
    ({ containerStatuses }) => containerStatuses?.[0]?.resources?.limits?.["cpu"] === "200m",
  );
  t.equal(status.containerStatuses?.[0]?.restartCount, 0);
  room.workers.wake(pod.metadata.uid);
  await settle(() => room.workers.get(pod.metadata.uid) !== undefined);
  t.equal(resizes().length, 1);
  t.match(resizes()[0]?.request, { linux: { cpuQuota: 20_000n } });
});

t.test("a resize that the node has no room for leaves everything as it is, and is told", async (t) => {
  const fake = openFake({ images });
  let refusal: RefusedResize | undefined = { resize: "Infeasible", message: "too much" };
  const clock = new FakeClock();
  const asked: string[] = [];
  const fits = {
    admit: () => undefined,
    refuseResize: (pod: AgentPod) => {
      asked.push(String(pod.spec.containers[0]?.resources?.requests?.["cpu"]));
      return refusal;
    },
    preparePod: async () => {},
    allot: async () => nothingAllotted,
    releasePod: async () => {},
  };
  const spec = (cpu: string) => ({
    containers: [{ name: "main", image: "busybox:1", command: ["pause"], resources: { requests: { cpu } } }],
  });
  const pod = testPod("grow", spec("100m"));
  const larger = { ...pod, spec: { ...pod.spec, ...spec("200") } };
  const resizes = () => fake.calls.filter(({ method }) => method === "updateContainerResources").length;
  const requestOf = (status: PodStatus) => status.containerStatuses?.[0]?.resources?.requests?.["cpu"];

  const room = await openPodRoom(fake, { deps: { resources: fits }, clock });
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.update(larger);
  const refused = await room.until(pod.metadata.uid, (status) => status.resize === "Infeasible");
  t.equal(requestOf(refused), "100m");
  t.equal(room.workers.get(pod.metadata.uid)?.pod.spec.containers[0]?.resources?.requests?.["cpu"], "100m");
  await room.close();

  t.match(
    room.events.filter(({ reason }) => reason.startsWith("Resize")),
    [{ pod: "grow", reason: "ResizeInfeasible", message: "too much" }],
  );
  refusal = { resize: "Deferred", message: "not now" };
  const next = await openPodRoom(fake, { deps: { resources: fits }, clock });
  t.teardown(() => next.close());
  next.workers.update({ ...larger, status: refused });
  const waiting = await next.until(pod.metadata.uid, (status) => status.resize === "Deferred");
  t.equal(requestOf(waiting), "100m", "a restarted agent knows what was granted");
  t.equal(resizes(), 0);

  refusal = undefined;
  const granted = next.until(pod.metadata.uid, (status) => requestOf(status) === "200");
  while (resizes() === 0) await clock.advance(1_000);
  t.equal((await granted).resize, undefined, "there is room now");
  t.same(new Set(asked), new Set(["200"]));
});

t.test("hooks run around a pod's life, and are undone in reverse, completely", async (t) => {
  const told: string[] = [];
  let isBroken = true;
  const hook = (name: string): PodHook => ({
    name,
    async prepare() {
      told.push(`prepare ${name}`);
      if (name === "second" && isBroken) throw new Error("not yet");
    },
    async connected(_, ips) {
      t.equal(ips.length, 1);
      told.push(`connected ${name}, ${fake.world.containers.size} containers`);
    },
    async started(_, container) {
      told.push(`started ${name} ${container.name}`);
      if (name === "first") throw new Error("no luck");
    },
    async cleanup() {
      told.push(`cleanup ${name}`);
      if (name === "second" && !isBroken) {
        isBroken = true;
        throw new Error("not yet");
      }
    },
  });
  const fake = openFake({ images });
  const room = await openPodRoom(fake, { deps: { hooks: [hook("first"), hook("second")] } });
  t.teardown(() => room.close());
  const pod = testPod("web");
  room.workers.update(pod);
  await settle(() => room.events.some(({ reason }) => reason === "FailedCreatePodSandBox"));
  t.equal(fake.world.sandboxes.size, 0, "a hook that cannot prepare keeps the pod waiting");
  isBroken = false;
  await room.until(pod.metadata.uid, isReady);
  t.match(
    room.events.find(({ reason }) => reason === "FailedPodHook"),
    { message: 'Hook "first" failed: no luck' },
    "a hook that fails after the start is told",
  );
  const prepared = told.indexOf("started first main");
  t.same(told.slice(prepared - 4, prepared + 2), [
    "prepare first",
    "prepare second",
    "connected first, 0 containers",
    "connected second, 0 containers",
    "started first main",
    "started second main",
  ]);
  told.length = 0;
  room.workers.update(deleted(pod));
  await settle(() => fake.world.sandboxes.size === 0);
  t.same(told, ["cleanup second", "cleanup first", "cleanup second", "cleanup first"], "what failed is tried again");
});

t.test("a pod whose object is gone before its containers (force delete) is given no time", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("forced", { terminationGracePeriodSeconds: 3600 });
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.remove(pod.metadata.uid);
  await settle(() => fake.world.sandboxes.size === 0);
  const stopped = fake.calls.find(({ method }) => method === "stopContainer");
  t.match(stopped?.request, { timeout: 1n });
});

t.test("a pod that is deleted while what it held is given back leaves nothing in the runtime", async (t) => {
  const releasing = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: PodHook = {
    name: "slow",
    async cleanup() {
      releasing.resolve();
      await goOn.promise;
    },
  };
  const fake = openFake({ images });
  const room = await openPodRoom(fake, { deps: { hooks: [slow] } });
  t.teardown(() => room.close());
  const pod = testPod("job", {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "busybox:1", command: ["true"] }],
  });
  room.workers.update(pod);
  await releasing.promise;
  room.workers.update(deleted(pod));
  room.workers.remove(pod.metadata.uid);
  goOn.resolve();
  await settle(() => room.workers.list().length === 0);
  t.equal(fake.world.containers.size, 0);
  t.equal(fake.world.sandboxes.size, 0);
});

t.test("a critical pod takes the place of others, and starts when they are gone", async (t) => {
  const fake = openFake();
  const cpuOf = ({ spec }: AgentPod) => Number(spec.containers[0]?.resources?.requests?.["cpu"]);
  const resources = {
    ...everythingFits,
    admit: (pod: AgentPod, others: readonly AgentPod[]) => {
      const used = [...others, pod].reduce((sum, other) => sum + cpuOf(other), 0);
      return used <= 2 ? undefined : { preempt: others.slice(0, 1) };
    },
  };
  const asking = (name: string, cpu: number) =>
    testPod(name, {
      containers: [
        { name: "main", image: "busybox:1", command: ["pause"], resources: { requests: { cpu: `${cpu}` } } },
      ],
    });
  const room = await openPodRoom(fake, { deps: { resources } });
  t.teardown(() => room.close());
  const [plain, other, vital] = [asking("plain", 1), asking("other", 1), asking("vital", 1)];
  for (const pod of [plain, other]) {
    room.workers.update(pod);
    await room.until(pod.metadata.uid, isReady);
  }
  room.workers.update(vital);
  await room.until(vital.metadata.uid, isReady);
  t.match(room.deps.statuses.get(plain.metadata.uid), {
    phase: "Failed",
    reason: "Preempting",
    message: "Preempted in order to admit critical pod",
    conditions: [{}, {}, {}, {}, {}, { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }],
  });
  t.ok(isReady(room.deps.statuses.get(other.metadata.uid) ?? {}), "no more than must");
  t.same(
    room.events.filter(({ reason }) => reason === "Preempting").map(({ pod }) => pod),
    ["plain"],
  );
});

t.test("a pod that is refused says why", async (t) => {
  const fake = openFake();
  const resources = { ...everythingFits, admit: () => ({ reason: "OutOfcpu", message: "Node didn't have enough" }) };
  const room = await openPodRoom(fake, { deps: { resources } });
  t.teardown(() => room.close());
  const pod = testPod("late");
  room.workers.update(pod);
  const status = await room.until(pod.metadata.uid, ({ phase }) => phase === "Failed");
  t.match(status, { reason: "OutOfcpu", message: "Pod was rejected: Node didn't have enough" });
  t.match(room.events, [{ reason: "OutOfcpu", message: "Node didn't have enough" }]);
  t.equal(status.containerStatuses, undefined, "a rejected pod has no container statuses");

  const next = await openPodRoom(fake);
  t.teardown(() => next.close());
  next.workers.update({ ...pod, status });
  const again = await next.until(pod.metadata.uid, ({ phase }) => phase === "Failed");
  t.match(again, { reason: "OutOfcpu" });
  t.equal(again.containerStatuses, undefined, "nor after a restart of the agent");
});

t.test("the terminal phase is reported only after the pod has terminated", async (t) => {
  const fake = openFake({ images });
  const admittedBeside: number[] = [];
  const resources = {
    ...everythingFits,
    admit: (_: AgentPod, others: readonly AgentPod[]) => void admittedBeside.push(others.length),
  };
  const room = await openPodRoom(fake, { deps: { resources } });
  t.teardown(() => room.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  let isStopping = false;
  fake.before("stopPodSandbox", () => {
    isStopping = true;
    return promise;
  });
  const job = testPod("job", {
    restartPolicy: "Never",
    containers: [{ name: "main", image: "busybox:1", command: ["true"] }],
  });
  room.workers.update(job);
  await settle(() => isStopping);
  t.not(room.deps.statuses.get(job.metadata.uid)?.phase, "Succeeded", "its sandbox is still there");
  resolve();
  await room.until(job.metadata.uid, ({ phase }) => phase === "Succeeded");
  room.workers.update(testPod("next"));
  await room.until("uid-next", isReady);
  t.same(admittedBeside, [0, 0], "its resources are free when the phase is reported");
});

t.test("a pod deleted from the API does not count against capacity while it stops", async (t) => {
  const fake = openFake({ images });
  const beside: number[] = [];
  const resources = {
    ...everythingFits,
    admit: (_: AgentPod, others: readonly AgentPod[]) => void beside.push(others.length),
  };
  const room = await openPodRoom(fake, { deps: { resources } });
  t.teardown(() => room.close());
  const { promise, resolve } = Promise.withResolvers<void>();
  fake.before("stopContainer", () => promise);
  const pod = testPod("forced");
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  room.workers.remove(pod.metadata.uid);
  room.workers.update(testPod("next"));
  await room.until("uid-next", isReady);
  t.same(beside, [0, 0]);
  resolve();
});

t.test("a pod that cannot be stopped says so and is tried again", async (t) => {
  const fake = openFake({ images });
  const room = await openPodRoom(fake);
  t.teardown(() => room.close());
  const pod = testPod("stuck");
  room.workers.update(pod);
  await room.until(pod.metadata.uid, isReady);
  let refusals = 0;
  fake.before("stopContainer", async () => {
    if (refusals++ === 0) throw new Fault("unavailable", "the runtime is busy");
  });
  room.workers.update(deleted(pod));
  await settle(() => room.workers.get(pod.metadata.uid)?.isReleased ?? false);
  t.match(
    room.events.filter(({ reason }) => reason === "FailedKillPod"),
    [{ pod: "stuck", message: /^error killing pod: .*the runtime is busy/ }],
  );
});
