// From a decision to the pod bound: what plugins do on the way, and the binding itself. A pod that is given up at any step leaves
// nothing taken.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { BindTools } from "../../plugins/kit/contracts/scheduling.ts";
import type { ControllerContext } from "../manager/contract.ts";
import type { Extender } from "./extender.ts";
import { type Profile, placementSteps } from "./profile.ts";
import type { Snapshot } from "./snapshot.ts";

/** A plugin did not let the pod go to the node. */
export interface Refused {
  readonly plugin: string;
  readonly reason: string;
}

export class Placing {
  readonly #context: ControllerContext;
  readonly #snapshot: Snapshot;
  readonly #extenders: readonly Extender[];
  /** Pods that a plugin holds up before their binding. */
  readonly #held = new Map<string, AbortController>();

  constructor(context: ControllerContext, snapshot: Snapshot, extenders: readonly Extender[]) {
    this.#context = context;
    this.#snapshot = snapshot;
    this.#extenders = extenders;
  }

  /** At once with the decision, so that the next one sees it. */
  reserve(pod: Pod, node: Node, profile: Profile): Refused | undefined {
    this.#snapshot.assume(pod, node.metadata.name ?? "");
    for (const plugin of placementSteps(profile)) {
      if (!plugin.reserve) continue;
      const reason = plugin.reserve(pod, node, this.#snapshot.reserveFor(pod));
      if (reason) return { plugin: plugin.name, reason };
    }
    return undefined;
  }

  /** Everything that was taken for the pod is for others again. May be called twice. */
  giveUp(pod: Pod, node: Node, profile: Profile): void {
    for (const plugin of placementSteps(profile).toReversed()) plugin.unreserve?.(pod, node);
    this.#snapshot.forget(pod.metadata.uid ?? "");
  }

  /** True when the pod waited for a plugin's leave and now is sent back. */
  release(uid: string, why: string): boolean {
    const held = this.#held.get(uid);
    held?.abort(new Fault("conflict", why));
    return held !== undefined;
  }

  /** Throws when it did not work; `onBinding` is called when nothing is left to wait for but the binding. */
  async bind(pod: Pod, node: Node, profile: Profile, call: Call, onBinding: () => void): Promise<Refused | undefined> {
    const steps = placementSteps(profile);
    const refused = await this.#permit(pod, node, profile, call);
    if (refused) return refused;
    const uid = pod.metadata.uid ?? "";
    const tools: BindTools = {
      client: this.#context.client,
      cluster: this.#snapshot.shown,
      assumed: (resource) => this.#snapshot.assumedFor(uid, resource),
      clock: this.#context.clock,
    };
    for (const plugin of steps) {
      const work = plugin.beforeBind?.(pod, node, tools, call);
      if (work) await work;
    }
    onBinding();
    await this.#bindBySomeone(pod, node, profile, tools, call);
    for (const plugin of steps) plugin.bound?.(pod, node);
    return undefined;
  }

  async #permit(pod: Pod, node: Node, profile: Profile, call: Call): Promise<Refused | undefined> {
    const asked = placementSteps(profile).filter((plugin) => plugin.permit);
    if (asked.length === 0) return undefined;
    const held = new AbortController();
    const uid = pod.metadata.uid ?? "";
    this.#held.set(uid, held);
    const signal = AbortSignal.any([call.signal, held.signal]);
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    stopped.catch(() => {}); // Whoever waits for it below hears of it.
    try {
      for (const plugin of asked) {
        const reason = await Promise.race([plugin.permit?.(pod, node, { signal }), stopped]);
        if (reason) return { plugin: plugin.name, reason };
      }
      return undefined;
    } finally {
      this.#held.delete(uid);
    }
  }

  async #bindBySomeone(pod: Pod, node: Node, profile: Profile, tools: BindTools, call: Call): Promise<void> {
    const nodeName = node.metadata.name ?? "";
    for (const extender of this.#extenders) {
      if (!extender.does("bind") || !extender.isInterested(pod)) continue;
      try {
        return await extender.bind(pod, nodeName, call);
      } catch (error) {
        if (!extender.isIgnorable || call.signal.aborted) throw error;
        this.#context.log.info({ err: error, extender: extender.url }, "an extender that may fail did not bind");
      }
    }
    for (const plugin of placementSteps(profile)) if (await plugin.bind?.(pod, node, tools, call)) return;
    if (profile.bindsByApi === false) throw new Fault("invalid", "no plugin bound the pod");
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: nodeName },
    };
    await this.#context.client.create(resources.pods, binding, call, { namespace, name, subresource: "binding" });
  }
}
