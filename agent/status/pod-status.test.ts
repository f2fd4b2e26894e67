import t from "tap";
import type { ContainerStatus, PodSpec, PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { ProbeVerdict } from "../model/probe-verdict.ts";
import { computeStatus, type StatusInput } from "./pod-status.ts";
import { qosClassOf } from "../model/qos.ts";

const image = "busybox:1";
const start = Date.UTC(2026, 0, 1);
const probe = { exec: { command: ["true"] } };

function pod(spec: Partial<PodSpec> = {}, status: PodStatus = {}): AgentPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u1" },
    spec: { restartPolicy: "Always", containers: [{ name: "a", image }], ...spec },
    status,
  };
}

function box(
  name: string,
  state: ObservedContainer["state"],
  more: Partial<ObservedContainer> = {},
): ObservedContainer {
  return {
    id: `${name}-id`,
    name,
    sandboxId: "s",
    state,
    restartCount: 0,
    hash: "",
    createdAt: start,
    startedAt: start,
    finishedAt: start + 1000,
    exitCode: 0,
    reason: state === "exited" ? "Completed" : "",
    message: "",
    image: "docker.io/library/busybox:1",
    imageId: "sha256:1",
    logPath: "",
    terminationMessagePath: "",
    ...more,
  };
}

const failed = (name: string, more: Partial<ObservedContainer> = {}) =>
  box(name, "exited", { exitCode: 1, reason: "Error", ...more });

function seen(...containers: ObservedContainer[]): ObservedPod {
  const sandbox = { id: "s", isReady: true, attempt: 0, createdAt: 1, ips: ["10.1.0.2"], isHostNetwork: false };
  return { uid: "u1", name: "web", namespace: "shop", sandboxes: [sandbox], containers };
}

function compute(
  more: Partial<StatusInput> & { readiness?: Record<string, ProbeVerdict>; startup?: Record<string, ProbeVerdict> },
): PodStatus {
  return computeStatus({
    pod: pod(),
    observed: undefined,
    previous: undefined,
    waiting: new Map(),
    probes: { startup: (id) => more.startup?.[id], readiness: (id) => more.readiness?.[id] },
    runtimeName: "containerd",
    hasRecursiveReadOnly: (handler) => handler === "",
    isTerminal: false,
    hostIps: ["192.168.1.5"],
    nowMs: start,
    ...more,
  });
}

/** `phase | Initialized Ready ContainersReady | name:state` */
function say(status: PodStatus): string {
  const condition = (type: string) => {
    const found = status.conditions?.find((entry) => entry.type === type);
    return `${found?.status}${found?.reason ? `(${found.reason})` : ""}`;
  };
  const state = ({ state, lastState, started, ready, name, restartCount }: ContainerStatus) => {
    const word = state?.running
      ? "running"
      : state?.terminated
        ? `${state.terminated.reason}`
        : `${state?.waiting?.reason ?? "waiting"}`;
    const last = lastState?.terminated ? `<${lastState.terminated.reason}` : "";
    return `${name}:${word}${last}${started ? "+started" : ""}${ready ? "+ready" : ""}${restartCount ? `#${restartCount}` : ""}`;
  };
  const all = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
  return `${status.phase} | ${condition("Initialized")} ${condition("Ready")} | ${all.map(state).join(" ")}`;
}

const withInit = { initContainers: [{ name: "i", image }], containers: [{ name: "a", image }] };
const withSidecar = {
  initContainers: [{ name: "s", image, restartPolicy: "Always" }],
  containers: [{ name: "a", image }],
};
const crash = new Map([
  ["a", { reason: "CrashLoopBackOff", message: "back-off 10s restarting failed container=a pod=web_shop(u1)" }],
]);

interface Row extends Partial<StatusInput> {
  name: string;
  readiness?: Record<string, ProbeVerdict>;
  startup?: Record<string, ProbeVerdict>;
  expect: string;
}

const rows: Row[] = [
  { name: "nothing made yet", expect: "Pending | True False(ContainersNotReady) | a:ContainerCreating" },
  {
    name: "running without probes is ready",
    observed: seen(box("a", "running")),
    expect: "Running | True True | a:running+started+ready",
  },
  {
    name: "an image that cannot be pulled",
    waiting: new Map([["a", { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' }]]),
    observed: seen(),
    expect: "Pending | True False(ContainersNotReady) | a:ImagePullBackOff",
  },
  {
    name: "crash loop: waiting, with what it did before, and the pod still Running",
    waiting: crash,
    observed: seen(failed("a", { restartCount: 3 })),
    expect: "Running | True False(ContainersNotReady) | a:CrashLoopBackOff<Error#3",
  },
  {
    name: "ended and to be restarted at once keeps its state",
    observed: seen(failed("a")),
    expect: "Running | True False(ContainersNotReady) | a:Error",
  },
  {
    name: "restarted shows the generation before",
    observed: seen(
      box("a", "running", { id: "a2", restartCount: 1 }),
      failed("a", { reason: "OOMKilled", exitCode: 137 }),
    ),
    expect: "Running | True True | a:running<OOMKilled+started+ready#1",
  },
  {
    name: "the generation before was collected: its last state is kept",
    observed: seen(box("a", "running", { restartCount: 2 })),
    previous: {
      containerStatuses: [
        {
          name: "a",
          image,
          imageID: "",
          ready: true,
          restartCount: 2,
          containerID: "containerd://a-id",
          state: { running: {} },
          lastState: { terminated: { exitCode: 1, reason: "Error" } },
        },
      ],
    },
    expect: "Running | True True | a:running<Error+started+ready#2",
  },
  {
    name: "Never: success",
    pod: pod({ restartPolicy: "Never" }),
    observed: seen(box("a", "exited")),
    expect: "Succeeded | True(PodCompleted) False(PodCompleted) | a:Completed",
  },
  {
    name: "Never: failure",
    pod: pod({ restartPolicy: "Never" }),
    observed: seen(failed("a")),
    expect: "Failed | True False(PodFailed) | a:Error",
  },
  {
    name: "OnFailure: failure restarts",
    pod: pod({ restartPolicy: "OnFailure" }),
    observed: seen(failed("a")),
    expect: "Running | True False(ContainersNotReady) | a:Error",
  },
  {
    name: "Never: one of two runs on",
    pod: pod({
      restartPolicy: "Never",
      containers: [
        { name: "b", image },
        { name: "a", image },
      ],
    }),
    observed: seen(failed("a"), box("b", "running")),
    expect: "Running | True False(ContainersNotReady) | a:Error b:running+started+ready",
  },
  {
    name: "init running",
    pod: pod(withInit),
    observed: seen(box("i", "running")),
    expect: "Pending | False(ContainersNotInitialized) False(ContainersNotReady) | i:running+started a:PodInitializing",
  },
  {
    name: "init done",
    pod: pod(withInit),
    observed: seen(box("i", "exited")),
    expect: "Pending | True False(ContainersNotReady) | i:Completed+ready a:PodInitializing",
  },
  {
    name: "init failed, never restarts",
    pod: pod({ ...withInit, restartPolicy: "Never" }),
    observed: seen(failed("i")),
    expect: "Failed | False(ContainersNotInitialized) False(PodFailed) | i:Error a:PodInitializing",
  },
  {
    name: "init crash loop is Pending",
    pod: pod(withInit),
    waiting: new Map([["i", { reason: "CrashLoopBackOff", message: "" }]]),
    observed: seen(failed("i", { restartCount: 1 })),
    expect:
      "Pending | False(ContainersNotInitialized) False(ContainersNotReady) | i:CrashLoopBackOff<Error#1 a:PodInitializing",
  },
  {
    name: "init container removed by the runtime counts as done",
    pod: pod(withInit),
    observed: seen(box("a", "running")),
    expect: "Running | True True | i:Completed+ready a:running+started+ready",
  },
  {
    name: "sidecar started, regular not yet",
    pod: pod(withSidecar),
    observed: seen(box("s", "running")),
    expect: "Pending | True False(ContainersNotReady) | s:running+started+ready a:PodInitializing",
  },
  {
    name: "sidecar restarting keeps the pod Running",
    pod: pod(withSidecar),
    observed: seen(box("a", "running"), failed("s")),
    expect: "Running | True False(ContainersNotReady) | s:Error a:running+started+ready",
  },
  {
    name: "a finished pod whose sidecar was killed is Succeeded",
    pod: pod({ ...withSidecar, restartPolicy: "Never" }),
    observed: seen(box("a", "exited"), failed("s", { exitCode: 137 })),
    expect: "Succeeded | True(PodCompleted) False(PodCompleted) | s:Error a:Completed",
  },
  {
    name: "readiness probe not yet run",
    pod: pod({ containers: [{ name: "a", image, readinessProbe: probe }] }),
    observed: seen(box("a", "running")),
    expect: "Running | True False(ContainersNotReady) | a:running+started",
  },
  {
    name: "readiness probe passed",
    pod: pod({ containers: [{ name: "a", image, readinessProbe: probe }] }),
    observed: seen(box("a", "running")),
    readiness: { "a-id": "success" },
    expect: "Running | True True | a:running+started+ready",
  },
  {
    name: "startup probe pending",
    pod: pod({ containers: [{ name: "a", image, startupProbe: probe }] }),
    observed: seen(box("a", "running")),
    expect: "Running | True False(ContainersNotReady) | a:running",
  },
  {
    name: "a restarted agent keeps ready what was ready",
    pod: pod({ containers: [{ name: "a", image, readinessProbe: probe, startupProbe: probe }] }),
    observed: seen(box("a", "running")),
    previous: {
      containerStatuses: [
        {
          name: "a",
          image,
          imageID: "",
          ready: true,
          started: true,
          restartCount: 0,
          containerID: "containerd://a-id",
        },
      ],
    },
    expect: "Running | True True | a:running+started+ready",
  },
  {
    name: "readiness gate missing",
    pod: pod({ readinessGates: [{ conditionType: "lb/ready" }] }),
    observed: seen(box("a", "running")),
    expect: "Running | True False(ReadinessGatesNotReady) | a:running+started+ready",
  },
  {
    name: "readiness gate passed",
    pod: pod(
      { readinessGates: [{ conditionType: "lb/ready" }] },
      { conditions: [{ type: "lb/ready", status: "True" }] },
    ),
    observed: seen(box("a", "running")),
    expect: "Running | True True | a:running+started+ready",
  },
  {
    name: "a container that ran and vanished was restarted",
    previous: {
      containerStatuses: [
        {
          name: "a",
          image,
          imageID: "",
          ready: true,
          restartCount: 1,
          containerID: "containerd://x",
          state: { running: {} },
        },
      ],
    },
    expect: "Running | True False(ContainersNotReady) | a:ContainerCreating<ContainerStatusUnknown#2",
  },
  {
    name: "never seen to end, and the pod is over",
    isTerminal: true,
    previous: {
      containerStatuses: [
        {
          name: "a",
          image,
          imageID: "",
          ready: true,
          restartCount: 0,
          containerID: "containerd://x",
          state: { running: {} },
        },
      ],
    },
    expect: "Failed | True False(PodFailed) | a:ContainerStatusUnknown<ContainerStatusUnknown",
  },
  {
    name: "init failed and the pod is over: what it never came to still waits",
    pod: pod({ ...withInit, restartPolicy: "Never" }),
    isTerminal: true,
    observed: seen(failed("i")),
    expect: "Failed | False(ContainersNotInitialized) False(PodFailed) | i:Error a:PodInitializing",
  },
  {
    name: "deleted before anything was made",
    pod: pod(withInit),
    isTerminal: true,
    expect: "Failed | False(ContainersNotInitialized) False(PodFailed) | i:ContainerStatusUnknown a:PodInitializing",
  },
  {
    name: "terminal pod with Always ends by exit codes",
    isTerminal: true,
    observed: seen(box("a", "exited")),
    expect: "Succeeded | True(PodCompleted) False(PodCompleted) | a:Completed",
  },
  {
    name: "a terminal phase is never left",
    pod: pod({}, { phase: "Failed" }),
    observed: seen(box("a", "running")),
    expect: "Failed | True False(PodFailed) | a:running+started+ready",
  },
  {
    name: "deadline",
    verdict: { reason: "DeadlineExceeded", message: "Pod was active on the node longer than the specified deadline" },
    observed: seen(box("a", "running")),
    expect: "Failed | True False(PodFailed) | a:running+started+ready",
  },
  {
    name: "made, not started",
    observed: seen(box("a", "created")),
    expect: "Pending | True False(ContainersNotReady) | a:waiting",
  },
  {
    name: "ephemeral containers have no readiness",
    pod: pod({ ephemeralContainers: [{ name: "d", image }] }),
    observed: seen(box("a", "running"), box("d", "running")),
    expect: "Running | True True | a:running+started+ready d:running",
  },
];

for (const { name, expect, ...input } of rows) {
  t.test(`computeStatus() ${name}`, async (t) => {
    t.equal(say(compute(input)), expect);
  });
}

t.test("computeStatus() keeps why a pod was ended when the agent that did it is gone", async (t) => {
  const ended = pod({}, { phase: "Failed", reason: "Terminated", message: "the machine went down" });
  const now = compute({ pod: ended, isTerminal: true, observed: seen(box("a", "exited")) });
  t.match(now, { phase: "Failed", reason: "Terminated", message: "the machine went down" }, "though it ended well");
});

t.test("computeStatus() keeps a transition time until the status changes", async (t) => {
  const first = compute({ observed: seen(box("a", "running")) });
  const later = compute({ observed: seen(box("a", "running")), previous: first, nowMs: start + 60_000 });
  t.same(later, first);
  const broken = compute({ observed: seen(failed("a")), previous: first, nowMs: start + 60_000 });
  const ready = broken.conditions?.find((condition) => condition.type === "Ready");
  t.same(ready?.lastTransitionTime, "2026-01-01T00:01:00Z");
});

t.test("computeStatus() shows addresses", async (t) => {
  const status = compute({ observed: seen(box("a", "running")) });
  t.match(status, { hostIP: "192.168.1.5", podIP: "10.1.0.2", podIPs: [{ ip: "10.1.0.2" }] });
  const host = compute({ pod: pod({ hostNetwork: true }) });
  t.equal(host.podIP, "192.168.1.5");
  const many = compute({ pod: pod({ hostNetwork: true }), hostIps: ["192.168.1.5", "192.168.1.6", "fd00::5"] });
  const firsts = [{ ip: "192.168.1.5" }, { ip: "fd00::5" }];
  t.match(many, { hostIPs: firsts, podIPs: firsts }, "one of each family");
  t.equal(many.podIPs?.length, 2);
  const over = compute({ pod: pod({}, { phase: "Succeeded" }), previous: status });
  t.equal(over.podIP, "10.1.0.2");
});

t.test("qosClassOf()", async (t) => {
  const both = { cpu: "1", memory: "1Gi" };
  const cases: [string, PodSpec["containers"], string][] = [
    ["nothing asked", [{ name: "a" }], "BestEffort"],
    ["zero is nothing", [{ name: "a", resources: { requests: { cpu: "0" } } }], "BestEffort"],
    ["limits alone guarantee", [{ name: "a", resources: { limits: both } }], "Guaranteed"],
    [
      "same in another spelling",
      [{ name: "a", resources: { limits: both, requests: { cpu: "1000m", memory: "1024Mi" } } }],
      "Guaranteed",
    ],
    ["one container without", [{ name: "a", resources: { limits: both } }, { name: "b" }], "Burstable"],
    ["only memory", [{ name: "a", resources: { limits: { memory: "1Gi" } } }], "Burstable"],
  ];
  for (const [name, containers, expect] of cases) t.equal(qosClassOf({ containers }), expect, name);
});

t.test("computeStatus() tells what is mounted, and once only", async (t) => {
  const volumeMounts = [
    { name: "data", mountPath: "/data" },
    { name: "config", mountPath: "/config", readOnly: true, recursiveReadOnly: "IfPossible" },
    { name: "keys", mountPath: "/keys", readOnly: true },
  ];
  const mounting = pod({ containers: [{ name: "a", image, volumeMounts }] });
  const told = compute({ pod: mounting, observed: seen(box("a", "running")) });
  const expected = [
    { name: "data", mountPath: "/data" },
    { name: "config", mountPath: "/config", readOnly: true, recursiveReadOnly: "Enabled" },
    { name: "keys", mountPath: "/keys", readOnly: true, recursiveReadOnly: "Disabled" },
  ];
  t.same(told.containerStatuses?.[0]?.volumeMounts, expected);
  const later = compute({ pod: mounting, previous: told, hasRecursiveReadOnly: () => false });
  t.same(later.containerStatuses?.[0]?.volumeMounts, expected);
});

t.test("computeStatus() shares 12 KiB of termination messages among a pod's containers", async (t) => {
  const three = ["a", "b", "c"].map((name) => ({ name, image }));
  const long = "x".repeat(4095) + "é".repeat(1000);
  const ended = three.map(({ name }) => failed(name, { message: long }));
  const told = compute({ pod: pod({ restartPolicy: "Never", containers: three }), observed: seen(...ended) });
  const messages = (told.containerStatuses ?? []).map(({ state }) => state?.terminated?.message);
  t.same(
    messages,
    three.map(() => "x".repeat(4095)),
    "and cuts no character in two",
  );
});
