// Remote is a group and version that a server behind a service answers: how it is reached and with whose name.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import { type Call, within } from "../../../plugins/kit/base/call.ts";
import { serviceAddress } from "../../../plugins/kit/kube/client-config.ts";
import type { ClusterView } from "../../../plugins/kit/kube/cluster-view.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type HttpFetch, httpFetch } from "../../../plugins/kit/os/platform/http-client.ts";
import type { ApiService } from "../../resources/registration/types.ts";
import type { ListedResource } from "../discovery/resource-list.ts";

interface Credentials {
  readonly cert: string;
  readonly key: string;
}

export interface RemoteTools {
  readonly view: Pick<ClusterView, "informer">;
  /** The identity of the proxy towards such servers; asked again with every check, since certificates end. */
  readonly credentials: (() => Credentials) | undefined;
}

/** What a server told of itself when it was last asked. */
export interface Told {
  readonly resources: readonly ListedResource[];
  /** The hash of its OpenAPI v3 document, when it has one. */
  readonly openApiHash: string | undefined;
}

const checkWithinMs = 5000;

export class Remote {
  readonly #tools: RemoteTools;
  #service: ApiService;
  #client: { fetch: HttpFetch; cert: string | undefined } | undefined;
  told: Told | undefined;
  isAvailable = false;

  constructor(service: ApiService, tools: RemoteTools) {
    this.#service = service;
    this.#tools = tools;
  }

  get service(): ApiService {
    return this.#service;
  }

  get group(): string {
    return this.#service.spec.group ?? "";
  }

  get version(): string {
    return this.#service.spec.version;
  }

  /** `/apis/<group>/<version>`. */
  get path(): string {
    return `/apis/${this.group}/${this.version}`;
  }

  /** Takes over a changed APIService. */
  update(service: ApiService): void {
    const before = JSON.stringify({ ...this.#service.spec, versionPriority: 0, groupPriorityMinimum: 0 });
    this.#service = service;
    if (JSON.stringify({ ...service.spec, versionPriority: 0, groupPriorityMinimum: 0 }) !== before) this.close();
  }

  close(): void {
    this.#client?.fetch.close();
    this.#client = undefined;
  }

  /** The address that was chosen now, and the client for it. Fault when the service has none. */
  reach(): { readonly origin: string; readonly fetch: HttpFetch } {
    const { namespace = "", name = "", port = 443 } = this.#service.spec.service ?? {};
    const origin = `https://${serviceAddress(this.#tools.view, { namespace, name, port })}`;
    return { origin, fetch: this.#fetch(`${name}.${namespace}.svc`) };
  }

  /** A question of our own, with every right there. */
  ask(path: string, call: Call, accept = "application/json"): Promise<Response> {
    const { origin, fetch } = this.reach();
    const { signal } = within(checkWithinMs, call);
    return fetch(new Request(`${origin}${path}`, { headers: { accept }, signal }), userHeaders(aggregator));
  }

  /** Drops connections that were made with a certificate that is not ours any more. */
  renew(): void {
    if (this.#client && this.#client.cert !== this.#tools.credentials?.().cert) this.close();
  }

  #fetch(servername: string): HttpFetch {
    if (this.#client) return this.#client.fetch;
    const { cert, key } = this.#tools.credentials?.() ?? {};
    const { caBundle, insecureSkipTLSVerify } = this.#service.spec;
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    const fetch = httpFetch({ ca, cert, key, servername, insecureSkipVerify: insecureSkipTLSVerify });
    this.#client = { fetch, cert };
    return fetch;
  }
}

const aggregator: UserInfo = { name: "system:kube-aggregator", groups: ["system:masters"] };

/** The identity headers of a front proxy, one line for each value. Fault `forbidden` for a user whose name or groups a header would change. */
export function userHeaders(user: UserInfo): Record<string, string[]> {
  const headers: Record<string, string[]> = {
    "x-remote-user": [asValue(user.name)],
    "x-remote-group": user.groups.map(asValue),
  };
  if (user.uid) headers["x-remote-uid"] = [asValue(user.uid)];
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    const name = `x-remote-extra-${escapeKey(key.toLowerCase())}`;
    headers[name] = [...(headers[name] ?? []), ...values.map(asValue)];
  }
  return headers;
}

/** Space around it is dropped on the way and line ends are no part of a value: it would arrive as another one. */
function asValue(text: string): string {
  if (text !== text.trim() || /\p{Cc}/u.test(text))
    throw new Fault(
      "forbidden",
      `Cannot pass user info ${JSON.stringify(text.slice(0, 100))} to an aggregated API server`,
    );
  return text;
}

/** Keys may hold what a header's name may not. */
function escapeKey(key: string): string {
  return encodeURIComponent(key).replace(/['()]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
