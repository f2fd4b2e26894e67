// Status is how the API says what went wrong. Here every refusal gets upstream's reason, code, message and details.

import { Fault, type FaultCode, isFault } from "../../plugins/kit/base/fault.ts";
import type { FieldError } from "./field-error.ts";

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: "Status";
  apiVersion: "v1";
  metadata: Record<string, unknown>;
  status: "Success" | "Failure";
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

export function failure(code: number, reason: string, message: string, details?: StatusDetails): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(details ? { details } : {}),
    code,
  };
}

function fault(code: FaultCode, status: Status): Fault {
  return new Fault(code, status.message ?? "", { details: status });
}

/** `deployments.apps`, or the plural alone in the core group. */
function qualified({ group, plural }: GroupResource): string {
  return group === "" ? plural : `${plural}.${group}`;
}

function named({ group, plural }: GroupResource, name: string): StatusDetails {
  return { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }), kind: plural };
}

export const badRequest = (message: string): Fault => fault("invalid", failure(400, "BadRequest", message));

export const notFound = (resource: GroupResource, name: string): Fault =>
  fault(
    "not-found",
    failure(404, "NotFound", `${qualified(resource)} ${JSON.stringify(name)} not found`, named(resource, name)),
  );

export const unknownPath = (): Fault =>
  fault("not-found", failure(404, "NotFound", "the server could not find the requested resource", {}));

export const alreadyExists = (resource: GroupResource, name: string): Fault =>
  fault(
    "already-exists",
    failure(
      409,
      "AlreadyExists",
      `${qualified(resource)} ${JSON.stringify(name)} already exists`,
      named(resource, name),
    ),
  );

export const conflict = (resource: GroupResource, name: string, why: string, causes?: StatusCause[]): Fault =>
  fault(
    "conflict",
    failure(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${qualified(resource)} ${JSON.stringify(name)}: ${why}`,
      {
        ...named(resource, name),
        ...(causes ? { causes } : {}),
      },
    ),
  );

export const modifiedMeanwhile =
  "the object has been modified; please apply your changes to the latest version and try again";

export const forbiddenResource = (resource: GroupResource, name: string, why: string): Fault =>
  fault(
    "forbidden",
    failure(
      403,
      "Forbidden",
      name === ""
        ? `${qualified(resource)} is forbidden: ${why}`
        : `${qualified(resource)} ${JSON.stringify(name)} is forbidden: ${why}`,
      named(resource, name),
    ),
  );

export const forbiddenPath = (why: string): Fault =>
  fault("forbidden", failure(403, "Forbidden", `forbidden: ${why}`, {}));

export const methodNotAllowed = (): Fault =>
  fault(
    "unsupported",
    failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}),
  );

/** Clients that know this cause ask again, of whoever is further on by then. */
export const tooLargeVersion = (asked: number, current: number): Fault =>
  fault(
    "timeout",
    failure(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    }),
  );

export const tooLarge = (message: string): Fault => fault("invalid", failure(413, "RequestEntityTooLarge", message));

export const unsupportedMediaType = (accepted: readonly string[]): Fault =>
  fault(
    "unsupported",
    failure(
      415,
      "UnsupportedMediaType",
      `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
    ),
  );

export const notAcceptable = (accepted: readonly string[]): Fault =>
  fault(
    "unsupported",
    failure(406, "NotAcceptable", `only the following media types are accepted: ${accepted.join(", ")}`),
  );

export const notAcceptableType = (available: readonly string[]): Fault =>
  fault(
    "unsupported",
    failure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${available.join(", ")}`),
  );

export const tooManyRequests = (message: string, retryAfterSeconds: number, causes?: StatusCause[]): Fault =>
  fault("too-many", failure(429, "TooManyRequests", message, { retryAfterSeconds, ...(causes ? { causes } : {}) }));

/** The aggregate of field errors, as `Pod "x" is invalid: …`. */
export function invalidObject(
  { kind, ...definition }: { group: string; kind: string; storage?: { group: string } },
  name: string,
  errors: readonly FieldError[],
): Fault {
  // What two groups serve is called by the name of the one that stores it.
  const { group } = definition.storage ?? definition;
  const lines = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
  const text = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return fault(
    "invalid",
    failure(422, "Invalid", `${kind}${group === "" ? "" : `.${group}`} ${JSON.stringify(name)} is invalid: ${text}`, {
      ...(name === "" ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind,
      causes: errors.map((error) => ({ reason: error.type, message: error.message, field: error.field })),
    }),
  );
}

const byCode: Record<FaultCode, { code: number; reason: string }> = {
  "not-found": { code: 404, reason: "NotFound" },
  "already-exists": { code: 409, reason: "AlreadyExists" },
  conflict: { code: 409, reason: "Conflict" },
  expired: { code: 410, reason: "Expired" },
  invalid: { code: 400, reason: "BadRequest" },
  forbidden: { code: 403, reason: "Forbidden" },
  unauthorized: { code: 401, reason: "Unauthorized" },
  "too-many": { code: 429, reason: "TooManyRequests" },
  unsupported: { code: 405, reason: "MethodNotAllowed" },
  unavailable: { code: 503, reason: "ServiceUnavailable" },
  timeout: { code: 504, reason: "Timeout" },
  internal: { code: 500, reason: "InternalError" },
};

export function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
}

/** Rooms that know only what an error is about say so with the details alone. */
function isDetails(value: unknown): value is StatusDetails {
  return typeof value === "object" && value !== null && typeof (value as { kind?: unknown }).kind === "string";
}

/** What is told of any error: the Status it carries, one by its code, or an internal error without details. */
export function statusOf(error: unknown): Status {
  if (isFault(error)) {
    if (isStatus(error.details)) return error.details;
    const { code, reason } = byCode[error.code];
    if (error.code === "unauthorized") return failure(401, "Unauthorized", "Unauthorized");
    if (isDetails(error.details)) return failure(code, reason, error.message, error.details);
    return failure(
      code,
      reason,
      error.message,
      error.code === "too-many" || error.code === "unavailable" ? { retryAfterSeconds: 1 } : undefined,
    );
  }
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError"))
    return failure(504, "Timeout", "Timeout: request did not complete within the allotted timeout");
  return failure(500, "InternalError", "Internal error occurred: see the server's log");
}
