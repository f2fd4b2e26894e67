// Between Kubernetes Status answers and Faults.

import { Fault, type FaultCode } from "../../base/fault.ts";

/** A Status object as the API server sends it for a failure. */
export interface Status {
  kind?: string;
  status?: string;
  message?: string;
  reason?: string;
  code?: number;
  details?: {
    name?: string;
    group?: string;
    kind?: string;
    uid?: string;
    causes?: { reason?: string; message?: string; field?: string }[];
    retryAfterSeconds?: number;
  };
}

const codesByHttpStatus: Readonly<Record<number, FaultCode>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  405: "unsupported",
  406: "unsupported",
  408: "timeout",
  409: "conflict",
  410: "expired",
  413: "invalid",
  415: "unsupported",
  422: "invalid",
  429: "too-many",
  501: "unsupported",
  502: "unavailable",
  503: "unavailable",
  504: "timeout",
};

/** The Fault for an answer that is no success; its `details` are the Status. */
export function faultOf(httpStatus: number, status: Status, doing: string): Fault {
  const code = status.reason === "AlreadyExists" ? "already-exists" : (codesByHttpStatus[httpStatus] ?? "internal");
  return new Fault(code, status.message || `${doing}: the server answered ${httpStatus}`, {
    details: { kind: "Status", status: "Failure", code: httpStatus, ...status },
  });
}

// An error page longer than this says nothing more.
const longestErrorBody = 64 * 1024;

/** Reads a failed answer as far as it makes sense and turns it into a Fault. */
export async function faultOfResponse(response: Response, doing: string): Promise<Fault> {
  const text = await readStart(response);
  return faultOf(response.status, parseStatus(text), doing);
}

function parseStatus(text: string): Status {
  try {
    const parsed = JSON.parse(text) as Status | null;
    if (parsed?.kind === "Status") return parsed;
  } catch {
    // Not JSON: a proxy's page or plain text, which is the message then.
  }
  return text === "" ? {} : { message: text.slice(0, 500).trim() };
}

async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > longestErrorBody) break;
    }
  } catch {
    // The status line is what counts; the rest of a broken body adds nothing.
  }
  return Buffer.concat(chunks).toString("utf8");
}
