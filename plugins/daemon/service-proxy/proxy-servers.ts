// The two ports on which kube-proxy is known: health for load balancers, on every address, and metrics on loopback. Where another
// program has one of them (kube-proxy itself, or a second agent on this host) it is left to it until it is free.

import { once } from "node:events";
import http from "node:http";
import type { Clock } from "../../kit/base/clock.ts";
import type { Log } from "../../kit/base/log.ts";
import type { ProxyHealth } from "./proxy-health.ts";
import type { ProxyMeters } from "./proxy-meters.ts";

export interface ProxyPorts {
  /** 0 is off, here and below. */
  readonly healthzPort: number;
  readonly metricsPort: number;
}

export interface ProxyServersOptions extends ProxyPorts {
  readonly health: ProxyHealth;
  readonly meters: ProxyMeters;
  readonly clock: Clock;
  readonly log: Log;
}

interface Place {
  readonly flag: string;
  /** Everywhere when absent. */
  readonly host?: string;
  readonly port: number;
  answer(path: string): Answer | undefined;
}

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

const againMs = 30_000;

export class ProxyServers {
  readonly #options: ProxyServersOptions;
  readonly #open = new Map<Place, http.Server>();
  readonly #told = new Set<Place>();
  readonly #places: readonly Place[];
  #lookFrom = 0;

  constructor(options: ProxyServersOptions) {
    this.#options = options;
    const { healthzPort, metricsPort } = options;
    this.#places = [
      { flag: "proxy-healthz-port", port: healthzPort, answer: (path: string) => this.#health(path) },
      { flag: "proxy-metrics-port", host: "127.0.0.1", port: metricsPort, answer: (path: string) => this.#meter(path) },
    ].filter(({ port }) => port > 0);
  }

  /** Opens what is not open; what could not be is tried again half a minute later at the earliest. */
  async open(): Promise<void> {
    const { clock, log } = this.#options;
    if (this.#open.size === this.#places.length || clock.monotonic() < this.#lookFrom) return;
    this.#lookFrom = clock.monotonic() + againMs;
    for (const place of this.#places) {
      if (this.#open.has(place)) continue;
      try {
        this.#open.set(place, await listen(place));
      } catch (error) {
        const { port, flag } = place;
        if (!this.#told.has(place))
          log.warn({ err: error, port }, `the service proxy does without a port (--${flag} moves it, 0 turns it off)`);
        this.#told.add(place);
      }
    }
  }

  async close(): Promise<void> {
    const servers = [...this.#open.values()];
    this.#open.clear();
    this.#lookFrom = 0;
    for (const server of servers) {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    }
  }

  #health(path: string): Answer | undefined {
    if (path !== "/healthz" && path !== "/livez") return undefined;
    const { health, meters } = this.#options;
    const probe = path === "/healthz" ? "healthz" : "livez";
    const answer = health[probe]();
    meters.probed(probe, answer.status);
    return { ...answer, type: "application/json" };
  }

  #meter(path: string): Answer | undefined {
    if (path === "/metrics")
      return { type: "text/plain; version=0.0.4; charset=utf-8", body: this.#options.meters.text() };
    if (path === "/proxyMode") return { body: "nftables" };
    if (path === "/healthz" || path === "/healthz/ping") return { body: "ok" };
    return undefined;
  }
}

/** Without the server of the other rooms: it refuses what has no Host, and probes of load balancers are as old as HTTP/1.0. */
async function listen(place: Place): Promise<http.Server> {
  const server = http.createServer(({ method, url = "" }, response) => {
    const isAsked = method === "GET" || method === "HEAD";
    const refusal = isAsked
      ? { status: 404, body: "404 page not found\n" }
      : { status: 405, body: "method not allowed\n" };
    const answer = (isAsked ? place.answer(url.split("?")[0] ?? "") : undefined) ?? refusal;
    response.writeHead(answer.status ?? 200, {
      "content-type": ("type" in answer && answer.type) || "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
    });
    response.end(method === "HEAD" ? undefined : answer.body);
  });
  server.listen(place.port, place.host);
  // Rejects with the error when it cannot listen.
  await once(server, "listening");
  return server;
}
