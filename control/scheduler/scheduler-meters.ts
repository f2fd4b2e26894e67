// What the scheduler did and how long it took, under the names that rules and boards for kube-scheduler ask for. Outlives schedulers: one
// that loses the lease and gets it again goes on counting.

import { Meters } from "../../plugins/kit/base/meters.ts";
import type { SchedulingQueue } from "./scheduling-queue.ts";

type Result = "scheduled" | "unschedulable" | "error";

// Upstream's.
const doubling = (first: number, count: number) => Array.from({ length: count }, (_, index) => first * 2 ** index);
const attemptBuckets = doubling(0.001, 15);
const podBuckets = doubling(0.01, 20);
const mostAttemptsTold = 15;

export class SchedulerMeters {
  readonly #meters = new Meters();
  readonly #attempts = this.#meters.counter(
    "scheduler_schedule_attempts_total",
    "Attempts to schedule pods, by result: 'unschedulable' means that no node would do, 'error' trouble within.",
  );
  readonly #attemptSeconds = this.#meters.histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "How long attempts took, deciding and binding.",
    attemptBuckets,
  );
  readonly #algorithmSeconds = this.#meters.histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "How long deciding took.",
    attemptBuckets,
  );
  readonly #podSeconds = this.#meters.histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "How long pods waited for their node since they came, by how many attempts it took.",
    podBuckets,
  );
  readonly #podAttempts = this.#meters.histogram(
    "scheduler_pod_scheduling_attempts",
    "How many attempts it took to schedule a pod.",
    doubling(1, 5),
  );
  readonly #preemptions = this.#meters.counter(
    "scheduler_preemption_attempts_total",
    "How often pods were asked to make room for others.",
  );
  readonly #victims = this.#meters.histogram(
    "scheduler_preemption_victims",
    "How many pods were asked to make room at once.",
    doubling(1, 7),
  );

  attempt(profile: string, result: Result, seconds: number): void {
    this.#attempts.add({ profile, result });
    this.#attemptSeconds.observe({ profile, result }, seconds);
  }

  decided(seconds: number): void {
    this.#algorithmSeconds.observe({}, seconds);
  }

  scheduled(attempts: number, seconds: number): void {
    const told = attempts > mostAttemptsTold ? `${mostAttemptsTold + 1}+` : String(attempts);
    this.#podSeconds.observe({ attempts: told }, seconds);
    this.#podAttempts.observe({}, attempts);
  }

  preempted(victims: number): void {
    this.#preemptions.add({});
    this.#victims.observe({}, victims);
  }

  text(waiting: SchedulingQueue["counts"] | undefined): string {
    const name = "scheduler_pending_pods";
    const heading = `# HELP ${name} Pods that wait for a node, by why.\n# TYPE ${name} gauge\n`;
    const rows = Object.entries(waiting ?? { active: 0, backoff: 0, unschedulable: 0, gated: 0 });
    return (
      heading + rows.map(([queue, count]) => `${name}{queue="${queue}"} ${count}\n`).join("") + this.#meters.text()
    );
  }
}
