// Conditions in a status: one of each type, and its time moves only when its answer does.

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
}

/** Seconds are all that Kubernetes keeps of a time. */
export function timestamp(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: Omit<C, "lastTransitionTime">,
  now: number,
): C[] {
  const known = conditions?.find(({ type }) => type === next.type);
  const isSame = known?.status === next.status;
  const lastTransitionTime = isSame && known?.lastTransitionTime ? known.lastTransitionTime : timestamp(now);
  const made = { ...next, lastTransitionTime } as unknown as C;
  if (!known) return [...(conditions ?? []), made];
  return (conditions ?? []).map((condition) => (condition.type === next.type ? made : condition));
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}
