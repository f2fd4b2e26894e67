// What the daemon's refusals and a lost connection mean, in Fault's words.

import { Fault, type FaultCode, toFault } from "../../../plugins/kit/base/fault.ts";

const codes: Readonly<Record<number, FaultCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  409: "conflict",
  501: "unsupported",
  503: "unavailable",
};

/** The daemon answers a refusal with `{ "message": … }`. */
export function faultOf(status: number, text: string): Fault {
  let message = text.trim();
  try {
    message = (JSON.parse(text) as { message?: string }).message ?? message;
  } catch {
    // A proxy's own words, or none: told as they are.
  }
  const isTaken = status === 409 && /already in use by container/.test(message);
  return new Fault(isTaken ? "already-exists" : (codes[status] ?? "internal"), `Docker: ${message || status}`);
}

export function connectionFault(error: NodeJS.ErrnoException, socketPath: string): Fault {
  if (error.code === "ECONNREFUSED" || error.code === "ENOENT") {
    return new Fault("unavailable", `Cannot reach Docker at ${socketPath}: nothing listens there`, { cause: error });
  }
  return toFault(error, `Docker at ${socketPath}`, "unavailable");
}
