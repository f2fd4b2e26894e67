// What a driver's refusal to let a volume grow means for further attempts, as the Container Storage Interface defines its codes.

import { toFault } from "../../kit/base/fault.ts";
import type { ExpandOutcome } from "../../kit/contracts/volume.ts";

/** By gRPC status code. What is not named here is final: the volume was not touched, and another attempt may go better. */
const meanings: Readonly<Record<number, Exclude<ExpandOutcome["outcome"], "grown">>> = {
  1: "uncertain", // CANCELLED
  3: "infeasible", // INVALID_ARGUMENT
  4: "uncertain", // DEADLINE_EXCEEDED
  5: "infeasible", // NOT_FOUND
  8: "uncertain", // RESOURCE_EXHAUSTED
  9: "in-use", // FAILED_PRECONDITION
  10: "uncertain", // ABORTED: another operation on the volume is under way
  11: "infeasible", // OUT_OF_RANGE
  14: "uncertain", // UNAVAILABLE
};

export function outcomeOf(error: unknown): ExpandOutcome {
  const { message, cause } = toFault(error, "Cannot let the volume grow");
  const { code } = (cause ?? {}) as { code?: unknown };
  // Without a status the driver was never asked, or its answer is not known.
  if (typeof code !== "number") return { outcome: "uncertain", message };
  return { outcome: meanings[code] ?? "failed", message };
}
