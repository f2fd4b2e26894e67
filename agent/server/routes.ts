// Which path of the kubelet's API leads where. Everything behind it has been admitted already.

import type { UserInfo } from "../../plugins/kit/admission.ts";
import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import type { Log } from "../../plugins/kit/log.ts";
import { json, text } from "./answers.ts";
import { containerLogs } from "./container-logs.ts";
import type { AgentView } from "./contract.ts";
import { health } from "./health.ts";
import { setVerbosity } from "./log-level.ts";
import { nodeFiles } from "./node-files.ts";
import { nodeLogQuery } from "./node-log-query.ts";
import { containerIn, segments, unknown } from "./path.ts";
import { podList, runningPods } from "./pods.ts";
import { profile } from "./profiles.ts";
import { runCommand } from "./run-command.ts";
import type { PageRoutes } from "./ui/routes.ts";

export interface KubeletRequest {
  readonly method: string;
  /** Normal: no dot segments. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Who was admitted; nobody on ports that ask for no credentials. */
  readonly user?: UserInfo;
  /** What a POST carries, bounded; may be asked for again. */
  readonly body: () => Promise<string>;
}

export interface MoreRequest extends KubeletRequest {
  readonly parts: readonly string[];
}

/** Answers below its own first segments; undefined for a path or method that it does not know. */
export type MoreRoutes = (request: MoreRequest, call: Call) => Promise<Response> | undefined;

export interface RouteParts {
  readonly view: AgentView;
  readonly clock: Clock;
  readonly log?: Log;
  /** Stats and metrics. */
  readonly more?: MoreRoutes;
  readonly page?: PageRoutes;
}

type Route = (
  parts: readonly string[],
  request: KubeletRequest,
  from: RouteParts,
  call: Call,
) => Response | Promise<Response>;

const needsUpgrade: Route = () => text("Upgrade request required\n", 400);

const reads: Readonly<Record<string, Route>> = {
  healthz: ([part = ""], _request, { view }) => health(view, part),
  pods: (_parts, _request, { view }) => json(podList(view)),
  runningpods: (_parts, _request, { view }) => json(runningPods(view)),
  containerLogs: (parts, { query }, { view, clock }, call) => containerLogs(view, parts, query, clock, call),
  logs: (parts, { query }, { view }, call) =>
    query.has("query") && parts.every((part) => part === "")
      ? nodeLogQuery(view.nodeLogDir, query, call)
      : nodeFiles(view.nodeLogDir, parts),
  configz: (_parts, _request, { view }) => json({ kubeletconfig: view.configz() }),
  debug: ([what, name = ""], { query }, { clock }, call) => {
    if (what !== "pprof") throw unknown();
    return profile(name, query, clock, call);
  },
  ui(parts, request, { page }, call) {
    // Relative links of the page need the slash.
    if (parts.length === 0) return new Response(null, { status: 301, headers: { location: `${request.path}/` } });
    const found = page?.answer({ ...request, parts }, call);
    if (!found) throw unknown();
    return found;
  },
  exec: needsUpgrade,
  attach: needsUpgrade,
  portForward: needsUpgrade,
};

const puts: Readonly<Record<string, Route>> = {
  debug([what, name, ...rest], { body }, { log }) {
    if (what !== "flags" || name !== "v" || rest.length > 0) throw unknown();
    return setVerbosity(log, body);
  },
};

const writes: Readonly<Record<string, Route>> = {
  run: (parts, { query }, { view }, call) => runCommand(view, parts, query, call),
  async checkpoint(parts, { query }, { view }, call) {
    const seconds = Number(query.get("timeout") ?? 0);
    if (!Number.isInteger(seconds) || seconds < 0) throw new Fault("invalid", "timeout is a number of seconds");
    return json({ items: [await view.checkpoint(containerIn(parts), seconds, call)] });
  },
  exec: needsUpgrade,
  attach: needsUpgrade,
  portForward: needsUpgrade,
};

const byMethod: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
  GET: reads,
  HEAD: reads,
  POST: writes,
  PUT: puts,
};

export async function answer(request: KubeletRequest, from: RouteParts, call: Call): Promise<Response> {
  const [first = "", ...rest] = segments(request.path);
  const routes = Object.hasOwn(byMethod, request.method) ? byMethod[request.method] : undefined;
  if (!routes) throw new Fault("unsupported", `method ${request.method} is not allowed`);
  const route = Object.hasOwn(routes, first) ? routes[first] : undefined;
  if (route) return route(rest, request, from, call);
  if (routes === puts) throw unknown();
  const more = from.more?.({ ...request, parts: [first, ...rest] }, call);
  if (!more) throw unknown();
  return more;
}
