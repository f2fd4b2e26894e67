// The page on a port of its own, for this machine alone. Its files are open; everything that they show needs a token, as on the kubelet's
// port: other users of the machine, and pods in its network, see nothing.

import type { Log } from "../../../plugins/kit/base/log.ts";
import { type Peer, type RunningServer, serve, type Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { refuse } from "../../../cri/stream/refuse.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Access } from "../access/access.ts";
import { failed, statusOfError } from "../answers.ts";
import { bodyOf } from "../body.ts";
import type { AgentView } from "../contract.ts";
import { segments, unknown } from "../path.ts";
import type { MoreRoutes } from "../routes.ts";
import { sessionAt } from "../sessions.ts";
import { headersOf } from "../upgrade-headers.ts";
import type { LocalToken } from "./local-token.ts";
import type { PageRoutes } from "./routes.ts";

export interface PageServerOptions {
  readonly view: AgentView;
  readonly routes: PageRoutes;
  /** cAdvisor's API and metrics, which its users look for on this port. */
  readonly more?: MoreRoutes;
  /** Who may; on a node without an API server, who has its own token. */
  readonly access: Access | LocalToken;
  readonly port: number;
  readonly log: Log;
}

export function openPageServer(options: PageServerOptions): Promise<RunningServer> {
  const { view, routes, access, log } = options;
  const admit = async (method: string, path: string, headers: Headers, peer: Peer, signal: AbortSignal) => {
    if ("admit" in access) return access.admit({ method, path, headers, peer }, { signal });
    const user = access.userOf(headers);
    if (!user) throw new Fault("unauthorized", "Unauthorized");
    return user;
  };
  const acceptUpgrade = async (upgrade: Upgrade) => {
    const gone = new AbortController();
    upgrade.socket.on("error", () => gone.abort());
    upgrade.socket.once("close", () => gone.abort());
    try {
      const { request, peer } = upgrade;
      mustBeOwn(headersOf(upgrade), request.headers.host ?? "");
      const { pathname: path, searchParams: query } = new URL(`http://page${request.url ?? "/"}`);
      // A WebSocket begins as a GET, but exec, attach and port-forward do more than read.
      await admit("POST", path, headersOf(upgrade), peer, gone.signal);
      const hold = sessionAt(view, segments(path), query);
      if (!hold) throw unknown();
      await hold(upgrade, { signal: gone.signal });
    } catch (error) {
      const { status, message } = statusOfError(error);
      refuse(upgrade, status, message);
    }
  };
  const cadvisorAnswer = async (request: Request, parts: readonly string[], query: URLSearchParams, peer: Peer) => {
    const [first = "", second] = parts;
    const wanted = first === "api" ? parts : first === "metrics" && !second ? ["metrics", "cadvisor"] : undefined;
    const { method, signal, url } = request;
    if (!wanted || !["GET", "HEAD", "POST"].includes(method)) return undefined;
    const path = new URL(url).pathname;
    await admit(method, path, request.headers, peer, signal);
    const asked = { method, path, query, body: bodyOf(request), parts: wanted };
    return await options.more?.(asked, { signal });
  };
  return serve({
    async handler(request, peer) {
      try {
        const { pathname: path, searchParams: query, host } = new URL(request.url);
        mustBeOwn(request.headers, request.headers.get("host") ?? host);
        const parts = segments(path);
        const found = await cadvisorAnswer(request, parts, query, peer);
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

/**
 * Refuses what a page of another site makes this machine's browser ask: by a host name that resolves to 127.0.0.1 (DNS rebinding), or
 * from another origin. Nothing stands before this port, so that no forwarding header excuses a foreign origin.
 */
function mustBeOwn(headers: Headers, host: string): void {
  const name = host.replace(/:\d+$/, "");
  if (!["127.0.0.1", "localhost", "[::1]"].includes(name)) throw new Fault("forbidden", `no page for host "${name}"`);
  const origin = headers.get("origin");
  if (origin !== null && origin !== `http://${host}`)
    throw new Fault("forbidden", `a page of ${JSON.stringify(origin.slice(0, 100))} may not ask here`);
}
