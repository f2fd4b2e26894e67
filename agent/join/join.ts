// Joins a Skiff server: trusts the CA that the token pins, gets the node's certificates signed, and renews them while it runs.
// A node that joined before needs neither token nor network to start again.

import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { within } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import { bearerOf, caCertificatePath, certificateHash, parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import { type HttpFetch, httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { parseCertificate } from "../../plugins/kit/os/x509.ts";
import { NodeCredentials, type Pair } from "./credentials.ts";
import { type DaemonIdentities, daemonIdentities } from "./daemon-identity.ts";
import { failoverFetch } from "./failover.ts";
import { keepNodeLine } from "./node-line.ts";
import { ServingCertificate, type ServingNames, skiffApprovalWithinMs } from "./serving-certificate.ts";
import { requestCertificate } from "./signing.ts";

export interface JoinOptions {
  readonly servers: readonly string[];
  /** Needed the first time only. */
  readonly token: string | undefined;
  /** How long to wait for a serving certificate with addresses, before one with the node's name alone is asked for. */
  readonly servingPatienceMs?: number;
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Joined {
  /** The API with the node's own identity, on whichever server answers. */
  readonly fetch: Fetch;
  /** The API with the identities of the node's network daemons. */
  readonly daemons: Readonly<Record<NodeDaemon, Fetch>>;
  readonly ca: string;
  /** What the kubelet's API is served with; a stopgap that nobody trusts until the cluster has signed one. */
  serving(): Pair;
  onServing(then: () => void): () => void;
  /** When the node's own certificate ends, in wall time, and how many renewals of it and of the serving one failed. */
  renewals(): { readonly clientEndsAt: number; readonly clientErrors: number; readonly servingErrors: number };
  /** Keeps the certificates fresh until stopped. `names` are those that the node reports. */
  run(names: () => ServingNames, call: Call): Promise<void>;
  /** Holds a line open to each server, so that it can reach this node's kubelet from behind NAT too. */
  holdLines(kubeletPort: number, call: Call): Promise<void>;
  close(): void;
}

const bootstrapTimeoutMs = 60_000;
/** API servers end every request but watches within a minute, and begin those at once. */
const answerTimeoutMs = 70_000;
const lookMs = 20_000;
const unreachable = (error: unknown) => isFault(error, "unavailable");

export async function joinCluster(options: JoinOptions, call: Call): Promise<Joined> {
  const { clock, log, nodeName } = options;
  const servers = options.servers.map((server) => server.replace(/\/+$/, ""));
  for (const server of servers) {
    if (!/^https:\/\/[^/]+$/.test(server))
      throw new Fault("invalid", `Bad value for --server: "${server}" is not of the form https://host:port`);
  }
  const credentials = new NodeCredentials(join(options.dataDir, "agent", "pki"), clock);
  let client = credentials.pair("client");
  let ca = credentials.ca();
  if (!client || !ca) {
    const key = await credentials.joiningKey();
    ({ ca, client } = await bootstrap(options, servers, key, within(bootstrapTimeoutMs, call)));
    await credentials.keepCa(ca);
    await credentials.keep("client", client);
    credentials.forgetJoiningKey();
    log.info({ node: nodeName, servers }, "joined the cluster");
  }
  const servingPatienceMs = skiffApprovalWithinMs;
  return joinedNode({ servingPatienceMs, ...options, servers }, credentials, ca, client);
}

/** A node that has its certificate. */
export function joinedNode(options: JoinOptions, credentials: NodeCredentials, ca: string, client: Pair): Joined {
  return new JoinedNode(options, credentials, ca, client);
}

async function bootstrap(
  options: JoinOptions,
  servers: readonly string[],
  key: string,
  call: Call,
): Promise<{ ca: string; client: Pair }> {
  const { nodeName, clock, log } = options;
  if (!options.token)
    throw new Fault(
      "invalid",
      `Cannot join ${servers.join(", ")}: a token is needed the first time (on the server: skiff token create)`,
    );
  const token = parseJoinToken(options.token);
  const ca = await pinnedCa(servers, token.caHash, call);
  const connection = httpFetch({ ca });
  const authorized: Fetch = (request) => {
    request.headers.set("authorization", `Bearer ${bearerOf(token)}`);
    return connection(request);
  };
  const fetch = failoverFetch(servers, authorized, unreachable);
  try {
    const api = new ApiClient({ fetch, clock, log, userAgent: "skiff-agent" });
    const client = await requestCertificate(
      api,
      { nodeName, signer: "kubernetes.io/kube-apiserver-client-kubelet", key },
      call,
    );
    return { ca, client };
  } catch (error) {
    if (isFault(error, "unauthorized")) {
      throw new Fault(
        "unauthorized",
        `Cannot join ${servers.join(", ")}: the server does not know the token, or it has expired (on the server: skiff token create)`,
        { cause: error },
      );
    }
    if (isFault(error, "timeout"))
      throw new Fault(
        "timeout",
        `Cannot join as node "${nodeName}": the signing request was not answered within ${bootstrapTimeoutMs / 1000} s`,
        { cause: error },
      );
    throw error;
  } finally {
    connection.close();
  }
}

/** Fetches the CA without trust, and trusts it only because its hash is the one that the token carries. */
async function pinnedCa(servers: readonly string[], wantedHash: string | undefined, call: Call): Promise<string> {
  const connection = httpFetch({ insecureSkipVerify: true });
  try {
    const fetch = failoverFetch(servers, connection, unreachable);
    const answer = await fetch(new Request(`${servers[0]}${caCertificatePath}`, { signal: call.signal }));
    const ca = await answer.text();
    if (answer.status !== 200 || !ca.includes("BEGIN CERTIFICATE")) {
      throw new Fault(
        "unavailable",
        `Cannot join ${servers.join(", ")}: no Skiff server answers there (status ${answer.status} for ${caCertificatePath})`,
      );
    }
    const hash = certificateHash(ca);
    if (wantedHash !== undefined && hash !== wantedHash) {
      throw new Fault(
        "forbidden",
        `Cannot join ${servers.join(", ")}: the server's CA has the hash ${hash.slice(0, 16)}…, the token pins ${wantedHash.slice(0, 16)}… (is this the right server?)`,
      );
    }
    return ca;
  } catch (error) {
    if (isFault(error) && error.message.startsWith("Cannot join")) throw error;
    throw new Fault("unavailable", `Cannot join ${servers.join(", ")}: ${(error as Error).message}`, { cause: error });
  } finally {
    connection.close();
  }
}

class JoinedNode implements Joined {
  readonly ca: string;
  readonly fetch: Fetch;
  readonly daemons: Joined["daemons"];
  readonly #options: JoinOptions;
  readonly #credentials: NodeCredentials;
  readonly #serving: ServingCertificate;
  readonly #daemonIdentities: DaemonIdentities;
  #client: Pair;
  #connection: HttpFetch;
  #clientErrors = 0;
  #servingErrors = 0;

  constructor(options: JoinOptions, credentials: NodeCredentials, ca: string, client: Pair) {
    this.ca = ca;
    this.#options = options;
    this.#credentials = credentials;
    this.#client = client;
    this.#connection = httpFetch({ ca, ...client, answerTimeoutMs });
    this.#serving = new ServingCertificate(options.nodeName, credentials, options.clock, options.servingPatienceMs);
    this.fetch = failoverFetch(options.servers, (request) => this.#connection(request), unreachable);
    const { nodeName, servers, clock, log } = options;
    this.#daemonIdentities = daemonIdentities({
      nodeName,
      servers,
      ca,
      nodeFetch: this.fetch,
      credentials,
      clock,
      log,
    });
    this.daemons = this.#daemonIdentities.fetches;
  }

  serving(): Pair {
    return this.#serving.pair();
  }

  onServing(then: () => void): () => void {
    return this.#serving.onRenewed(then);
  }

  renewals(): ReturnType<Joined["renewals"]> {
    const clientEndsAt = parseCertificate(this.#client.cert).notAfter;
    return { clientEndsAt, clientErrors: this.#clientErrors, servingErrors: this.#servingErrors };
  }

  async run(names: () => ServingNames, call: Call): Promise<void> {
    await Promise.all([this.#renewOwn(names, call), this.#daemonIdentities.run(call)]);
  }

  async #renewOwn(names: () => ServingNames, call: Call): Promise<void> {
    const { clock, log, nodeName } = this.#options;
    const api = new ApiClient({ fetch: this.fetch, clock, log, userAgent: "skiff-agent" });
    while (!call.signal.aborted) {
      let isClients = true;
      try {
        if (this.#credentials.isDue(this.#client)) {
          await this.#renewClient(
            await requestCertificate(api, { nodeName, signer: "kubernetes.io/kube-apiserver-client-kubelet" }, call),
          );
          log.info({}, "the node's certificate was renewed");
        }
        isClients = false;
        // The node's own certificate never waits behind this one.
        await this.#serving.renew(api, names(), call);
      } catch (error) {
        if (call.signal.aborted) return;
        if (isClients) this.#clientErrors++;
        else this.#servingErrors++;
        log.warn({ err: error }, "a certificate could not be renewed, trying again");
      }
      await clock.sleep(lookMs, call).catch(() => {});
    }
  }

  async holdLines(kubeletPort: number, call: Call): Promise<void> {
    const { servers, clock, log } = this.#options;
    const connection = () => this.#connection;
    await Promise.all(servers.map((server) => keepNodeLine({ server, connection, kubeletPort, clock, log }, call)));
  }

  close(): void {
    this.#connection.close();
    this.#daemonIdentities.close();
  }

  async #renewClient(pair: Pair): Promise<void> {
    await this.#credentials.keep("client", pair);
    const old = this.#connection;
    this.#client = pair;
    this.#connection = httpFetch({ ca: this.ca, ...pair, answerTimeoutMs });
    old.close();
  }
}
