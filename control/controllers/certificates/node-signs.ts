// When each node was last heard of, by this server's own clock: the clock of a node may be wrong, and while no server ran no node could
// renew its lease. Who asks whether a name is free must not take such a node for one that is gone.

import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Lease, Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { Informers } from "../../manager/contract.ts";

export class NodeSigns {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #heardAt = new Map<string, number>();

  constructor(informers: Informers, clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    // What is there at the start says nothing of when it was written.
    let isStarting = true;
    const heard = (name = "") => void (isStarting || this.#heardAt.set(name, clock.monotonic()));
    informers.for<Lease>(resources.leases).onEvent(({ type, object, previous }) => {
      const isRenewed = type !== "delete" && object.spec?.renewTime !== previous?.spec?.renewTime;
      if (isRenewed && object.metadata.namespace === "kube-node-lease") heard(object.metadata.name);
    });
    informers.for<Node>(resources.nodes).onEvent(({ type, object: { metadata } }) => {
      if (type === "add") heard(metadata.name);
      if (type === "delete") this.#heardAt.delete(metadata.name ?? "");
    });
    isStarting = false;
  }

  /** For how long it could have been heard. */
  get listeningMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  /** Undefined for one that has given no sign since the start. */
  heardAgoMs(nodeName: string): number | undefined {
    const at = this.#heardAt.get(nodeName);
    return at === undefined ? undefined : this.#clock.monotonic() - at;
  }
}
