// Whether this node's proxy keeps up: a change that waits for a minute is a proxy that hangs. Load balancers ask for it, and the health
// checks of services are no better than it. Answers are those of kube-proxy.

import type { Clock } from "../../kit/base/clock.ts";
import type { Node } from "../../kit/kube/objects/types.ts";

/** Twice the time in which kube-proxy writes everything anew. */
const patienceMs = 60_000;
/** Set by the cluster autoscaler on a node that it is about to remove: connections should go elsewhere before. */
const leavingTaint = "ToBeDeletedByClusterAutoscaler";

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly body: string;
}

export class ProxyHealth {
  readonly #clock: Clock;
  #waitsSince: number | undefined;
  #updatedAt: number | undefined;
  #isEligible = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something changed that is not in the kernel yet. */
  queued(): void {
    this.#waitsSince ??= this.#clock.monotonic();
  }

  /** Everything is in the kernel. */
  updated(): void {
    this.#waitsSince = undefined;
    this.#updatedAt = this.#clock.now();
  }

  setNode(node: Node | undefined): void {
    this.#isEligible =
      node?.metadata.deletionTimestamp === undefined &&
      !(node?.spec?.taints ?? []).some(({ key }) => key === leavingTaint);
  }

  /** Of the proxy alone; a node that is about to leave still serves. */
  get isHealthy(): boolean {
    return this.#waitsSince === undefined || this.#clock.monotonic() - this.#waitsSince < patienceMs;
  }

  /** Whether new connections should come to this node. */
  healthz(): HealthAnswer {
    return this.#answer(this.isHealthy && this.#isEligible, { nodeEligible: this.#isEligible });
  }

  livez(): HealthAnswer {
    return this.#answer(this.isHealthy, {});
  }

  #answer(isWell: boolean, more: object): HealthAnswer {
    const now = this.#clock.now();
    // Who is well is up to date, also when nothing changed for long.
    const updatedAt = isWell ? now : (this.#updatedAt ?? 0);
    const body = { lastUpdated: written(updatedAt), currentTime: written(now), ...more };
    return { status: isWell ? 200 : 503, body: JSON.stringify(body) };
  }
}

/** A time as Go prints it. */
function written(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", " +0000 UTC");
}
