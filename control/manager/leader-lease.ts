// Leader lease: of several control planes on one store, one works. Taking the lease is a write through our own API server, which
// answers only when its cache holds it; so whoever begins a term has seen every write of the term before.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";

export interface LeaderLeaseOptions {
  readonly client: ApiClient;
  readonly name: string;
  /** The same after a restart, so that a server takes its own lease up again at once; never that of another. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
}

interface LeaderRecord {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

const namespace = "kube-system";
const leaseSeconds = 15;
/** Who could not renew for so long stops, well before another may begin. */
const renewDeadlineMs = 10_000;
const retryMs = 2_000;

export class LeaderLease {
  readonly #options: LeaderLeaseOptions;
  /** The last state of another's lease and when we saw it, by our own clock. */
  #observed: { version: string; at: number } | undefined;

  constructor(options: LeaderLeaseOptions) {
    this.#options = options;
  }

  /** Runs the work for each term that we lead, until the call is stopped. */
  async run(work: (term: Call) => Promise<void>, call: Call): Promise<void> {
    const { clock, log, name } = this.#options;
    while (!call.signal.aborted) {
      if (!(await this.#take(call))) {
        await clock.sleep(retryMs, call).catch(() => undefined);
        continue;
      }
      log.info({ lease: name }, "leading");
      const term = new AbortController();
      const termCall = { signal: AbortSignal.any([call.signal, term.signal]) };
      const renewing = this.#renew(termCall).then(() => term.abort(new Error(`lost the lease "${name}"`)));
      try {
        await work(termCall);
      } catch (error) {
        if (!term.signal.aborted && !call.signal.aborted) throw error;
      } finally {
        term.abort();
        await renewing;
      }
      if (call.signal.aborted) await this.#release();
      else log.warn({ lease: name }, "no longer leading");
    }
  }

  /** Ends when the lease could not be renewed in time, or the call is stopped. */
  async #renew(call: Call): Promise<void> {
    const { clock } = this.#options;
    let renewedAt = clock.monotonic();
    while (!call.signal.aborted) {
      await clock.sleep(retryMs, call).catch(() => undefined);
      if (call.signal.aborted) return;
      if (await this.#take(call)) renewedAt = clock.monotonic();
      else if (clock.monotonic() - renewedAt >= renewDeadlineMs) return;
    }
  }

  /** Takes or renews the lease; the answer is false when another holds it or the store does not answer. */
  async #take(call: Call): Promise<boolean> {
    const { client, name, identity, clock, log } = this.#options;
    try {
      const known = await this.#read(call);
      const isMine = known?.spec?.holderIdentity === identity;
      if (known && !isMine && this.#isHeld(known)) return false;
      const now = new Date(clock.now()).toISOString().replace("Z", "000Z");
      const spec = {
        holderIdentity: identity,
        leaseDurationSeconds: leaseSeconds,
        acquireTime: isMine ? (known?.spec?.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: (known?.spec?.leaseTransitions ?? 0) + (known && !isMine ? 1 : 0),
      };
      const type = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
      if (known) await client.update(resources.leases, { ...type, ...known, spec }, call);
      else await client.create(resources.leases, { ...type, metadata: { namespace, name }, spec }, call, { namespace });
      return true;
    } catch (error) {
      if (!isFault(error, "conflict", "already-exists"))
        log.debug({ err: error, lease: name }, "cannot take the lease");
      return false;
    }
  }

  async #read(call: Call): Promise<LeaderRecord | undefined> {
    const { client, name } = this.#options;
    try {
      return await client.get<LeaderRecord>(resources.leases, { namespace, name }, call);
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** Held until nothing changed for its whole duration, as we saw it: clocks of servers differ. */
  #isHeld({ metadata, spec }: LeaderRecord): boolean {
    if (!spec?.holderIdentity) return false;
    const version = metadata.resourceVersion ?? "";
    const now = this.#options.clock.monotonic();
    if (this.#observed?.version !== version) this.#observed = { version, at: now };
    return now - this.#observed.at < (spec.leaseDurationSeconds ?? leaseSeconds) * 1000;
  }

  /** A server that stops in order lets the next one begin at once. */
  async #release(): Promise<void> {
    const { client, identity, log, name } = this.#options;
    const call = { signal: AbortSignal.timeout(1_000) };
    try {
      const known = await this.#read(call);
      if (known?.spec?.holderIdentity !== identity) return;
      const { holderIdentity: _mine, ...rest } = known.spec;
      const spec = { ...rest, leaseDurationSeconds: 1 };
      const type = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
      await client.update(resources.leases, { ...type, ...known, spec }, call);
    } catch (error) {
      log.debug({ err: error, lease: name }, "cannot release the lease");
    }
  }
}
