// Why the node ended or refused a pod: deadline, eviction, admission, shutdown.

import type { PodCondition } from "../../plugins/kit/kube/objects/types.ts";

/** A condition without its times. */
export type BareCondition = Pick<PodCondition, "type" | "status" | "reason" | "message">;

export interface Verdict {
  readonly reason: string;
  readonly message: string;
  /** `DisruptionTarget`, where upstream sets it. */
  readonly condition?: BareCondition;
  /** The pod was never admitted: it has no containers to report. */
  readonly isRejection?: true;
}
