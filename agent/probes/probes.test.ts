import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import type { Probe } from "../../plugins/kit/kube/objects/types.ts";
import { longestOutput, type ProbePlugin, type ProbeReport } from "../../plugins/kit/contracts/probe.ts";
import type { ObservedContainer } from "../model/observed.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { noRecorder } from "../model/recorder.ts";
import { ProbeCounts } from "./counts.ts";
import { LatestAnswers } from "./latest.ts";
import { firstDelayMs, ProbeMachine, type ProbeOutcome } from "./machine.ts";
import { Prober } from "./prober.ts";
import { ProbeWorker } from "./probe-worker.ts";
import { ProbeResults, type ProbeType } from "./results.ts";

interface Row {
  name: string;
  type: ProbeType;
  probe?: Probe;
  outcomes: ProbeOutcome[];
  verdicts: (string | undefined)[];
  isOnHold?: boolean;
}

const rows: Row[] = [
  { name: "readiness needs one success by default", type: "readiness", outcomes: ["success"], verdicts: ["success"] },
  {
    name: "three failures in a row by default",
    type: "readiness",
    outcomes: ["failure", "failure", "failure", "failure"],
    verdicts: [undefined, undefined, "failure", "failure"],
  },
  {
    name: "a success between starts the count anew",
    type: "readiness",
    outcomes: ["failure", "failure", "success", "failure", "failure", "failure"],
    verdicts: [undefined, undefined, "success", undefined, undefined, "failure"],
  },
  {
    name: "successThreshold is honoured",
    type: "readiness",
    probe: { successThreshold: 2 },
    outcomes: ["success", "success", "failure", "success", "success"],
    verdicts: [undefined, "success", undefined, undefined, "success"],
  },
  {
    name: "liveness is on hold once it failed: the container is about to be killed",
    type: "liveness",
    probe: { failureThreshold: 1 },
    outcomes: ["success", "failure"],
    verdicts: ["success", "failure"],
    isOnHold: true,
  },
  {
    name: "startup ends with its first verdict",
    type: "startup",
    outcomes: ["failure", "success"],
    verdicts: [undefined, "success"],
    isOnHold: true,
  },
];

for (const { name, type, probe = {}, outcomes, verdicts, isOnHold = false } of rows) {
  t.test(`ProbeMachine: ${name}`, async (t) => {
    const machine = new ProbeMachine(type, probe);
    t.same(
      outcomes.map((outcome) => machine.step(outcome)),
      verdicts,
    );
    t.equal(machine.isOnHold, isOnHold);
  });
}

t.test("firstDelayMs() counts from the container's start", async (t) => {
  t.equal(firstDelayMs({ initialDelaySeconds: 5 }, 1_000, 3_000), 3_000);
  t.equal(firstDelayMs({}, 1_000, 3_000), 0);
  t.equal(firstDelayMs({ initialDelaySeconds: 5 }, 9_000_000, 3_000), 5_000, "the clock was set back");
});

t.test("ProbeWorker waits for the startup verdict, and begins anew with a new container", async (t) => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const report: ProbeReport = { outcome: "success", output: "" };
  const told: string[] = [];
  const latest = new LatestAnswers();
  const results = new ProbeResults((uid, type) => told.push(`${uid} ${type}`));
  const container = { name: "main", startupProbe: {}, readinessProbe: { initialDelaySeconds: 2 } };
  let running: ObservedContainer = { id: "c1", state: "running", startedAt: clock.now() } as ObservedContainer;
  const worker = new ProbeWorker({
    clock,
    prober: { probe: async (_, { containerId }) => (asked.push(containerId), report) },
    results,
    recorder: noRecorder,
    counts: new ProbeCounts(),
    latest,
    pod: testPod("p"),
    container,
    type: "readiness",
    probe: container.readinessProbe,
    look: () => ({ container: running, podIp: "" }),
  });
  worker.poke();
  await clock.advance(2_000);
  t.same(asked, [], "not before it has started");
  results.set("startup", "c1", "success", "uid-p");
  worker.poke();
  await clock.advance(0);
  t.same(asked, ["c1"]);
  t.equal(results.get("readiness", "c1"), "success");
  await clock.advance(10_000);
  t.same(asked, ["c1", "c1"], "every ten seconds by default");
  t.match(latest.of("uid-p"), [{ container: "main", type: "readiness", answer: "successful", inARow: 2 }]);
  running = { ...running, id: "c2", startedAt: clock.now() };
  results.set("startup", "c2", "success", "uid-p");
  worker.poke();
  t.equal(results.get("readiness", "c1"), undefined);
  await clock.advance(2_000);
  t.same(asked, ["c1", "c1", "c2"]);
  worker.stop();
  t.equal(results.get("readiness", "c2"), undefined);
  t.same(told, ["uid-p startup", "uid-p readiness", "uid-p startup", "uid-p readiness"]);
});

t.test("Prober asks the first plugin that fits, and takes what it throws for no answer", async (t) => {
  const plugin = (name: keyof Probe, ask: ProbePlugin["ask"]): ProbePlugin => ({
    name,
    supports: (probe) => probe[name] !== undefined,
    ask,
  });
  let tries = 0;
  const prober = new Prober([
    plugin("exec", async ({ timeoutMs }) => ({ outcome: "success", output: `within ${timeoutMs} ms` })),
    plugin("exec", async () => ({ outcome: "failure", output: "not asked" })),
    plugin("grpc", async () => ({ outcome: "failure", output: "x".repeat(100_000) })),
    plugin("tcpSocket", () => Promise.reject(new Error("no such port"))),
    plugin("httpGet", async () => {
      if (++tries < 3) throw new Error("the runtime is busy");
      return { outcome: "failure", output: `at try ${tries}` };
    }),
  ]);
  const target = { container: { name: "main" }, containerId: "c1", podIp: "" };
  const ask = (probe: Probe) => prober.probe(probe, target, uninterrupted);
  t.same(await ask({ exec: {}, timeoutSeconds: 3 }), { outcome: "success", output: "within 3000 ms" });
  t.same(await ask({ exec: {} }), { outcome: "success", output: "within 1000 ms" });
  t.equal((await ask({ grpc: { port: 1 } })).output.length, longestOutput);
  t.same(await ask({ tcpSocket: { port: "x" } }), { outcome: "errored", output: "no such port" });
  t.same(await ask({ httpGet: { port: 1 } }), { outcome: "failure", output: "at try 3" }, "three times are tried");
  t.same(await ask({}), { outcome: "errored", output: "missing probe handler" });
});
