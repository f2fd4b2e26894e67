// `/containerLogs/{namespace}/{pod}/{container}`: from a request to the right generation's file.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { streamed } from "./answers.ts";
import type { AgentView } from "./contract.ts";
import { logQuery } from "./logs/log-query.ts";
import { readLog } from "./logs/read-log.ts";
import { containerIn } from "./path.ts";

export function containerLogs(
  view: AgentView,
  parts: readonly string[],
  query: URLSearchParams,
  clock: Clock,
  call: Call,
): Response {
  const address = containerIn(parts);
  const asked = logQuery(query, clock.now());
  const { pod, container, previous } = view.container(address);
  const chosen = asked.previous ? previous : container;
  if (!chosen)
    throw new Fault(
      "invalid",
      `previous terminated container "${address.container}" in pod "${address.pod}" not found`,
    );
  if (chosen.logPath === "") throw new Fault("not-found", `container "${address.container}" keeps no log`);
  const isAlive = () => {
    const observed = view.observed().find(({ uid }) => uid === pod.metadata.uid);
    const state = observed?.containers.find(({ id }) => id === chosen.id)?.state;
    return state === "running" || state === "created";
  };
  const left = new AbortController();
  const signal = AbortSignal.any([call.signal, left.signal]);
  const pieces = readLog({ path: chosen.logPath, isAlive }, asked, clock, { signal });
  return streamed(pieces, () => left.abort());
}
