// How a session's end is told on its error channel: a Kubernetes Status object, with the exit code as a cause.

import { Fault, type FaultCode } from "../../plugins/kit/base/fault.ts";

export type Outcome = { readonly exitCode: number } | Fault;

interface Status {
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: { causes?: { reason?: string; message?: string }[] };
}

const reasons: Partial<Record<FaultCode, { reason: string; code: number }>> = {
  "not-found": { reason: "NotFound", code: 404 },
  invalid: { reason: "BadRequest", code: 400 },
  forbidden: { reason: "Forbidden", code: 403 },
  timeout: { reason: "Timeout", code: 504 },
  unavailable: { reason: "ServiceUnavailable", code: 503 },
  conflict: { reason: "Conflict", code: 409 },
};

const codesByStatus: Readonly<Record<number, FaultCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  405: "unsupported",
  409: "conflict",
  410: "expired",
  429: "too-many",
  502: "unavailable",
  503: "unavailable",
  504: "timeout",
};

function statusOf(outcome: Outcome): object {
  if (outcome instanceof Fault) {
    const { reason, code } = reasons[outcome.code] ?? { reason: "InternalError", code: 500 };
    return { metadata: {}, status: "Failure", message: outcome.message, reason, code };
  }
  if (outcome.exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: ${outcome.exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(outcome.exitCode) }] },
  };
}

/** What goes on the error channel; protocols without a status say nothing but a failure's words. */
export function outcomeText(outcome: Outcome, { hasStatus }: { readonly hasStatus: boolean }): string {
  if (hasStatus) return JSON.stringify(statusOf(outcome));
  if (outcome instanceof Fault) return outcome.message;
  return outcome.exitCode === 0 ? "" : `command terminated with exit code ${outcome.exitCode}`;
}

/** What the text on an error channel means: a Status object, or the bare words of an old peer; empty is success. */
export function outcomeOf(text: string): Outcome {
  if (text === "") return { exitCode: 0 };
  const status = statusIn(text);
  if (!status) return exitCodeInWords(text) ?? new Fault("internal", text);
  if (status.status === "Success") return { exitCode: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const exitCode = Number(cause?.message);
  if (cause && Number.isInteger(exitCode)) return { exitCode };
  return new Fault(codesByStatus[status.code ?? 500] ?? "internal", status.message ?? "the session failed");
}

/** The Fault for an answer that refused an upgrade. */
export function faultOfResponse(statusCode: number, body: string, doing: string): Fault {
  const message = statusIn(body)?.message ?? (body.trim() || `HTTP status ${statusCode}`);
  return new Fault(codesByStatus[statusCode] ?? "internal", `${doing}: ${message}`);
}

function statusIn(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "status" in value ? (value as Status) : undefined;
  } catch {
    return undefined;
  }
}

/** Protocols before v4 had nothing but a sentence. */
function exitCodeInWords(text: string): Outcome | undefined {
  const match = /exit (?:code|status):? (\d+)/.exec(text);
  return match ? { exitCode: Number(match[1]) } : undefined;
}
