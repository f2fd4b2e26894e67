// Who may use the kubelet's API: a client certificate of the cluster or a token that the API server knows, and a yes of
// the API server to what is asked. Nobody is anonymous here.

import { createHash } from "node:crypto";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Peer } from "../../../plugins/kit/os/platform/http-server.ts";
import { attributesOf, type NodeAttributes } from "./attributes.ts";
import { CachedAnswers } from "./cached-answers.ts";

export interface AccessOptions {
  readonly nodeName: string;
  readonly client: ApiClient;
  readonly clock: Clock;
}

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

interface AccessReview {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string };
}

// As upstream's kubelet keeps them.
const tokenMs = 2 * 60_000;
const allowedMs = 5 * 60_000;
const deniedMs = 30_000;
const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

export class Access {
  readonly #options: AccessOptions;
  readonly #users: CachedAnswers<UserInfo | undefined>;
  readonly #verdicts: CachedAnswers<{ allowed: boolean; reason: string }>;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#users = new CachedAnswers(options.clock);
    this.#verdicts = new CachedAnswers(options.clock);
  }

  /** The user; Fault `unauthorized` or `forbidden` otherwise. `path` is the one that will be routed, already normal. */
  async admit(
    request: {
      readonly method: string;
      readonly path: string;
      readonly headers: Headers;
      readonly peer: Peer;
      readonly isUpgrade?: boolean;
    },
    call: Call,
  ): Promise<UserInfo> {
    const user = await this.#userOf(request.headers, request.peer, call);
    if (!user) throw new Fault("unauthorized", "Unauthorized");
    const asked = attributesOf(request.method, request.path, request.isUpgrade);
    const { allowed, reason } = await this.#verdictOn(user, asked, call);
    if (allowed) return user;
    const what = `user=${user.name}, verb=${asked.verb}, resource=nodes, subresource=${asked.subresource}`;
    throw new Fault("forbidden", `Forbidden (${what})${reason ? `: ${reason}` : ""}`);
  }

  async #userOf(headers: Headers, { certificate }: Peer, call: Call): Promise<UserInfo | undefined> {
    // Verified when the connection began, which may be long ago. Without it a token may still say who it is.
    const isValid = certificate !== undefined && certificate.endsAt > this.#options.clock.now();
    if (isValid && certificate.commonName !== "")
      return { name: certificate.commonName, groups: [...certificate.organizations, "system:authenticated"] };
    const token = tokenIn(headers);
    if (token === undefined) return undefined;
    const key = createHash("sha256").update(token).digest("base64");
    return this.#users.get(
      key,
      () => this.#review(token, call),
      (user) => (user ? tokenMs : deniedMs),
    );
  }

  async #review(token: string, call: Call): Promise<UserInfo | undefined> {
    const { status } = await this.#options.client.create<TokenReview>(
      resources.tokenreviews,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
      call,
    );
    if (!status?.authenticated || !status.user?.username) return undefined;
    const { username, uid, groups = [], extra } = status.user;
    return { name: username, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
  }

  #verdictOn(user: UserInfo, asked: NodeAttributes, call: Call): Promise<{ allowed: boolean; reason: string }> {
    const { nodeName, client } = this.#options;
    const key = JSON.stringify([user.name, user.uid, user.groups, user.extra, asked.verb, asked.subresource]);
    const ask = async () => {
      const spec = {
        user: user.name,
        groups: user.groups,
        ...(user.uid ? { uid: user.uid } : {}),
        ...(user.extra ? { extra: user.extra } : {}),
        resourceAttributes: {
          verb: asked.verb,
          version: "v1",
          resource: "nodes",
          subresource: asked.subresource,
          name: nodeName,
        },
      };
      const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      const { status } = await client.create<AccessReview>(resources.subjectaccessreviews, review, call);
      return { allowed: status?.allowed === true, reason: status?.reason ?? "" };
    };
    return this.#verdicts.get(key, ask, ({ allowed }) => (allowed ? allowedMs : deniedMs));
  }
}

/** From the Authorization header or, for browsers' WebSockets, from the subprotocol that carries it. */
export function tokenIn(headers: Headers): string | undefined {
  const match = /^\s*bearer\s+(\S+)\s*$/i.exec(headers.get("authorization") ?? "");
  if (match) return match[1];
  const protocols = (headers.get("sec-websocket-protocol") ?? "").split(",").map((name) => name.trim());
  const carrier = protocols.find((name) => name.startsWith(tokenProtocol));
  return carrier ? Buffer.from(carrier.slice(tokenProtocol.length), "base64url").toString("utf8") : undefined;
}
