// The kubelet's HTTP API on its port, behind TLS, and its health on loopback.

import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { type Peer, type RunningServer, serve, type Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { refuse } from "../../cri/stream/refuse.ts";
import { Access } from "./access/access.ts";
import { refuseForeignPages } from "./access/origin.ts";
import { failed, statusOfError } from "./answers.ts";
import type { AgentView } from "./contract.ts";
import { health } from "./health.ts";
import { segments, unknown } from "./path.ts";
import { kubeletApi, type MoreRoutes, type RouteParts } from "./routes.ts";
import { sessionAt } from "./sessions.ts";
import type { AgentMeters } from "../runtime/agent-meters.ts";
import { methodLabel, pathLabel } from "./request-labels.ts";
import type { PageRoutes } from "./ui/routes.ts";
import { headersOf } from "./upgrade-headers.ts";

interface KubeletTls {
  readonly cert: string;
  readonly key: string;
  /** The authority whose client certificates are believed. */
  readonly clientCa: string;
}

export interface KubeletServerOptions {
  readonly view: AgentView;
  readonly client: ApiClient;
  readonly listen: { readonly host: string; readonly port: number };
  /** Asked again from time to time, so that a renewed certificate is used without a restart. */
  readonly tls: () => KubeletTls;
  /** Calls back when `tls` has a new answer; returns what ends it. */
  readonly onRenewed?: (then: () => void) => () => void;
  readonly more?: MoreRoutes;
  readonly meters?: AgentMeters;
  /** The page, below `/ui/`. */
  readonly page?: PageRoutes;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KubeletServer {
  readonly port: number;
  close(): Promise<void>;
}

const certificateLookMs = 60 * 60_000;
const graceMs = 1_000;

export async function openKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { view, clock, log, more, page, meters } = options;
  const access = new Access({ nodeName: view.nodeName, client: options.client, clock });
  const parts: RouteParts = { view, clock, log, ...(more ? { more } : {}), ...(page ? { page } : {}) };
  const handler = async (request: Request, peer: Peer): Promise<Response> => {
    const startedAt = clock.monotonic();
    try {
      const { pathname: path, host } = new URL(request.url);
      const { method, headers, signal } = request;
      refuseForeignPages(headers, headers.get("host") ?? host);
      const user = await access.admit({ method, path, headers, peer }, { signal });
      return await kubeletApi.fetch(request, { ...parts, user });
    } catch (error) {
      return failed(error);
    } finally {
      const labels = { method: methodLabel(request.method), path: pathLabel(request.url), server_type: "readwrite" };
      meters?.httpRequests.add({ ...labels, long_running: "false" });
      meters?.httpSeconds.observe({ ...labels, long_running: "false" }, (clock.monotonic() - startedAt) / 1000);
    }
  };
  let tls = options.tls();
  const server = await serve({
    handler,
    upgrade: (upgrade) => void acceptUpgrade(upgrade, view, access),
    listen: options.listen,
    portFlag: "kubelet-port",
    tls,
    onError: (error) => log.error({ err: error }, "a request to the kubelet's API ended in an unexpected error"),
  });
  const renew = () => {
    const next = options.tls();
    if (next.cert !== tls.cert || next.clientCa !== tls.clientCa) {
      tls = next;
      server.setCertificate(tls);
      log.info({}, "the kubelet's API uses a renewed certificate");
    }
    cancel = clock.after(certificateLookMs, renew);
  };
  let cancel = clock.after(certificateLookMs, renew);
  const stopListening = options.onRenewed?.(() => {
    cancel();
    renew();
  });
  return {
    port: server.port,
    async close() {
      stopListening?.();
      cancel();
      await server.close(graceMs);
    },
  };
}

async function acceptUpgrade(upgrade: Upgrade, view: AgentView, access: Access): Promise<void> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  upgrade.socket.on("error", leave);
  upgrade.socket.once("close", leave);
  try {
    const { request, peer } = upgrade;
    const target = request.url ?? "/";
    if (!target.startsWith("/")) throw unknown();
    const { pathname: path, searchParams: query } = new URL(`http://kubelet${target}`);
    const method = request.method ?? "GET";
    const headers = headersOf(upgrade);
    refuseForeignPages(headers, headers.get("host") ?? "");
    await access.admit({ method, path, headers, peer, isUpgrade: true }, { signal: gone.signal });
    const [first = "", ...rest] = segments(path);
    const hold = sessionAt(view, first === "ui" ? rest : [first, ...rest], query);
    if (!hold) throw unknown();
    await hold(upgrade, { signal: gone.signal });
  } catch (error) {
    const { status, message } = statusOfError(error);
    refuse(upgrade, status, message);
  }
}

/** Health alone, for whoever is on this machine. */
export function openHealthServer(view: AgentView, port: number): Promise<RunningServer> {
  return serve({
    handler(request) {
      try {
        const [first, part = ""] = segments(new URL(request.url).pathname);
        if (first !== "healthz") throw unknown();
        return health(view, part);
      } catch (error) {
        return failed(error);
      }
    },
    listen: { host: "127.0.0.1", port },
    portFlag: "healthz-port",
  });
}
