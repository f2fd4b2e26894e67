// Faults and gRPC status codes, both ways. Knows the numbers only, so that runtimes without gRPC do not load it.

import { Fault, type FaultCode, toFault } from "../../plugins/kit/base/fault.ts";

/** Indexed by gRPC status code; `undefined` is OK. */
const faultCodes: readonly (FaultCode | undefined)[] = [
  undefined, // OK
  "timeout", // CANCELLED: whoever stopped the call was the one to decide
  "internal", // UNKNOWN
  "invalid", // INVALID_ARGUMENT
  "timeout", // DEADLINE_EXCEEDED
  "not-found", // NOT_FOUND
  "already-exists", // ALREADY_EXISTS
  "forbidden", // PERMISSION_DENIED
  "too-many", // RESOURCE_EXHAUSTED
  "conflict", // FAILED_PRECONDITION
  "conflict", // ABORTED
  "invalid", // OUT_OF_RANGE
  "unsupported", // UNIMPLEMENTED
  "internal", // INTERNAL
  "unavailable", // UNAVAILABLE
  "internal", // DATA_LOSS
  "unauthorized", // UNAUTHENTICATED
];

const statusCodes: Record<FaultCode, number> = {
  invalid: 3,
  timeout: 4,
  "not-found": 5,
  "already-exists": 6,
  forbidden: 7,
  "too-many": 8,
  conflict: 9,
  expired: 9,
  unsupported: 12,
  internal: 13,
  unavailable: 14,
  unauthorized: 16,
};

export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

/** The Fault for what a gRPC call threw; anything that is not a gRPC status is wrapped as `internal`. */
export function faultFromGrpc(error: unknown, doing: string): Fault {
  if (error instanceof Fault) return error;
  const { code, details } = error as Partial<GrpcStatus>;
  const faultCode = typeof code === "number" ? faultCodes[code] : undefined;
  if (!faultCode) return toFault(error, doing);
  // A connection that broke while it was written to is INTERNAL to the client's library, which has no other word for it.
  if (faultCode === "internal" && /internal client error: .*\b(EPIPE|ECONNRESET|ECONNREFUSED)\b/.test(details ?? ""))
    return new Fault("unavailable", `${doing}: ${details}`, { cause: error });
  return new Fault(faultCode, `${doing}: ${details || "no reason given"}`, { cause: error });
}

/** The gRPC status that tells a Fault; anything else becomes INTERNAL. */
export function grpcFromFault(error: unknown): GrpcStatus {
  const fault = toFault(error, "call failed");
  return { code: statusCodes[fault.code], details: fault.message };
}
