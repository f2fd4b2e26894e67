import t from "tap";
import type { Container, PodSpec } from "../../plugins/kit/kube/objects/types.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../model/observed.ts";
import type { PodAction } from "./actions.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { BackOff, formatDuration } from "../model/back-off.ts";
import { containerHash } from "../model/container-hash.ts";
import { plan } from "./plan.ts";
import type { PlanContext } from "./plan-running.ts";
import type { ProbeVerdict } from "../model/probe-verdict.ts";

const image = "busybox:1";
const names = (...list: string[]): Container[] => list.map((name) => ({ name, image }));
const sidecar = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image,
  restartPolicy: "Always",
  ...more,
});
const probe = { exec: { command: ["true"] } };

function pod(spec: Partial<PodSpec> = {}, more: Partial<AgentPod> = {}): AgentPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u1" },
    spec: { restartPolicy: "Always", containers: names("a", "b"), ...spec },
    ...more,
  };
}

function sandbox(more: Partial<ObservedSandbox> = {}): ObservedSandbox {
  return { id: "s0", isReady: true, attempt: 0, createdAt: 1, ips: ["10.1.0.2"], isHostNetwork: false, ...more };
}

function box(
  name: string,
  state: ObservedContainer["state"] = "running",
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  return {
    id: `${name}-id`,
    name,
    sandboxId: "s0",
    state,
    restartCount: 0,
    hash: containerHash({ name, image }),
    createdAt: 1,
    startedAt: state === "created" ? 0 : 2,
    finishedAt: state === "exited" ? 3 : 0,
    exitCode: 0,
    reason: "",
    message: "",
    image,
    imageId: "sha256:1",
    logPath: "",
    terminationMessagePath: "",
    ...more,
  };
}

const failed = (name: string, more: Partial<ObservedContainer> = {}) => box(name, "exited", { exitCode: 1, ...more });
const observed = (containers: ObservedContainer[], sandboxes = [sandbox()]): ObservedPod => ({
  uid: "u1",
  name: "web",
  namespace: "shop",
  sandboxes,
  containers,
});

/** One word per action, so that a row reads as a sentence. */
function say(action: PodAction): string {
  switch (action.do) {
    case "start-container":
      return `start ${action.role} ${action.name} #${action.restartCount}`;
    case "kill-container":
      return `kill ${action.name} (${action.reason})`;
    case "remove-container":
      return `remove ${action.id}`;
    case "create-sandbox":
      return `sandbox #${action.attempt}`;
    case "hold-back":
      return `hold ${action.name} ${action.delayMs}`;
    case "resize-container":
      return `resize ${action.name}`;
    case "remove-sandbox":
      return `remove ${action.id}`;
    default:
      return action.do;
  }
}

interface Row {
  name: string;
  pod?: AgentPod;
  stage?: "sync" | "terminating" | "terminated";
  isDeleted?: boolean;
  observed?: ObservedPod;
  liveness?: Record<string, ProbeVerdict>;
  startup?: Record<string, ProbeVerdict>;
  hold?: Record<string, number>;
  resources?: PlanContext["resources"];
  expect: string[];
}

const three = { initContainers: names("i1", "i2", "i3"), containers: names("a") };
const done = (name: string) => box(name, "exited");

const rows: Row[] = [
  { name: "everything runs: nothing to do", observed: observed([box("a"), box("b")]), expect: [] },
  {
    name: "nothing is there: sandbox and all containers",
    expect: ["sandbox #0", "start regular a #0", "start regular b #0"],
  },
  {
    name: "only the failed container is restarted",
    observed: observed([box("a"), failed("b")]),
    expect: ["start regular b #1"],
  },
  {
    name: "Never: a failed container stays, the other goes on",
    pod: pod({ restartPolicy: "Never" }),
    observed: observed([box("a"), failed("b")]),
    expect: [],
  },
  {
    name: "Never: all containers ended, so the sandbox is stopped",
    pod: pod({ restartPolicy: "Never" }),
    observed: observed([done("a"), failed("b")]),
    expect: ["kill-pod"],
  },
  {
    name: "OnFailure: only the failed one is restarted",
    pod: pod({ restartPolicy: "OnFailure" }),
    observed: observed([done("a"), failed("b")]),
    expect: ["start regular b #1"],
  },
  {
    name: "OnFailure: all succeeded, so the sandbox is stopped",
    pod: pod({ restartPolicy: "OnFailure" }),
    observed: observed([done("a"), done("b")]),
    expect: ["kill-pod"],
  },
  {
    name: "a pod being deleted restarts nothing",
    pod: pod(
      {},
      { metadata: { name: "web", namespace: "shop", uid: "u1", deletionTimestamp: "2026-01-01T00:00:00Z" } },
    ),
    observed: observed([box("a"), failed("b")]),
    expect: [],
  },
  {
    name: "the sandbox died: kill and make the next attempt with everything",
    observed: observed([failed("a"), failed("b")], [sandbox({ isReady: false })]),
    expect: ["kill-pod", "sandbox #1", "start regular a #1", "start regular b #1"],
  },
  {
    name: "the sandbox lost its address",
    observed: observed([box("a"), box("b")], [sandbox({ ips: [] })]),
    expect: ["kill-pod", "sandbox #1", "start regular a #1", "start regular b #1"],
  },
  {
    name: "two ready sandboxes: start over",
    observed: observed([box("a"), box("b")], [sandbox({ id: "s1", attempt: 1 }), sandbox()]),
    expect: ["kill-pod", "sandbox #2", "start regular a #1", "start regular b #1"],
  },
  {
    name: "a host network pod needs no address",
    pod: pod({ hostNetwork: true }),
    observed: observed([box("a"), box("b")], [sandbox({ ips: [], isHostNetwork: true })]),
    expect: [],
  },
  {
    name: "Never: the sandbox died after containers ran, so no new one",
    pod: pod({ restartPolicy: "Never" }),
    observed: observed([failed("a"), done("b")], [sandbox({ isReady: false })]),
    expect: ["kill-pod"],
  },
  {
    name: "Never: the sandbox died before any container was made, so try again",
    pod: pod({ restartPolicy: "Never" }),
    observed: observed([], [sandbox({ isReady: false })]),
    expect: ["kill-pod", "sandbox #1", "start regular a #0", "start regular b #0"],
  },
  {
    name: "OnFailure: the sandbox died, succeeded containers are left out",
    pod: pod({ restartPolicy: "OnFailure" }),
    observed: observed([done("a"), failed("b")], [sandbox({ isReady: false })]),
    expect: ["kill-pod", "sandbox #1", "start regular b #1"],
  },
  {
    name: "OnFailure: all succeeded and the sandbox is gone, so no new one",
    pod: pod({ restartPolicy: "OnFailure" }),
    observed: observed([done("a"), done("b")], [sandbox({ isReady: false })]),
    expect: ["kill-pod"],
  },
  {
    name: "a new sandbox begins with the first init container and forgets the old ones",
    pod: pod(three),
    observed: observed([failed("a"), done("i3"), done("i2"), done("i1")], [sandbox({ isReady: false })]),
    expect: ["kill-pod", "remove i3-id", "remove i2-id", "remove i1-id", "sandbox #1", "start init i1 #1"],
  },
  { name: "init: the first one first", pod: pod(three), observed: observed([]), expect: ["start init i1 #0"] },
  { name: "init: wait while one runs", pod: pod(three), observed: observed([box("i1")]), expect: [] },
  {
    name: "init: the next after success",
    pod: pod(three),
    observed: observed([done("i1")]),
    expect: ["start init i2 #0"],
  },
  {
    name: "init: only the last is known, earlier ones are taken as done",
    pod: pod(three),
    observed: observed([done("i3")]),
    expect: ["start regular a #0"],
  },
  {
    name: "init: a failed one is retried",
    pod: pod(three),
    observed: observed([failed("i2"), done("i1")]),
    expect: ["start init i2 #1"],
  },
  {
    name: "init: a failed one ends a pod that never restarts",
    pod: pod({ ...three, restartPolicy: "Never" }),
    observed: observed([failed("i1")]),
    expect: ["kill-pod"],
  },
  {
    name: "init: OnFailure retries too",
    pod: pod({ ...three, restartPolicy: "OnFailure" }),
    observed: observed([failed("i1")]),
    expect: ["start init i1 #1"],
  },
  {
    name: "init: an unknown one is killed before its restart",
    pod: pod(three),
    observed: observed([box("i1", "unknown")]),
    expect: ["kill i1 (unknown)", "start init i1 #1"],
  },
  {
    name: "init: a running regular container proves initialization, whatever the runtime forgot",
    pod: pod(three),
    observed: observed([box("a")]),
    expect: [],
  },
  {
    name: "init: an ended regular container of the sandbox before proves nothing",
    pod: pod(three),
    observed: observed([failed("a")]),
    expect: ["start init i1 #0"],
  },
  {
    name: "init: made but never started is made again as the same generation",
    pod: pod(three),
    observed: observed([box("i1", "created")]),
    expect: ["remove i1-id", "start init i1 #0"],
  },
  {
    name: "sidecar: running without startup probe lets the next start",
    pod: pod({ initContainers: [sidecar("s"), ...names("i")], containers: names("a") }),
    observed: observed([box("s")]),
    expect: ["start init i #0"],
  },
  {
    name: "sidecar: the next waits for its startup probe",
    pod: pod({ initContainers: [sidecar("s", { startupProbe: probe })], containers: names("a") }),
    observed: observed([box("s")]),
    expect: [],
  },
  {
    name: "sidecar: started, so regular containers follow",
    pod: pod({ initContainers: [sidecar("s", { startupProbe: probe })], containers: names("a") }),
    observed: observed([box("s")]),
    startup: { "s-id": "success" },
    expect: ["start regular a #0"],
  },
  {
    name: "sidecar: failed startup probe restarts it",
    pod: pod({ initContainers: [sidecar("s", { startupProbe: probe })], containers: names("a") }),
    observed: observed([box("s")]),
    startup: { "s-id": "failure" },
    expect: ["kill s (startup-probe)", "start sidecar s #1"],
  },
  {
    name: "sidecar: restarted beside running containers, before regular ones",
    pod: pod({ initContainers: [sidecar("s")], containers: names("a", "b") }),
    observed: observed([box("a"), failed("b"), failed("s")]),
    expect: ["start sidecar s #1", "start regular b #1"],
  },
  {
    name: "sidecar: two that ended come back in order",
    pod: pod({ initContainers: [sidecar("s1"), sidecar("s2")], containers: names("a") }),
    observed: observed([box("a"), done("s2"), done("s1")]),
    expect: ["start sidecar s1 #1", "start sidecar s2 #1"],
  },
  {
    name: "sidecar: restarts even in a pod that never restarts, while regular containers run",
    pod: pod({ restartPolicy: "Never", initContainers: [sidecar("s")], containers: names("a") }),
    observed: observed([box("a"), failed("s")]),
    expect: ["start sidecar s #1"],
  },
  {
    name: "sidecar: does not keep a finished pod alive",
    pod: pod({ restartPolicy: "Never", initContainers: [sidecar("s")], containers: names("a") }),
    observed: observed([done("a"), box("s")]),
    expect: ["kill-pod"],
  },
  {
    name: "sidecar: an exited one is not restarted when the pod is finished",
    pod: pod({ restartPolicy: "Never", initContainers: [sidecar("s")], containers: names("a") }),
    observed: observed([done("a"), failed("s")], [sandbox({ isReady: true })]),
    // The regular container ended, so the walk cannot tell this from a new sandbox: the sidecar starts first, as upstream does.
    expect: ["start sidecar s #1"],
  },
  {
    name: "sidecar: failed liveness restarts it",
    pod: pod({ initContainers: [sidecar("s", { livenessProbe: probe })], containers: names("a") }),
    observed: observed([box("a"), box("s")]),
    liveness: { "s-id": "failure" },
    expect: ["kill s (liveness-probe)", "start sidecar s #1"],
  },
  {
    name: "sidecar: forgotten by the runtime after initialization comes back",
    pod: pod({ initContainers: [sidecar("s")], containers: names("a") }),
    observed: observed([box("a")]),
    expect: ["start sidecar s #0"],
  },
  {
    name: "ephemeral: starts once, even before initialization",
    pod: pod({ ...three, ephemeralContainers: names("debug") }),
    observed: observed([box("i1")]),
    expect: ["start ephemeral debug #0"],
  },
  {
    name: "ephemeral: never again",
    pod: pod({ ephemeralContainers: names("debug") }),
    observed: observed([box("a"), box("b"), failed("debug")]),
    expect: [],
  },
  {
    name: "a changed image restarts just that container",
    pod: pod({ containers: [{ name: "a", image: "other" }, ...names("b")] }),
    observed: observed([box("a"), box("b")]),
    expect: ["kill a (definition)", "start regular a #1"],
  },
  {
    name: "a changed image restarts even in a pod that never restarts",
    pod: pod({ restartPolicy: "Never", containers: [{ name: "a", image: "other" }] }),
    observed: observed([box("a")]),
    expect: ["kill a (definition)", "start regular a #1"],
  },
  {
    name: "failed liveness",
    observed: observed([box("a"), box("b")]),
    liveness: { "a-id": "failure" },
    expect: ["kill a (liveness-probe)", "start regular a #1"],
  },
  {
    name: "failed liveness in a pod that never restarts only kills",
    pod: pod({ restartPolicy: "Never" }),
    observed: observed([box("a"), box("b")]),
    liveness: { "a-id": "failure" },
    expect: ["kill a (liveness-probe)"],
  },
  {
    name: "failed startup",
    observed: observed([box("a"), box("b")]),
    startup: { "b-id": "failure" },
    expect: ["kill b (startup-probe)", "start regular b #1"],
  },
  {
    name: "unknown state is killed before its restart",
    observed: observed([box("a", "unknown"), box("b")]),
    expect: ["kill a (unknown)", "start regular a #1"],
  },
  {
    name: "made but never started is made again as the same generation",
    observed: observed([box("a", "created", { restartCount: 2 }), box("b")]),
    expect: ["remove a-id", "start regular a #2"],
  },
  {
    name: "crash loop waits",
    observed: observed([failed("a"), box("b")]),
    hold: { a: 40_000 },
    expect: ["hold a 40000"],
  },
  {
    name: "the count goes on when the runtime forgot the container",
    pod: pod(
      { containers: names("a") },
      {
        status: {
          containerStatuses: [
            {
              name: "a",
              image,
              imageID: "",
              ready: true,
              restartCount: 4,
              containerID: "containerd://x",
              state: { running: {} },
            },
          ],
        },
      },
    ),
    observed: observed([]),
    expect: ["start regular a #5"],
  },
  {
    name: "a container that was made but never ran, and is forgotten, counts for nothing",
    pod: pod(
      { containers: names("a") },
      {
        status: {
          containerStatuses: [
            {
              name: "a",
              image,
              imageID: "",
              ready: false,
              restartCount: 4,
              containerID: "containerd://x",
              state: { waiting: { reason: "ContainerCreating" } },
            },
          ],
        },
      },
    ),
    observed: observed([]),
    expect: ["start regular a #4"],
  },
  {
    name: "old generations go, the one before stays",
    observed: observed([
      box("a", "running", { id: "a3", restartCount: 3 }),
      failed("a", { id: "a2", restartCount: 2 }),
      failed("a", { id: "a1", restartCount: 1 }),
      box("b"),
    ]),
    expect: ["remove a1"],
  },
  {
    name: "a resize happens in place",
    pod: pod({ containers: names("a") }),
    observed: observed([box("a", "running", { resources: { cpuShares: 100 } })]),
    resources: () => ({ cpuShares: 200 }),
    expect: ["resize a"],
  },
  {
    name: "a resize restarts where the policy says so",
    pod: pod({
      containers: [{ name: "a", image, resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }] }],
    }),
    observed: observed([box("a", "running", { resources: { memoryLimitBytes: 100 } })]),
    resources: () => ({ memoryLimitBytes: 200 }),
    expect: ["kill a (resize)", "start regular a #1"],
  },
  {
    name: "terminating: kill what runs",
    stage: "terminating",
    observed: observed([box("a"), done("b")]),
    expect: ["kill-pod"],
  },
  {
    name: "terminating: one that never ran goes at once, the process that waits in it too",
    stage: "terminating",
    observed: observed([box("a", "created"), done("b")]),
    expect: ["kill-pod", "remove a-id"],
  },
  {
    name: "terminating: a changed spec starts nothing any more",
    stage: "terminating",
    pod: pod({ containers: [{ name: "a", image: "other" }] }),
    observed: observed([done("a")], [sandbox({ isReady: false })]),
    expect: [],
  },
  { name: "terminating: nothing was ever made (deleted while pulling)", stage: "terminating", expect: [] },
  {
    name: "terminated: ended containers stay for their logs",
    stage: "terminated",
    observed: observed([done("a")]),
    expect: ["release"],
  },
  {
    name: "terminated and deleted: nothing stays",
    stage: "terminated",
    isDeleted: true,
    observed: observed([done("a")], [sandbox({ isReady: false })]),
    expect: ["release", "remove a-id", "remove s0"],
  },
];

for (const row of rows) {
  t.test(`plan() ${row.name}`, async (t) => {
    const context: PlanContext = {
      nowMs: 1000,
      liveness: (id) => row.liveness?.[id],
      startup: (id) => row.startup?.[id],
      backOff: (container) => ({
        remainingMs: row.hold?.[container.name] ?? 0,
        delayMs: row.hold?.[container.name] ?? 0,
      }),
      ...(row.resources ? { resources: row.resources } : {}),
    };
    const desired = { pod: row.pod ?? pod(), stage: row.stage ?? "sync", isDeleted: row.isDeleted ?? false } as const;
    t.same(plan(desired, row.observed, context).map(say), row.expect);
  });
}

t.test("BackOff doubles to its cap and starts over after twice the cap", async (t) => {
  const backOff = new BackOff(10_000, 300_000);
  t.equal(backOff.remaining("k", 0, 0), 0, "the first restart is at once");
  let now = 0;
  const delays: number[] = [];
  for (let i = 0; i < 7; i++) {
    backOff.next("k", now, now);
    delays.push(backOff.delay("k"));
    now += backOff.delay("k");
  }
  t.same(delays, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  t.equal(backOff.remaining("k", now, now + 1000), 299_000);
  t.equal(backOff.remaining("k", now, now - 9_000_000), 300_000, "the clock was set back");
  t.equal(backOff.remaining("k", now + 700_000, now + 700_000), 0, "it ran for longer than twice the cap");
  backOff.next("k", now + 700_000, now + 700_000);
  t.equal(backOff.delay("k"), 10_000);
});

t.test("formatDuration() prints as Go does", async (t) => {
  t.same([10_000, 160_000, 300_000, 3_700_000].map(formatDuration), ["10s", "2m40s", "5m0s", "1h1m40s"]);
});
