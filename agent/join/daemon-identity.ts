// The client certificate of one network daemon of this node: asked for with the node's own, kept on disk, and renewed before it ends.
// API servers that know no such identities are asked with the node's own.

import { type Call, within } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import {
  daemonGroup,
  daemonUser,
  type NodeDaemon,
  nodeDaemonSigner,
  nodeDaemons,
} from "../../plugins/kit/kube/node-daemon.ts";
import { type HttpFetch, httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import type { NodeCredentials, Pair } from "./credentials.ts";
import { failoverFetch } from "./failover.ts";
import { requestCertificate } from "./signing.ts";

export interface DaemonIdentityOptions {
  readonly nodeName: string;
  readonly servers: readonly string[];
  readonly ca: string;
  /** The API with the node's own identity. */
  readonly nodeFetch: Fetch;
  readonly credentials: NodeCredentials;
  readonly clock: Clock;
  readonly log: Log;
}

const lookMs = 20_000;
const answerWithinMs = 30_000;
/** Where nobody signs such requests, they are not made again and again. */
const afterRefusalMs = 600_000;
const lifetimeSeconds = 7 * 24 * 3600;
const answerTimeoutMs = 70_000;
const unreachable = (error: unknown) => isFault(error, "unavailable");

export class DaemonIdentity {
  readonly fetch: Fetch;
  readonly #daemon: NodeDaemon;
  readonly #options: DaemonIdentityOptions;
  readonly #decided = Promise.withResolvers<void>();
  #pair: Pair | undefined;
  #connection: HttpFetch | undefined;

  constructor(daemon: NodeDaemon, options: DaemonIdentityOptions) {
    this.#daemon = daemon;
    this.#options = options;
    const own = failoverFetch(options.servers, (request) => this.#send(request), unreachable);
    // Requests of the daemons wait until their credentials are known.
    this.fetch = async (request) => {
      await untilAborted(this.#decided.promise, request.signal);
      return this.#connection ? own(request) : options.nodeFetch(request);
    };
    const kept = options.credentials.pair(daemon);
    if (kept) this.#use(kept);
  }

  /** Until stopped. */
  async run(call: Call): Promise<void> {
    const { clock, log, credentials } = this.#options;
    while (!call.signal.aborted) {
      let pauseMs = lookMs;
      if (!this.#pair || credentials.isDue(this.#pair)) {
        try {
          if (!(await this.#isKnown(call))) return this.#decided.resolve();
          const pair = await this.#request(within(answerWithinMs, call));
          await credentials.keep(this.#daemon, pair);
          this.#use(pair);
        } catch (error) {
          if (call.signal.aborted) return;
          if (isFault(error, "forbidden", "timeout")) pauseMs = afterRefusalMs;
          log.warn(
            { err: error, daemon: this.#daemon, retryMs: pauseMs },
            "cannot get the certificate of a daemon; retrying",
          );
          this.#decided.resolve();
        }
      }
      await clock.sleep(pauseMs, call).catch(() => {});
    }
  }

  close(): void {
    this.#connection?.close();
  }

  async #isKnown(call: Call): Promise<boolean> {
    const { servers, nodeFetch } = this.#options;
    const answer = await nodeFetch(new Request(`${servers[0]}/version`, { signal: call.signal }));
    const { gitVersion = "" } = (await answer.json()) as { gitVersion?: string };
    return gitVersion.includes("+skiff");
  }

  #request(call: Call): Promise<Pair> {
    const { nodeName, nodeFetch, servers, clock, log } = this.#options;
    const api = new ApiClient({ fetch: nodeFetch, server: servers[0] ?? "", clock, log, userAgent: "skiff-agent" });
    const subject = { commonName: daemonUser(this.#daemon, nodeName), organizations: [daemonGroup(this.#daemon)] };
    const spec = { nodeName, signer: nodeDaemonSigner, subject, expirationSeconds: lifetimeSeconds } as const;
    return requestCertificate(api, spec, call);
  }

  #use(pair: Pair): void {
    const old = this.#connection;
    this.#pair = pair;
    this.#connection = httpFetch({ ca: this.#options.ca, ...pair, answerTimeoutMs });
    this.#decided.resolve();
    old?.close();
  }

  #send(request: Request): Promise<Response> {
    return (this.#connection ?? this.#options.nodeFetch)(request);
  }
}

export interface DaemonIdentities {
  readonly fetches: Readonly<Record<NodeDaemon, Fetch>>;
  run(call: Call): Promise<void>;
  close(): void;
}

export function daemonIdentities(options: DaemonIdentityOptions): DaemonIdentities {
  const identities = nodeDaemons.map((daemon) => [daemon, new DaemonIdentity(daemon, options)] as const);
  return {
    fetches: Object.fromEntries(identities.map(([daemon, { fetch }]) => [daemon, fetch])) as Record<NodeDaemon, Fetch>,
    async run(call) {
      await Promise.all(identities.map(([, identity]) => identity.run(call)));
    },
    close() {
      for (const [, identity] of identities) identity.close();
    },
  };
}

function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", onAbort));
}
