// Faults that already know their answer: the Status object that the API sends travels in the details.

import { Fault, type FaultCode } from "../base/fault.ts";

export interface StatusFacts {
  /** HTTP code and reason, such as 403 and `Forbidden`. */
  readonly code: number;
  readonly reason: string;
  readonly details?: {
    name?: string;
    group?: string;
    kind?: string;
    causes?: { reason?: string; message?: string; field?: string }[];
    retryAfterSeconds?: number;
  };
}

export function statusFault(code: FaultCode, message: string, facts: StatusFacts): Fault {
  const { details } = facts;
  return new Fault(code, message, {
    details: {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: facts.reason,
      ...(details ? { details } : {}),
      code: facts.code,
    },
  });
}

export const badRequest = (message: string): Fault =>
  statusFault("invalid", message, { code: 400, reason: "BadRequest" });
