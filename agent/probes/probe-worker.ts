// Asks one probe of one container again and again, each generation of the container from the beginning.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Container, Probe } from "../../plugins/kit/kube/objects/types.ts";
import type { ObservedContainer } from "../model/observed.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { about, type Recorder } from "../model/recorder.ts";
import { firstDelayMs, periodMs, ProbeMachine } from "./machine.ts";
import type { ProbeCounts } from "./counts.ts";
import type { LatestAnswers } from "./latest.ts";
import type { Prober } from "./prober.ts";
import type { ProbeResults, ProbeType } from "./results.ts";

export interface ProbeWorkerOptions {
  readonly clock: Clock;
  readonly prober: Pick<Prober, "probe">;
  readonly results: ProbeResults;
  readonly counts: ProbeCounts;
  readonly latest: LatestAnswers;
  readonly recorder: Recorder;
  readonly pod: AgentPod;
  readonly container: Container;
  readonly type: ProbeType;
  readonly probe: Probe;
  /** The newest generation of the container and the pod's address. */
  readonly look: () => { container: ObservedContainer | undefined; podIp: string };
}

const nouns: Record<ProbeType, string> = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" };

const answers = { success: "successful", failure: "failed", errored: "unknown" } as const;

export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  readonly #stop = new AbortController();
  #containerId = "";
  #machine: ProbeMachine;
  #cancel: (() => void) | undefined;
  #isAsking = false;

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
    this.#machine = new ProbeMachine(options.type, options.probe);
  }

  /** Looks at the container: begins anew with a new generation, at once where nothing says to wait. */
  poke(): void {
    const { container } = this.#options.look();
    if (this.#stop.signal.aborted || container?.state !== "running") return;
    if (container.id !== this.#containerId) {
      const { results, type, probe, clock } = this.#options;
      if (this.#containerId) results.remove(type, this.#containerId);
      this.#containerId = container.id;
      this.#machine = new ProbeMachine(type, probe);
      this.#schedule(firstDelayMs(probe, container.startedAt, clock.now()));
    } else if (!this.#cancel && !this.#isAsking && !this.#machine.isOnHold) {
      this.#schedule(0);
    }
  }

  /** Takes a verdict from before a restart of the agent, so that it need not be earned again. */
  assume(containerId: string): void {
    if (this.#containerId === containerId) return;
    this.#containerId = containerId;
    this.#machine = new ProbeMachine(this.#options.type, { ...this.#options.probe, successThreshold: 1 });
    this.#machine.step("success");
    const { results, type, pod } = this.#options;
    results.set(type, containerId, "success", pod.metadata.uid);
  }

  stop(): void {
    this.#stop.abort();
    this.#cancel?.();
    if (this.#containerId) this.#options.results.remove(this.#options.type, this.#containerId);
  }

  #schedule(delayMs: number): void {
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#cancel = undefined;
      void this.#ask();
    });
  }

  /** Not before the container has started, as its startup probe sees it. */
  #mayAsk(containerId: string): boolean {
    const { type, container, results } = this.#options;
    return type === "startup" || !container.startupProbe || results.get("startup", containerId) === "success";
  }

  async #ask(): Promise<void> {
    const { look, prober, probe, container, type, pod, recorder, results, counts, latest, clock } = this.#options;
    const { container: observed, podIp } = look();
    if (observed?.state !== "running" || observed.id !== this.#containerId || this.#machine.isOnHold) return;
    // Whoever sets the startup verdict pokes this worker again.
    if (!this.#mayAsk(observed.id)) return;
    this.#isAsking = true;
    const target = { container, containerId: observed.id, podIp };
    const startedAt = clock.monotonic();
    const report = await prober.probe(probe, target, { signal: this.#stop.signal });
    this.#isAsking = false;
    if (this.#stop.signal.aborted || observed.id !== this.#containerId) return;
    const answer = answers[report.outcome];
    counts.add(pod, container.name, type, answer);
    counts.took(pod, container.name, type, (clock.monotonic() - startedAt) / 1000);
    const told = { container: container.name, type, answer, output: report.output, at: clock.now() };
    latest.set(pod.metadata.uid, told);
    const say = (reason: string, text: string) =>
      recorder.event(pod, "Warning", reason, `${nouns[type]} probe ${text}`, about(pod, container.name));
    if (report.outcome === "errored") say("Unhealthy", `errored: ${report.output}`);
    else {
      if (report.outcome === "failure") say("Unhealthy", `failed: ${report.output}`);
      if (report.warning) say("ProbeWarning", `warning: ${report.warning}`);
      const verdict = this.#machine.step(report.outcome);
      if (verdict) results.set(type, observed.id, verdict, pod.metadata.uid);
    }
    if (!this.#machine.isOnHold) this.#schedule(periodMs(probe));
  }
}
