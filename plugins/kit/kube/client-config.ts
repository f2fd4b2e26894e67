// How a webhook is reached: its URL, or a ready endpoint of its service under the service's name. Connections are kept.

import type { ClusterView } from "./cluster-view.ts";
import type { Call } from "../base/call.ts";
import { Fault, toFault } from "../base/fault.ts";
import type { KubeObject, Service } from "./objects/types.ts";
import { type HttpFetch, httpFetch } from "../os/platform/http-client.ts";

/** Where a webhook listens, as its configuration says. */
export interface ClientConfig {
  url?: string;
  service?: { namespace: string; name: string; path?: string; port?: number };
  /** PEM, in base64. */
  caBundle?: string;
}

interface EndpointSlice extends KubeObject {
  endpoints?: { addresses: string[]; conditions?: { ready?: boolean } }[];
  ports?: { name?: string; port?: number }[];
}

interface Target {
  readonly url: string;
  /** The same with the service's name in place of the address that was chosen: what users are told. */
  readonly name: string;
  readonly fetch: HttpFetch;
}

const mostClients = 64;

/** Keeps one client for each authority and name; `close` drops them all. */
export class WebhookReach {
  readonly #view: Pick<ClusterView, "informer">;
  readonly #clients = new Map<string, HttpFetch>();

  constructor(view: Pick<ClusterView, "informer">) {
    this.#view = view;
  }

  target({ url, service, caBundle }: ClientConfig): Target {
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    if (url !== undefined) return { url, name: url, fetch: this.#client(ca, undefined) };
    if (!service) throw new Fault("invalid", "the client configuration names neither a URL nor a service");
    const { namespace, name, path = "", port = 443 } = service;
    const address = serviceAddress(this.#view, { namespace, name, port });
    const slash = path === "" || path.startsWith("/") ? path : `/${path}`;
    const host = `${name}.${namespace}.svc`;
    return {
      url: `https://${address}${slash}`,
      name: `https://${host}:${port}${slash}`,
      fetch: this.#client(ca, host),
    };
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
}

/** A ready endpoint, so that no service proxy need run beside this server; the cluster address where there is none. */
export function serviceAddress(
  view: Pick<ClusterView, "informer">,
  { namespace, name, port }: { namespace: string; name: string; port: number },
): string {
  const service = view.informer<Service>({ group: "", plural: "services" }).get(namespace, name);
  if (!service) throw new Fault("not-found", `service "${name}" not found`);
  const found = service.spec?.ports?.find((each) => each.port === port);
  if (!found) throw new Fault("not-found", `no service port ${port} found for service "${name}"`);
  const addresses: string[] = [];
  for (const slice of view
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

/** Asks by POST and tells a failure as Go's clients do, which users know. */
export async function postTo(
  { url, name, fetch }: Target,
  { body, timeoutSeconds }: { body: string; timeoutSeconds: number },
  call: Call,
): Promise<Response> {
  const suffix = `${url.includes("?") ? "&" : "?"}timeout=${timeoutSeconds}s`;
  const deadline = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    return await fetch(
      new Request(`${url}${suffix}`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body,
        signal: AbortSignal.any([call.signal, deadline]),
      }),
    );
  } catch (error) {
    const why = deadline.aborted ? "context deadline exceeded" : toFault(error, "the request").message;
    throw new Fault("unavailable", `Post ${JSON.stringify(`${name}${suffix}`)}: ${why}`, { cause: error });
  }
}

const withPort = (address: string, port: number) =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
