import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import type { Outcome } from "../../../test/harness/simulated-kubelet.ts";
import { isTrue } from "../../manager/conditions.ts";
import { indexName } from "./objects.ts";

const job = (name: string, spec: Json = {}) => ({
  metadata: { name },
  spec: { template: podTemplate({}, { restartPolicy: "Never" }), ...spec },
});
const done = (object: Json) => isTrue(object.status?.conditions, "Complete");
const failed = (object: Json) => isTrue(object.status?.conditions, "Failed");
const indexOf = (pod: Pod) => pod.metadata.annotations?.[indexName];
const names = ["job-controller"];

t.test("jobController() runs as many pods as completions ask for, never more at once than parallelism", async (t) => {
  let most = 0;
  const room = await controllerRoom(t, names, { outcome: () => "succeeded" });
  room.api.server.informers.for<Pod>(resources.pods).onEvent(() => {
    const active = room.pods().filter((pod) => pod.status?.phase !== "Succeeded").length;
    most = Math.max(most, active);
  });
  await room.create(resources.jobs, job("sum", { completions: 7, parallelism: 3 }));
  const end = await room.until(resources.jobs, "sum", done);
  t.match(end.status, { succeeded: 7, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
  t.ok(end.status.completionTime && isTrue(end.status.conditions, "SuccessCriteriaMet"));
  t.equal(room.pods().length, 7);
  t.ok(most <= 3, `${most} at once`);
  t.ok(
    room.pods().every((pod) => !pod.metadata.finalizers?.length),
    "no pod is held any longer",
  );
});

t.test("jobController() gives every index one success", async (t) => {
  const room = await controllerRoom(t, names, { outcome: () => "succeeded" });
  await room.create(resources.jobs, job("parts", { completions: 5, parallelism: 2, completionMode: "Indexed" }));
  const end = await room.until(resources.jobs, "parts", done);
  t.match(end.status, { succeeded: 5, completedIndexes: "0-4" });
  t.same(
    room
      .pods()
      .map((pod) => Number(indexOf(pod)))
      .sort((a, b) => a - b),
    [0, 1, 2, 3, 4],
  );
  const spec = room.pods()[0]?.spec as Json;
  t.match(spec, { hostname: /^parts-\d$/, containers: [{ env: [{ name: "JOB_COMPLETION_INDEX" }] }] });
});

t.test("jobController() replaces failed pods with growing delays and gives up after the limit", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, names, { outcome: () => ({ exitCode: 3 }), clock });
  await room.create(resources.jobs, job("broken", { backoffLimit: 1 }));
  await room.until(resources.jobs, "broken", ({ status }) => status?.failed === 1);
  t.equal(room.pods().length, 1, "nothing is made before its time");
  await clock.advance(11_000);
  const end = await room.until(resources.jobs, "broken", failed);
  t.equal(end.status.failed, 2);
  t.match(end.status.conditions.at(-1), { type: "Failed", reason: "BackoffLimitExceeded" });
});

t.test("jobController() ends a job by its pod failure policy, and forgives what the policy ignores", async (t) => {
  const clock = new FakeClock(Date.now());
  const outcomes: Outcome[] = [{ exitCode: 7 }, { exitCode: 42 }];
  const made: string[] = [];
  const room = await controllerRoom(t, names, {
    clock,
    outcome: (pod) => {
      if (!made.includes(pod.metadata.uid ?? "")) made.push(pod.metadata.uid ?? "");
      return outcomes[made.indexOf(pod.metadata.uid ?? "")] ?? "ready";
    },
  });
  const rules = [
    { action: "Ignore", onExitCodes: { operator: "In", values: [7] } },
    { action: "FailJob", onExitCodes: { containerName: "main", operator: "In", values: [42] } },
  ];
  await room.create(resources.jobs, job("strict", { backoffLimit: 0, podFailurePolicy: { rules } }));
  await room.until(resources.namespaces, "default", () => room.pods()[0]?.status?.phase === "Failed");
  await clock.advance(11_000);
  const end = await room.until(resources.jobs, "strict", failed);
  t.match(end.status.conditions.at(-1), {
    reason: "PodFailurePolicy",
    message: /^Container main for pod default\/strict-\w+ failed with exit code 42 matching FailJob rule at index 1$/,
  });
  t.equal(end.status.failed, 1, "the ignored one does not count");
});

t.test("jobController() fails only the index that used up its own limit", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, names, {
    clock,
    outcome: (pod) => (indexOf(pod) === "1" ? { exitCode: 1 } : "succeeded"),
  });
  const spec = { completions: 3, parallelism: 3, completionMode: "Indexed", backoffLimitPerIndex: 1 };
  await room.create(resources.jobs, job("parts", spec));
  await room.until(resources.jobs, "parts", ({ status }) => status?.completedIndexes === "0,2");
  await clock.advance(11_000);
  const end = await room.until(resources.jobs, "parts", failed);
  t.match(end.status, { failedIndexes: "1", completedIndexes: "0,2", failed: 2 });
  t.match(end.status.conditions.at(-1), { reason: "FailedIndexes" });
});

t.test("jobController() fails an index at once by its failure policy, and the job when too many have", async (t) => {
  const room = await controllerRoom(t, names, {
    outcome: (pod) => ({ "1": { exitCode: 42 }, "2": { exitCode: 42 } })[indexOf(pod) ?? ""] ?? "ready",
  });
  const rules = [{ action: "FailIndex", onExitCodes: { operator: "In", values: [42] } }];
  const limits = { backoffLimitPerIndex: 5, maxFailedIndexes: 1, podFailurePolicy: { rules } };
  const spec = { completions: 4, parallelism: 4, completionMode: "Indexed", ...limits };
  await room.create(resources.jobs, job("parts", spec));
  const end = await room.until(resources.jobs, "parts", failed);
  t.match(end.status, { failedIndexes: "1,2", terminating: 0 });
  t.match(end.status.conditions.at(-1), {
    reason: "MaxFailedIndexesExceeded",
    message: "Job has exceeded the specified maximal number of failed indexes",
  });
  t.notOk(end.status.active, "those that ran on were taken away");
});

t.test("jobController() forgives a disruption by condition, and goes on with success rules of a count", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, names, {
    clock,
    outcome: (pod) => (["0", "3"].includes(indexOf(pod) ?? "") ? "succeeded" : "ready"),
  });
  const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
  const successPolicy = { rules: [{ succeededIndexes: "1-2" }, { succeededIndexes: "0-3", succeededCount: 2 }] };
  const spec = { completions: 5, parallelism: 5, completionMode: "Indexed", backoffLimit: 0 };
  await room.create(resources.jobs, job("leaders", { ...spec, successPolicy, podFailurePolicy: { rules } }));
  const end = await room.until(resources.jobs, "leaders", done);
  t.match(end.status, { succeeded: 2, completedIndexes: "0,3" });
  t.match(end.status.conditions[0], { reason: "SuccessPolicy", message: "Matched rules at index 1" });
});

t.test("jobController() waits for the end of a pod before it is replaced only where told so", async (t) => {
  const room = await controllerRoom(t, names, { clock: new FakeClock(Date.now()), kubelet: false });
  const made = (name: string) => room.pods().filter((pod) => pod.metadata.labels?.["job-name"] === name);
  for (const [name, policy] of [
    ["eager", "TerminatingOrFailed"],
    ["patient", "Failed"],
  ] as const) {
    await room.create(resources.jobs, job(name, { podReplacementPolicy: policy, backoffLimit: 5 }));
    await room.until(resources.jobs, name, ({ status }) => status?.active === 1);
    // Bound, so that it has a grace in which it is on its way out.
    const [pod] = made(name);
    const metadata = { name: pod?.metadata.name ?? "" };
    await room.client.create(
      resources.pods,
      { apiVersion: "v1", kind: "Binding", metadata, target: { kind: "Node", name: "n" } } as never,
      room.call,
      { namespace: "default", ...metadata, subresource: "binding" },
    );
    await room.delete(resources.pods, pod?.metadata.name ?? "");
  }
  await room.until(resources.jobs, "eager", ({ status }) => status?.failed === 1);
  await room.until(resources.jobs, "patient", ({ status }) => status?.terminating === 1 && !status.active);
  t.equal(made("patient").length, 1, "nothing beside it");
  t.notOk(room.get(resources.jobs, "patient").status.failed, "and it has not failed yet");
});

t.test("jobController() leaves a job to the manager that it names", async (t) => {
  const room = await controllerRoom(t, names, { outcome: () => "succeeded" });
  await room.create(resources.jobs, job("theirs", { managedBy: "example.com/other" }));
  await room.create(resources.jobs, job("ours", { managedBy: "kubernetes.io/job-controller" }));
  await room.until(resources.jobs, "ours", done);
  t.same(room.get(resources.jobs, "theirs").status ?? {}, {}, "not even a start time");
  t.equal(room.pods().length, 1);
});

t.test("jobController() ends early when the success policy holds", async (t) => {
  const room = await controllerRoom(t, names, { outcome: (pod) => (indexOf(pod) === "0" ? "succeeded" : "ready") });
  const spec = { completions: 3, parallelism: 3, completionMode: "Indexed" };
  await room.create(resources.jobs, job("leader", { ...spec, successPolicy: { rules: [{ succeededIndexes: "0" }] } }));
  const end = await room.until(resources.jobs, "leader", done);
  t.match(end.status, { succeeded: 1, completedIndexes: "0" });
  t.match(end.status.conditions[0], { type: "SuccessCriteriaMet", reason: "SuccessPolicy" });
});

t.test("jobController() takes pods away while suspended and brings them back after", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.jobs, job("pause", { parallelism: 2, completions: 2 }));
  await room.until(resources.jobs, "pause", ({ status }) => status?.ready === 2);
  await room.patch(resources.jobs, "pause", { spec: { suspend: true } });
  const paused = await room.until(
    resources.jobs,
    "pause",
    ({ status }) => !status?.active && isTrue(status.conditions, "Suspended"),
  );
  t.equal(paused.status.startTime, undefined);
  await room.patch(resources.jobs, "pause", { spec: { suspend: false } });
  await room.until(resources.jobs, "pause", ({ status }) => status?.ready === 2 && status.startTime);
});

t.test("jobController() ends a job that has nothing left to do, also while it is suspended", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.jobs, job("nothing", { completions: 0, suspend: true }));
  const end = await room.until(resources.jobs, "nothing", done);
  t.match(end.status.conditions.at(-1), { reason: "CompletionsReached" });
  t.notOk(isTrue(end.status.conditions, "Suspended"), "what is done does not sleep");
});

t.test("jobController() ends a suspended job whose last pod succeeded on its way out", async (t) => {
  const room = await controllerRoom(t, names, { kubelet: false });
  await room.create(resources.jobs, job("leaving", { podReplacementPolicy: "Failed" }));
  await room.until(resources.jobs, "leaving", ({ status }) => status?.active === 1);
  const [pod] = room.pods();
  const name = pod?.metadata.name ?? "";
  await room.patch(resources.pods, name, { status: { phase: "Running" } }, "status");
  // Deleted by somebody else: it is counted. What the controller itself removes is not.
  await room.delete(resources.pods, name, { gracePeriodSeconds: 30 });
  await room.patch(resources.jobs, "leaving", { spec: { suspend: true } });
  await room.until(resources.jobs, "leaving", ({ status }) => status?.terminating === 1 && !status.startTime);
  await room.patch(resources.pods, name, { status: { phase: "Succeeded" } }, "status");
  const end = await room.until(resources.jobs, "leaving", done);
  t.equal(end.status.startTime, pod?.metadata.creationTimestamp);
});

t.test("jobController() does not count sleep as activity", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, names, { clock, outcome: () => "succeeded" });
  await room.create(resources.jobs, job("asleep", { suspend: true, activeDeadlineSeconds: 10 }));
  const asleep = await room.until(resources.jobs, "asleep", ({ status }) => isTrue(status?.conditions, "Suspended"));
  t.equal(asleep.status.startTime, undefined, "it never began");
  await clock.advance(60_000);
  await room.patch(resources.jobs, "asleep", { spec: { suspend: false } });
  t.ok((await room.until(resources.jobs, "asleep", done)).status.startTime);
});

t.test("jobController() ends a job that was active for too long", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, names, { clock });
  await room.create(resources.jobs, job("slow", { activeDeadlineSeconds: 30 }));
  await room.until(resources.jobs, "slow", ({ status }) => status?.ready === 1);
  await clock.advance(31_000);
  const end = await room.until(resources.jobs, "slow", failed);
  t.match(end.status.conditions.at(-1), { reason: "DeadlineExceeded" });
});

t.test("jobController() lets the pods of a deleted job go", async (t) => {
  const room = await controllerRoom(t, [...names, "generic-garbage-collector"]);
  await room.create(resources.jobs, job("gone", { parallelism: 3, completions: 3 }));
  await room.until(resources.jobs, "gone", ({ status }) => status?.ready === 3);
  await room.delete(resources.jobs, "gone", { propagationPolicy: "Background" });
  await room.until(resources.namespaces, "default", () => room.pods().length === 0);
});

t.test("ttlAfterFinishedController() deletes a finished job in time", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, [...names, "ttl-after-finished-controller", "generic-garbage-collector"], {
    clock,
    outcome: () => "succeeded",
  });
  await room.create(resources.jobs, job("short", { ttlSecondsAfterFinished: 60 }));
  await room.until(resources.jobs, "short", done);
  await clock.advance(30_000);
  t.ok(room.get(resources.jobs, "short"));
  await clock.advance(31_000);
  await room.until(resources.namespaces, "default", () => !room.get(resources.jobs, "short"));
});
