// Fault is the one error that crosses rooms: a code to branch on and a sentence for a person.

const codes = [
  "not-found",
  "already-exists",
  "conflict",
  "expired",
  "invalid",
  "forbidden",
  "unauthorized",
  "too-many",
  "unsupported",
  "unavailable",
  "timeout",
  "internal",
] as const;

export type FaultCode = (typeof codes)[number];

export interface FaultOptions {
  cause?: unknown;
  /** Structured facts for whoever branches further, such as Status details. Never needed to understand the message. */
  details?: unknown;
}

export class Fault extends Error {
  readonly code: FaultCode;
  readonly details: unknown;

  constructor(code: FaultCode, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    this.details = options.details;
  }

  /** By shape as well as by class: a user's plugin has another copy of this file, or none. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    // What extends it means its own class alone.
    if (this !== Fault || !(value instanceof Error) || value.name !== "Fault") return false;
    return codes.includes((value as { code?: unknown }).code as FaultCode);
  }
}

/** True when the value is a Fault, of one of the wanted codes if any are given. */
export function isFault(value: unknown, ...wanted: FaultCode[]): value is Fault {
  return value instanceof Fault && (wanted.length === 0 || wanted.includes(value.code));
}

/** Returns the value if it is a Fault, and wraps anything else; an abort becomes `timeout`. */
export function toFault(value: unknown, doing: string, code: FaultCode = "internal"): Fault {
  if (value instanceof Fault) return value;
  const error = value instanceof Error ? value : new Error(String(value));
  const isAbort = error.name === "AbortError" || error.name === "TimeoutError";
  return new Fault(isAbort ? "timeout" : code, `${doing}: ${error.message}`, { cause: error });
}
