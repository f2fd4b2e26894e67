// HTTP for one pull: a client per registry host with the trust its settings ask for. Connections live as long as the pull.

import { readFileSync } from "node:fs";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type HttpFetch, httpFetch } from "../../../plugins/kit/os/platform/http-client.ts";
import type { Fetch } from "../../../plugins/kit/base/fetch.ts";
import type { RegistriesConfig } from "./registry-config.ts";

export interface RegistryFetch {
  readonly fetch: Fetch;
  close(): void;
}

export function registryFetch(config: RegistriesConfig): RegistryFetch {
  const clients = new Map<string, HttpFetch>();
  const clientFor = (host: string): HttpFetch => {
    let client = clients.get(host);
    if (!client) {
      const tls = config.configs?.[host]?.tls ?? {};
      const insecureSkipVerify = tls.insecureSkipVerify === true;
      client = httpFetch({ ca: pem(tls.caFile), cert: pem(tls.certFile), key: pem(tls.keyFile), insecureSkipVerify });
      clients.set(host, client);
    }
    return client;
  };
  return {
    fetch: async (request) => clientFor(new URL(request.url).host)(request),
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

function pem(path: string | undefined): string | undefined {
  if (!path) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new Fault("invalid", `Cannot read "${path}" of the registries settings: ${(cause as Error).message}`, {
      cause,
    });
  }
}
