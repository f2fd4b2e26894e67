// The node's lease: the heartbeat that the control plane watches, renewed every 10 seconds.

import type { Call } from "../../plugins/kit/base/call.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Lease, Node } from "../../plugins/kit/kube/objects/types.ts";
import { apiMicroTime } from "../model/times.ts";

const namespace = "kube-node-lease";
const leaseSeconds = 40;
const renewMs = 10_000;
// After a failure the next try comes sooner, so that one lost packet does not cost a node its readiness.
const retryMs = 2_000;

export interface NodeLeaseOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly node: () => Node | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  #lease: Lease | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    const { clock, log } = this.#options;
    let isFailing = false;
    while (!call.signal.aborted) {
      let delayMs = renewMs;
      try {
        await this.renew(within(renewMs, call));
        if (isFailing) log.info({}, "renewed the node lease again");
        isFailing = false;
      } catch (error) {
        delayMs = retryMs;
        // Once: a server may be away for days, and a log wears the card.
        if (!isFailing && !call.signal.aborted) log.warn({ err: error }, "failed to renew the node lease, retrying");
        isFailing = true;
      }
      await clock.sleep(delayMs, call).catch(() => {});
    }
  }

  async renew(call: Call): Promise<void> {
    const { client } = this.#options;
    const known = this.#lease;
    this.#lease = undefined;
    if (known) {
      try {
        this.#lease = await client.update<Lease>(resources.leases, this.#next(known), call);
        return;
      } catch (error) {
        if (call.signal.aborted) throw error;
        // Changed, removed, or of a store that was restored: whatever the reason, what is there now decides.
      }
    }
    this.#lease = await this.#updateOrCreate(call);
  }

  async #updateOrCreate(call: Call): Promise<Lease> {
    const { client, nodeName } = this.#options;
    let found: Lease;
    try {
      found = await client.get<Lease>(resources.leases, { namespace, name: nodeName }, call);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      return client.create<Lease>(resources.leases, this.#next(undefined), call, { namespace });
    }
    return client.update<Lease>(resources.leases, this.#next(found), call);
  }

  #next(known: Lease | undefined): Lease {
    const { nodeName, node, clock } = this.#options;
    const owner = node();
    const ownerReferences = owner?.metadata.uid
      ? [{ apiVersion: "v1", kind: "Node", name: nodeName, uid: owner.metadata.uid }]
      : (known?.metadata.ownerReferences ?? []);
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...known?.metadata,
        name: nodeName,
        namespace,
        ...(ownerReferences.length > 0 ? { ownerReferences } : {}),
      },
      spec: {
        ...known?.spec,
        holderIdentity: nodeName,
        leaseDurationSeconds: leaseSeconds,
        renewTime: apiMicroTime(clock.now()),
      },
    };
  }
}
