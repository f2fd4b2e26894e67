// The addresses behind the service `kubernetes`: those of every API server of the cluster that lives. No pods stand there, so no controller
// writes them; each server does, for all. Servers that share a store hold a lease each, as upstream's do, and one that is not renewed
// for its duration, by the clock of whoever looks, is that of a server that is gone.

import { createHash } from "node:crypto";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Lease } from "../../plugins/kit/kube/objects/types.ts";
import { statusFault } from "../../plugins/kit/kube/status-fault.ts";
import { serverLease } from "../auth/certificates/server-names.ts";
import { validateReachableIp } from "../resources/addresses.ts";

export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

export interface ServerAddressesOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Where this server is reached now. */
  readonly advertise: ServerAddress;
  /** By which names clients reach it: no node may have one of them. */
  readonly dnsNames: readonly string[];
  /** Other servers may use the same store. */
  readonly isShared: boolean;
}

const leaseNamespace = serverLease.namespace;
const namespace = "default";
const name = "kubernetes";
const identity = serverLease.labels;
const leaseSeconds = 30;
const renewMs = 10_000;

export class ServerAddresses {
  readonly #options: ServerAddressesOptions;
  /** The last state of each server's lease and when we saw it, by our own clock. */
  readonly #observed = new Map<string, { version: string; at: number }>();
  #ownLease: string | undefined;

  constructor(options: ServerAddressesOptions) {
    this.#options = options;
  }

  /** Writes where this server is reached, beside the others that live. */
  async tell(call: Call): Promise<void> {
    const { advertise, isShared, log } = this.#options;
    // Where only this machine can reach the server, no pod can: there is nothing to lead them to.
    if (validateReachableIp(advertise.address, "").length > 0) {
      log.info({ address: advertise.address }, "no pod can reach this server: its address is of this machine alone");
      return;
    }
    const own = { address: advertise.address, port: advertise.port };
    if (!isShared) return this.#write([own], call);
    await this.#renew(own, call);
    await this.#write([own, ...(await this.#others(call))], call);
  }

  /** Throws where another server lives, which would have to know of what is done. */
  async requireAlone(what: string, call: Call): Promise<void> {
    const others = this.#options.isShared ? await this.#others(call) : [];
    if (others.length === 0) return;
    const who = others.map(hostOf).join(", ");
    throw statusFault(
      "conflict",
      `Cannot ${what}: other API servers use the same store (${who}) and would not know; stop them, ask again, copy the folder "pki" to each and start them`,
      { code: 409, reason: "Conflict" },
    );
  }

  /** Renews this server's place, and takes away those of servers that are gone, until the call is stopped; then it leaves. */
  async run(call: Call): Promise<void> {
    const { clock, log, isShared } = this.#options;
    if (!isShared) return;
    while (!call.signal.aborted) {
      await clock.sleep(renewMs, call).catch(() => undefined);
      if (call.signal.aborted) break;
      await this.tell(call).catch((error: unknown) => {
        // Another server wrote at the same moment, or the store is away: the next round tells.
        if (!call.signal.aborted) log.debug({ err: error }, "cannot tell the addresses of the API servers");
      });
    }
    await this.#leave({ signal: AbortSignal.timeout(1_000) }).catch((error: unknown) =>
      log.debug({ err: error }, "cannot take this server's address away"),
    );
  }

  async #leave(call: Call): Promise<void> {
    await this.#removeLease(this.#ownLease, call);
    const others = await this.#others(call);
    // The last one leaves its address: the next to start is most likely the same.
    if (others.length > 0) await this.#write(others, call);
  }

  async #renew(own: ServerAddress, call: Call): Promise<void> {
    const { client, clock } = this.#options;
    const lease = leaseNameOf(own);
    if (this.#ownLease !== lease) await this.#removeLease(this.#ownLease, call);
    this.#ownLease = lease;
    const spec = {
      holderIdentity: hostOf(own),
      leaseDurationSeconds: leaseSeconds,
      renewTime: new Date(clock.now()).toISOString().replace("Z", "000Z"),
    };
    const at = { namespace: leaseNamespace, name: lease };
    const annotations = { [serverLease.namesAnnotation]: this.#options.dnsNames.join() };
    try {
      await client.patch(resources.leases, at, { type: "merge", body: { metadata: { annotations }, spec } }, call);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      const object = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { ...at, labels: identity, annotations },
        spec,
      };
      await client.create(resources.leases, object, call, { namespace: leaseNamespace });
    }
  }

  async #removeLease(lease: string | undefined, call: Call): Promise<void> {
    if (lease === undefined) return;
    const at = { namespace: leaseNamespace, name: lease };
    await this.#options.client.delete(resources.leases, at, call).catch((error: unknown) => {
      if (!isFault(error, "not-found")) throw error;
    });
  }

  /** Servers but this one whose lease has changed within its duration. */
  async #others(call: Call): Promise<ServerAddress[]> {
    const labelSelector = Object.entries(identity)
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
    const options = { namespace: leaseNamespace, labelSelector };
    const { items } = await this.#options.client.list<Lease>(resources.leases, options, call);
    const now = this.#options.clock.monotonic();
    return items
      .filter((lease) => lease.metadata.name !== this.#ownLease && this.#lives(lease, now))
      .map(({ spec }) => addressOf(spec?.holderIdentity ?? ""))
      .filter((address) => address !== undefined);
  }

  #lives({ metadata, spec }: Lease, now: number): boolean {
    const version = metadata.resourceVersion ?? "";
    const observed = this.#observed.get(metadata.name ?? "");
    const at = observed?.version === version ? observed.at : now;
    this.#observed.set(metadata.name ?? "", { version, at });
    return now - at < (spec?.leaseDurationSeconds ?? leaseSeconds) * 1000;
  }

  async #write(servers: readonly ServerAddress[], call: Call): Promise<void> {
    const { client } = this.#options;
    const groups = byPort(servers);
    const endpoints = {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { namespace, name, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: groups.map(({ port, addresses }) => ({
        addresses: addresses.map((ip) => ({ ip })),
        ports: portsOf(port),
      })),
    };
    await replace(client, resources.endpoints, endpoints, call);
    const labels = { "kubernetes.io/service-name": name };
    const slices = groups.map(({ port, addresses }, index) => ({
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      // All servers use one port where nobody thought of another, so there is one slice, with upstream's name.
      metadata: { namespace, name: index === 0 ? name : `${name}-${port}`, labels },
      addressType: addresses[0]?.includes(":") ? "IPv6" : "IPv4",
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: portsOf(port),
    }));
    for (const slice of slices) await replace(client, resources.endpointslices, slice, call);
    const selected = { namespace, labelSelector: `kubernetes.io/service-name=${name}` };
    const { items } = await client.list<KubeObject>(resources.endpointslices, selected, call);
    for (const { metadata } of items)
      if (!slices.some((slice) => slice.metadata.name === metadata.name))
        await client.delete(resources.endpointslices, { namespace, name: metadata.name ?? "" }, call);
  }
}

const hostOf = ({ address, port }: ServerAddress) =>
  address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;

function addressOf(host: string): ServerAddress | undefined {
  const [, address, port] = /^\[?([^\]]+)\]?:(\d+)$/.exec(host) ?? [];
  return address && port ? { address, port: Number(port) } : undefined;
}

function leaseNameOf(own: ServerAddress): string {
  return `apiserver-${createHash("sha256").update(hostOf(own)).digest("hex").slice(0, 24)}`;
}

const portsOf = (port: number) => [{ name: "https", port, protocol: "TCP" }];

/** Sorted, so that every server writes the same. */
function byPort(servers: readonly ServerAddress[]): { port: number; addresses: string[] }[] {
  const groups = Map.groupBy(servers, ({ port }) => port);
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([port, group]) => ({ port, addresses: [...new Set(group.map(({ address }) => address))].sort() }));
}

async function replace(
  client: ApiClient,
  ref: typeof resources.endpoints,
  object: KubeObject,
  call: Call,
): Promise<void> {
  const { name: own = "" } = object.metadata;
  try {
    const known = await client.get<KubeObject>(ref, { namespace, name: own }, call);
    const { resourceVersion } = known.metadata;
    const metadata = { ...object.metadata, ...(resourceVersion ? { resourceVersion } : {}) };
    await client.update(ref, { ...object, metadata }, call);
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
    await client.create(ref, object, call, { namespace });
  }
}
