// The query of a log request, checked as upstream checks it.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { isTrue } from "../../../plugins/kit/base/query-flag.ts";
import { nanosecondsOf } from "./log-line.ts";
import type { LogRequest } from "./read-log.ts";

export interface LogQuery extends LogRequest {
  readonly previous: boolean;
}

export function logQuery(query: URLSearchParams, nowMs: number): LogQuery {
  const sinceSeconds = whole(query, "sinceSeconds", 1);
  const sinceTime = query.get("sinceTime") || undefined;
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    throw wrong("at most one of `sinceTime` or `sinceSeconds` may be specified");
  const tailLines = whole(query, "tailLines", 0);
  const limitBytes = whole(query, "limitBytes", 1);
  const since =
    sinceSeconds !== undefined
      ? BigInt(Math.round(nowMs) - sinceSeconds * 1000) * 1_000_000n
      : sinceTime !== undefined
        ? timeIn(sinceTime)
        : undefined;
  const stream = streamIn(query.get("stream"));
  return {
    follow: isTrue(query.get("follow")),
    previous: isTrue(query.get("previous")),
    timestamps: isTrue(query.get("timestamps")),
    ...(since === undefined ? {} : { since }),
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(stream === undefined ? {} : { stream }),
  };
}

function streamIn(text: string | null): "stdout" | "stderr" | undefined {
  if (text === null || text === "" || text === "All") return undefined;
  if (text === "Stdout") return "stdout";
  if (text === "Stderr") return "stderr";
  throw wrong(`unsupported stream ${JSON.stringify(text)}: All, Stdout and Stderr are known`);
}

function timeIn(text: string): bigint {
  const time = nanosecondsOf(text);
  if (time === undefined) throw wrong(`sinceTime ${JSON.stringify(text)} is no RFC 3339 time`);
  return time;
}

function whole(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least)
    throw wrong(`${name} must be a whole number of at least ${least}, got ${JSON.stringify(text)}`);
  return value;
}

const wrong = (message: string) => new Fault("invalid", message);
