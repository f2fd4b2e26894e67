// Asks each node's kubelet what it and its pods use, and keeps the answer for a moment so that many readers cost one question.

import { type Call, within } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { NodeConnector } from "../connect/connector.ts";

interface Used {
  readonly time?: string;
  readonly usageNanoCores?: number;
}

export interface UsedResources {
  readonly cpu?: Used;
  readonly memory?: { readonly time?: string; readonly workingSetBytes?: number };
}

export interface NodeSummary {
  readonly node: UsedResources;
  readonly pods?: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
    readonly containers?: readonly (UsedResources & { readonly name: string })[];
  }[];
}

const keepMs = 5_000;
const answerWithinMs = 5_000;
const target = "/stats/summary?only_cpu_and_memory=true";

export class NodeSummaries {
  readonly #connector: NodeConnector;
  readonly #clock: Clock;
  readonly #kept = new Map<string, { until: number; value: Promise<NodeSummary | undefined> }>();

  constructor(connector: NodeConnector, clock: Clock) {
    this.#connector = connector;
    this.#clock = clock;
  }

  /** Undefined where the node does not answer: its numbers are missing, which is what readers expect. */
  of(node: Node, call: Call): Promise<NodeSummary | undefined> {
    const now = this.#clock.monotonic();
    const key = node.metadata.uid ?? node.metadata.name ?? "";
    const kept = this.#kept.get(key);
    if (kept && kept.until > now) return kept.value;
    for (const [other, { until }] of this.#kept) if (until <= now) this.#kept.delete(other);
    const value = this.#ask(node, call);
    this.#kept.set(key, { until: now + keepMs, value });
    return value;
  }

  async #ask(node: Node, call: Call): Promise<NodeSummary | undefined> {
    try {
      const request = { method: "GET", headers: new Headers({ accept: "application/json" }) };
      // Not the caller's own call: others wait for the same answer.
      const { signal } = within(answerWithinMs);
      const to = { kind: "node", node, path: target } as const;
      const response = await this.#connector.fetch(to, request, { signal });
      const text = await response.text();
      return response.status === 200 ? (JSON.parse(text) as NodeSummary) : undefined;
    } catch {
      if (call.signal.aborted) this.#kept.delete(node.metadata.uid ?? node.metadata.name ?? "");
      return undefined;
    }
  }
}
