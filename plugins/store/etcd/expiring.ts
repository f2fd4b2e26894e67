// Leases for keys that etcd itself shall delete some time after their last write, such as events.
// One lease serves many keys for a while, since a lease for each would cost etcd more than the keys.

import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import type { Endpoints } from "./endpoints.ts";
import { LeaseDefinition } from "./gen/etcd.js";

/** Seconds after its last write that a key below the prefix lives on. */
export type Expiry = Readonly<Record<string, number>>;

/** A lease is given to new keys for this part of its life. */
const sharedFraction = 0.05;

export class ExpiringKeys {
  readonly #expiry: Expiry;
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;
  readonly #leases = new Map<string, { id: Promise<bigint>; until: number }>();

  constructor(expiry: Expiry, endpoints: Endpoints, clock: Clock) {
    this.#expiry = expiry;
    this.#endpoints = endpoints;
    this.#clock = clock;
  }

  /** The lease to write the key with; 0 for keys that stay. */
  async leaseFor(key: string, call: Call): Promise<bigint> {
    const found = Object.entries(this.#expiry).find(([prefix]) => key.startsWith(prefix));
    if (!found) return 0n;
    const [prefix, seconds] = found;
    const now = this.#clock.monotonic();
    const lease = this.#leases.get(prefix);
    if (lease && now < lease.until) return lease.id;
    const shared = Math.max(1, Math.ceil(seconds * sharedFraction));
    const id = this.#grant(seconds + shared, call);
    this.#leases.set(prefix, { id, until: now + shared * 1000 });
    // A failed grant must not be handed to the next writer.
    id.catch(() => this.#leases.delete(prefix));
    return id;
  }

  async #grant(seconds: number, call: Call): Promise<bigint> {
    const { ID } = await this.#endpoints.ask(LeaseDefinition.methods.leaseGrant, { TTL: BigInt(seconds) }, true, call);
    return ID;
  }
}
