// Why a pod fits nowhere, in the words that people know: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) …".

export interface FitError {
  readonly nodeCount: number;
  /** How many nodes gave each reason. */
  readonly countByReason: ReadonlyMap<string, number>;
  /** Filters that said no: their `retryOn` decides when to try again. */
  readonly plugins: ReadonlySet<string>;
  /** Nodes where preemption cannot help. */
  readonly finalNodes: ReadonlySet<string>;
  /** Set when a filter refused every node at once. */
  readonly rejection?: string;
}

/** Collects why nodes do not do. */
export class Refusals implements FitError {
  readonly nodeCount: number;
  readonly countByReason = new Map<string, number>();
  readonly plugins = new Set<string>();
  readonly finalNodes = new Set<string>();
  rejection?: string;

  constructor(nodeCount: number) {
    this.nodeCount = nodeCount;
  }

  add(nodeName: string, refusal: { plugin: string; reasons: readonly string[]; final: boolean }): void {
    this.plugins.add(refusal.plugin);
    if (refusal.final) this.finalNodes.add(nodeName);
    for (const reason of refusal.reasons) this.countByReason.set(reason, (this.countByReason.get(reason) ?? 0) + 1);
  }

  rejectAll(plugin: string, reason: string, nodes: readonly { readonly name: string }[]): void {
    this.plugins.add(plugin);
    this.rejection = reason;
    for (const { name } of nodes) this.finalNodes.add(name);
  }
}

export function describeFit(error: Pick<FitError, "nodeCount" | "countByReason" | "rejection">): string {
  if (error.nodeCount === 0) return "no nodes available to schedule pods";
  const head = `0/${error.nodeCount} nodes are available`;
  if (error.rejection) return `${head}: ${error.rejection}.`;
  const reasons = [...error.countByReason].map(([reason, count]) => `${count} ${reason}`).sort();
  return reasons.length === 0 ? `${head}.` : `${head}: ${reasons.join(", ")}.`;
}

/** Why taking other pods away would not help either. */
export function describePreemption(error: Pick<FitError, "nodeCount" | "finalNodes">): string {
  const unhelpful = error.finalNodes.size;
  const without = error.nodeCount - unhelpful;
  const parts = [
    ...(without > 0 ? [`${without} No preemption victims found for incoming pod`] : []),
    ...(unhelpful > 0 ? [`${unhelpful} Preemption is not helpful for scheduling`] : []),
  ];
  return `0/${error.nodeCount} nodes are available: ${parts.join(", ")}.`;
}
