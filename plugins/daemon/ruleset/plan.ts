// What one owner (a service, a policy) wants in an nftables table: chains with rules, sets, and elements of shared sets. Pure data.

export interface Plan {
  /** Rules by chain name, in order, without the `add rule` before them. */
  readonly chains: Map<string, string[]>;
  /** Declarations by set or map name, such as `set { type ipv4_addr; }`. Another declaration needs another name: the kernel changes none. */
  readonly sets: Map<string, string>;
  /** Elements by set name, then by key; the value is what a map gives, or "" in a set. Several owners may want the same. */
  readonly elements: Map<string, Map<string, string>>;
}

export function emptyPlan(): Plan {
  return { chains: new Map(), sets: new Map(), elements: new Map() };
}

export function addElement(plan: Plan, set: string, key: string, value = ""): void {
  const elements = plan.elements.get(set) ?? new Map<string, string>();
  plan.elements.set(set, elements);
  // The first wish wins, as in the kernel.
  if (!elements.has(key)) elements.set(key, value);
}
