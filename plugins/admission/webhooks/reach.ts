// How a webhook is reached: its URL, or a ready endpoint of its service under the service's name. Connections are kept.

import type { ClusterView } from "../../kit/cluster-view.ts";
import { Fault } from "../../kit/fault.ts";
import type { KubeObject, Service } from "../../kit/objects/types.ts";
import { type HttpFetch, httpFetch } from "../../kit/platform/http-client.ts";
import type { ClientConfig } from "./configuration.ts";

interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[];
  ports?: { name?: string; port?: number }[];
}

export interface Target {
  readonly url: string;
  readonly fetch: HttpFetch;
}

const mostClients = 64;

/** Keeps one client for each authority and name; `close` drops them all. */
export class WebhookReach {
  readonly #view: ClusterView;
  readonly #clients = new Map<string, HttpFetch>();

  constructor(view: ClusterView) {
    this.#view = view;
  }

  target({ url, service, caBundle }: ClientConfig): Target {
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    if (url !== undefined) return { url, fetch: this.#client(ca, undefined) };
    if (!service) throw new Fault("invalid", "the client configuration names neither a URL nor a service");
    const { namespace, name, path = "", port = 443 } = service;
    const address = this.#addressOf(namespace, name, port);
    const slash = path === "" || path.startsWith("/") ? path : `/${path}`;
    return { url: `https://${address}${slash}`, fetch: this.#client(ca, `${name}.${namespace}.svc`) };
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }

  #client(ca: string | undefined, servername: string | undefined): HttpFetch {
    const key = `${servername ?? ""} ${ca ?? ""}`;
    let client = this.#clients.get(key);
    if (!client) {
      if (this.#clients.size >= mostClients) this.close();
      client = httpFetch({ ca, servername, connectTimeoutMs: 5_000 });
      this.#clients.set(key, client);
    }
    return client;
  }

  /** A ready endpoint, so that no service proxy need run beside this server; the cluster address where there is none. */
  #addressOf(namespace: string, name: string, port: number): string {
    const service = this.#view.informer<Service>({ group: "", plural: "services" }).get(namespace, name);
    if (!service) throw new Fault("not-found", `service "${name}" not found`);
    const found = service.spec?.ports?.find((each) => each.port === port);
    if (!found) throw new Fault("not-found", `no service port ${port} found for service "${name}"`);
    const addresses: string[] = [];
    for (const slice of this.#view
      .informer<EndpointSlice>({ group: "discovery.k8s.io", plural: "endpointslices" })
      .list(namespace)) {
      if (slice.metadata.labels?.["kubernetes.io/service-name"] !== name) continue;
      const target = slice.ports?.find((each) => (each.name ?? "") === (found.name ?? ""))?.port;
      for (const { addresses: own, conditions } of slice.endpoints ?? []) {
        if (target && conditions?.ready !== false) addresses.push(...own.map((each) => withPort(each, target)));
      }
    }
    const chosen = addresses[Math.floor(Math.random() * addresses.length)];
    if (chosen) return chosen;
    const cluster = service.spec?.clusterIP;
    if (cluster && cluster !== "None") return withPort(cluster, port);
    throw new Fault("unavailable", `no endpoints available for service "${name}"`);
  }
}

const withPort = (address: string, port: number) =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
