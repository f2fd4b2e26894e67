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
