// Writes a delta as one nftables transaction, in the order that references need: new chains and sets, elements out,
// elements in, rules, and last the chains and sets that nothing points to any more. Pure.

import type { Delta } from "./state.ts";

export function deltaScript(table: string, delta: Delta): string {
  const lines: string[] = [];
  for (const [name, { before, after }] of delta.sets)
    if (before === undefined && after !== undefined) lines.push(declare(table, name, after));
  for (const [name, { before, after }] of delta.chains)
    if (before === undefined && after !== undefined) lines.push(`add chain ${table} ${name}`);
  // Elements before rules: the kernel looks at every rule that uses a set for each element that comes in.
  for (const [set, changes] of delta.elements) {
    const gone = [...changes].filter(([, { before }]) => before !== undefined).map(([key]) => key);
    lines.push(...inBatches(gone, (keys) => `delete element ${table} ${set} { ${keys.join(", ")} }`));
  }
  for (const [set, changes] of delta.elements) {
    const fresh = [...changes]
      .filter(([, { after }]) => after !== undefined)
      .map(([key, { after }]) => (after ? `${key} : ${after}` : key));
    lines.push(...inBatches(fresh, (elements) => `add element ${table} ${set} { ${elements.join(", ")} }`));
  }
  for (const [name, { before, after }] of delta.chains) {
    if (before !== undefined) lines.push(`flush chain ${table} ${name}`);
    for (const rule of after ?? []) lines.push(`add rule ${table} ${name} ${rule}`);
  }
  for (const [name, { after }] of delta.chains) if (after === undefined) lines.push(`delete chain ${table} ${name}`);
  for (const [name, { after }] of delta.sets) if (after === undefined) lines.push(`delete set ${table} ${name}`);
  return lines.join("\n");
}

function declare(table: string, name: string, text: string): string {
  const space = text.indexOf(" ");
  return `add ${text.slice(0, space)} ${table} ${name} ${text.slice(space + 1)}`;
}

function inBatches(items: readonly string[], write: (batch: string[]) => string): string[] {
  const size = 500;
  const lines: string[] = [];
  for (let at = 0; at < items.length; at += size) lines.push(write(items.slice(at, at + size)));
  return lines;
}
