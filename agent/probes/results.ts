// The latest verdict of every probe, by container id. Whoever must act on a change is told the pod.

import type { ProbeVerdict } from "../model/probe-verdict.ts";

export type ProbeType = "startup" | "liveness" | "readiness";

export class ProbeResults {
  readonly #verdicts: Record<ProbeType, Map<string, ProbeVerdict>> = {
    startup: new Map(),
    liveness: new Map(),
    readiness: new Map(),
  };
  readonly #onChange: (podUid: string, type: ProbeType) => void;

  constructor(onChange: (podUid: string, type: ProbeType) => void) {
    this.#onChange = onChange;
  }

  get(type: ProbeType, containerId: string): ProbeVerdict | undefined {
    return this.#verdicts[type].get(containerId);
  }

  set(type: ProbeType, containerId: string, verdict: ProbeVerdict, podUid: string): void {
    if (this.#verdicts[type].get(containerId) === verdict) return;
    this.#verdicts[type].set(containerId, verdict);
    this.#onChange(podUid, type);
  }

  remove(type: ProbeType, containerId: string): void {
    this.#verdicts[type].delete(containerId);
  }
}
