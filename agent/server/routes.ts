// Which path of the kubelet's API leads where. Everything behind it has been admitted already.

import { type Context as HonoContext, Hono } from "hono";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { json, text } from "./answers.ts";
import { bodyOf } from "./body.ts";
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

interface KubeletRequest {
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

/** What comes with a request that was admitted. */
export interface Admitted extends RouteParts {
  /** Nobody on ports that ask for no credentials. */
  readonly user?: UserInfo;
}

type Context = HonoContext<{ Bindings: Admitted }>;

/** `/debug/flags/v` and its like are found with a slash at their end, too, as upstream's router has it. */
export const kubeletApi = new Hono<{ Bindings: Admitted }>({ strict: false });

kubeletApi.get("/healthz/:part?", (c) => health(c.env.view, c.req.param("part") ?? ""));
kubeletApi.get("/pods", (c) => json(podList(c.env.view)));
kubeletApi.get("/runningpods", (c) => json(runningPods(c.env.view)));
kubeletApi.get("/containerLogs/*", (c) => containerLogs(c.env.view, below(c, 1), queryOf(c), c.env.clock, callOf(c)));
kubeletApi.get("/logs/*", (c) => {
  const [parts, query] = [below(c, 1), queryOf(c)];
  const isQuery = query.has("query") && parts.every((part) => part === "");
  return isQuery ? nodeLogQuery(c.env.view.nodeLogDir, query, callOf(c)) : nodeFiles(c.env.view.nodeLogDir, parts);
});
kubeletApi.get("/configz", (c) => json({ kubeletconfig: c.env.view.configz() }));
kubeletApi.get("/debug/pprof/:name?", (c) => profile(c.req.param("name") ?? "", queryOf(c), c.env.clock, callOf(c)));
kubeletApi.put("/debug/flags/v", (c) => setVerbosity(c.env.log, bodyOf(c.req.raw)));
kubeletApi.get("/ui/*", async (c) => {
  const parts = below(c, 1);
  // Relative links of the page need the slash.
  if (parts.length === 0) return new Response(null, { status: 301, headers: { location: `${pathOf(c)}/` } });
  return (await c.env.page?.answer({ ...requestOf(c), parts }, callOf(c))) ?? refuse();
});
kubeletApi.post("/run/*", (c) => runCommand(c.env.view, below(c, 1), queryOf(c), callOf(c)));
kubeletApi.post("/checkpoint/*", async (c) => {
  const seconds = Number(queryOf(c).get("timeout") ?? 0);
  if (!Number.isInteger(seconds) || seconds < 0) throw new Fault("invalid", "timeout is a number of seconds");
  return json({ items: [await c.env.view.checkpoint(containerIn(below(c, 1)), seconds, callOf(c))] });
});
kubeletApi.on(["GET", "POST"], ["/exec/*", "/attach/*", "/portForward/*"], () =>
  text("Upgrade request required\n", 400),
);
kubeletApi.on(["GET", "POST"], "*", async (c) => {
  const parts = segments(pathOf(c));
  return (await c.env.more?.({ ...requestOf(c), parts }, callOf(c))) ?? refuse();
});
kubeletApi.notFound((c) => {
  if (c.req.method === "PUT") throw unknown();
  throw new Fault("unsupported", `method ${c.req.method} is not allowed`);
});
// Whoever serves it tells all errors alike.
kubeletApi.onError((error) => {
  throw error;
});

/** Normal: no dot segments. */
const pathOf = (c: Context): string => new URL(c.req.url).pathname;
const queryOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams;
const callOf = (c: Context): Call => c.req.raw;
/** The segments that follow the first so many. */
const below = (c: Context, count: number): string[] => segments(pathOf(c)).slice(count);
const refuse = (): never => {
  throw unknown();
};

function requestOf(c: Context): KubeletRequest {
  const { user } = c.env;
  const common = { method: c.req.method, path: pathOf(c), query: queryOf(c), body: bodyOf(c.req.raw) };
  return { ...common, ...(user ? { user } : {}) };
}
