// The page on a port of its own, for this machine alone. Looking is free; logs and terminals need a token, as on the kubelet's port.

import type { Log } from "../../../plugins/kit/log.ts";
import { type Peer, type RunningServer, serve, type Upgrade } from "../../../plugins/kit/platform/http-server.ts";
import { refuse } from "../../../cri/stream/refuse.ts";
import { Fault } from "../../../plugins/kit/fault.ts";
import type { Access } from "../access/access.ts";
import { refuseForeignPages } from "../access/origin.ts";
import { failed, statusOfError } from "../answers.ts";
import { bodyOf } from "../body.ts";
import type { AgentView } from "../contract.ts";
import { segments, unknown } from "../path.ts";
import type { MoreRoutes } from "../routes.ts";
import { sessionAt } from "../sessions.ts";
import { headersOf } from "../upgrade-headers.ts";
import type { PageRoutes } from "./routes.ts";

export interface PageServerOptions {
  readonly view: AgentView;
  readonly routes: PageRoutes;
  /** cAdvisor's API and metrics, which its users look for on this port. */
  readonly more?: MoreRoutes;
  /** Without an API server nobody can be known, and logs and terminals stay closed. */
  readonly access: Access | undefined;
  readonly port: number;
  readonly log: Log;
}

export function openPageServer(options: PageServerOptions): Promise<RunningServer> {
  const { view, routes, access, log } = options;
  const admit = async (method: string, path: string, headers: Headers, peer: Peer, signal: AbortSignal) => {
    if (!access) throw new Fault("unauthorized", "Unauthorized");
    return access.admit({ method, path, headers, peer }, { signal });
  };
  const acceptUpgrade = async (upgrade: Upgrade) => {
    const gone = new AbortController();
    upgrade.socket.on("error", () => gone.abort());
    upgrade.socket.once("close", () => gone.abort());
    try {
      const { request, peer } = upgrade;
      mustBeLocal(request.headers.host);
      refuseForeignPages(headersOf(upgrade), request.headers.host ?? "");
      const { pathname: path, searchParams: query } = new URL(`http://page${request.url ?? "/"}`);
      await admit(request.method ?? "GET", path, headersOf(upgrade), peer, gone.signal);
      const hold = sessionAt(view, segments(path), query);
      if (!hold) throw unknown();
      await hold(upgrade, { signal: gone.signal });
    } catch (error) {
      const { status, message } = statusOfError(error);
      refuse(upgrade, status, message);
    }
  };
  const cadvisorAnswer = async (request: Request, parts: readonly string[], query: URLSearchParams) => {
    const [first = "", second] = parts;
    const wanted = first === "api" ? parts : first === "metrics" && !second ? ["metrics", "cadvisor"] : undefined;
    const { method, signal, url } = request;
    if (!wanted || !["GET", "HEAD", "POST"].includes(method)) return undefined;
    const asked = { method, path: new URL(url).pathname, query, body: bodyOf(request), parts: wanted };
    return await options.more?.(asked, { signal });
  };
  return serve({
    async handler(request, peer) {
      try {
        const { pathname: path, searchParams: query, host } = new URL(request.url);
        mustBeLocal(request.headers.get("host") ?? host);
        refuseForeignPages(request.headers, request.headers.get("host") ?? host);
        const parts = segments(path);
        const found = await cadvisorAnswer(request, parts, query);
        if (found) return found;
        if (request.method !== "GET" && request.method !== "HEAD") throw unknown();
        const { method, headers, signal } = request;
        const user = routes.isOpen(parts) ? undefined : await admit(method, path, headers, peer, signal);
        const answered = routes.answer({ parts, query, ...(user ? { user } : {}) }, { signal });
        return (await answered) ?? failed(unknown());
      } catch (error) {
        return failed(error);
      }
    },
    upgrade: (upgrade) => void acceptUpgrade(upgrade),
    listen: { host: "127.0.0.1", port: options.port },
    onError: (error) => log.error({ err: error }, "a request to the page ended in an unexpected error"),
  });
}

/** A name that leads here from elsewhere is another page's trick on this machine's browser. */
function mustBeLocal(host: string | undefined): void {
  const name = (host ?? "").replace(/:\d+$/, "");
  if (!["127.0.0.1", "localhost", "[::1]"].includes(name)) throw new Fault("forbidden", `no page for host "${name}"`);
}
