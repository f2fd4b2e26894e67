import t from "tap";
import type { Runtime } from "../../cri/api/contract.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed.ts";
import type { KillReason } from "./actions.ts";
import { HookRunner } from "./hooks.ts";
import { Killer } from "./killer.ts";
import { noRecorder } from "../model/recorder.ts";

interface Row {
  readonly name: string;
  readonly reason: KillReason;
  readonly spec?: object;
  readonly metadata?: object;
  readonly graceSeconds?: number;
  readonly seconds: number;
}

const own = { terminationGracePeriodSeconds: 20 };
const probes = {
  livenessProbe: { terminationGracePeriodSeconds: 3 },
  startupProbe: { terminationGracePeriodSeconds: 7 },
};
const rows: readonly Row[] = [
  { name: "the pod's own", reason: "pod", spec: own, seconds: 20 },
  { name: "at least one second", reason: "pod", spec: { terminationGracePeriodSeconds: 0 }, seconds: 1 },
  { name: "the liveness probe's after it failed", reason: "liveness-probe", spec: own, seconds: 3 },
  { name: "the startup probe's after it failed", reason: "startup-probe", spec: own, seconds: 7 },
  { name: "not a probe's for another reason", reason: "definition", spec: own, seconds: 20 },
  {
    name: "the deletion's before a probe's",
    reason: "liveness-probe",
    spec: own,
    metadata: { deletionGracePeriodSeconds: 11 },
    seconds: 11,
  },
  { name: "who kills before all", reason: "pod", spec: own, graceSeconds: 5, seconds: 5 },
];

for (const { name, reason, spec, metadata, graceSeconds, seconds } of rows)
  t.test(`killContainer() gives ${name}`, async (t) => {
    const asked: bigint[] = [];
    const stopContainer = async ({ timeout }: { timeout: bigint }) => void asked.push(timeout);
    const runtime = { runtime: { stopContainer } } as unknown as Runtime;
    const clock = new FakeClock();
    const hooks = new HookRunner(runtime.runtime, clock);
    const node = { hostIps: () => [] };
    const killer = new Killer({ runtime, hooks, clock, recorder: noRecorder, log: noLog, node });
    const pod = testPod("web", { containers: [{ name: "main", image: "i", ...probes }], ...spec }, metadata ?? {});
    const container = { id: "c", name: "main", state: "running" } as ObservedContainer;
    const observed = { sandboxes: [], containers: [container] } as unknown as ObservedPod;
    const kill = { reason, ...(graceSeconds === undefined ? {} : { graceSeconds }) };
    await killer.killContainer(pod, observed, container, kill, uninterrupted);
    t.same(asked, [BigInt(seconds)]);
  });
