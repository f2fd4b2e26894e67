// The read-only port: what anyone who reaches the node may see without credentials. Off unless it is asked for.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { type RunningServer, serve } from "../../plugins/kit/os/platform/http-server.ts";
import { failed } from "./answers.ts";
import type { AgentView } from "./contract.ts";
import { segments, unknown } from "./path.ts";
import { kubeletApi, type MoreRoutes } from "./routes.ts";

const open = new Set(["healthz", "pods", "spec", "stats", "metrics"]);

export interface ReadOnlyOptions {
  readonly view: AgentView;
  readonly more?: MoreRoutes;
  readonly listen: { readonly host: string; readonly port: number };
  readonly clock: Clock;
}

export function openReadOnlyServer({ view, more, listen, clock }: ReadOnlyOptions): Promise<RunningServer> {
  return serve({
    async handler(request) {
      try {
        const { method } = request;
        const [first = ""] = segments(new URL(request.url).pathname);
        if (!open.has(first) || (method !== "GET" && method !== "HEAD")) throw unknown();
        return await kubeletApi.fetch(request, { view, clock, ...(more ? { more } : {}) });
      } catch (error) {
        return failed(error);
      }
    },
    listen,
    portFlag: "read-only-port",
  });
}
