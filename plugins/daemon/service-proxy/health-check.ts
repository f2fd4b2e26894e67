// Health check node ports: tells a load balancer whether this node has endpoints of a service with externalTrafficPolicy Local.

import http from "node:http";
import type { Log } from "../../kit/base/log.ts";

export interface HealthCheck {
  readonly namespace: string;
  readonly name: string;
  readonly localEndpoints: number;
}

export class HealthCheckServers {
  readonly #log: Log;
  readonly #isHealthy: () => boolean;
  readonly #checks = new Map<number, HealthCheck>();
  readonly #servers = new Map<number, http.Server>();

  /** Where the proxy itself hangs, endpoints are worth nothing. */
  constructor(log: Log, isHealthy: () => boolean) {
    this.#log = log;
    this.#isHealthy = isHealthy;
  }

  /** Listens on exactly these ports. */
  set(checks: ReadonlyMap<number, HealthCheck>): void {
    for (const [port, server] of this.#servers) {
      if (checks.has(port)) continue;
      server.close();
      server.closeAllConnections();
      this.#servers.delete(port);
      this.#checks.delete(port);
    }
    for (const [port, check] of checks) {
      this.#checks.set(port, check);
      if (!this.#servers.has(port)) this.#listen(port);
    }
  }

  close(): void {
    this.set(new Map());
  }

  #listen(port: number): void {
    const server = http.createServer((_request, response) => {
      const check = this.#checks.get(port);
      const localEndpoints = check?.localEndpoints ?? 0;
      const serviceProxyHealthy = this.#isHealthy();
      const body = {
        service: { namespace: check?.namespace, name: check?.name },
        localEndpoints,
        serviceProxyHealthy,
      };
      response.writeHead(localEndpoints > 0 && serviceProxyHealthy ? 200 : 503, {
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
        "x-load-balancing-endpoint-weight": String(localEndpoints),
      });
      response.end(JSON.stringify(body));
    });
    server.on("error", (error) => {
      this.#log.warn(
        { err: error, port },
        "cannot serve a health check node port; will try again with the next change",
      );
      this.#servers.delete(port);
    });
    server.listen(port);
    this.#servers.set(port, server);
  }
}
