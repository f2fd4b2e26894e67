// Keeps one nftables table as its owners want it: each commit is one transaction with only what changed, and a check notices
// when somebody else changed or flushed the table and writes it anew. Never touches another table.

import type { Call } from "../../kit/base/call.ts";
import { isFault } from "../../kit/base/fault.ts";
import type { Log } from "../../kit/base/log.ts";
import type { Nft, NftObject } from "../../kit/os/net/nft.ts";
import type { Plan } from "./plan.ts";
import { deltaScript } from "./script.ts";
import { isEmptyDelta, TableState } from "./state.ts";

export interface OwnedTableOptions {
  readonly nft: Nft;
  /** With its family: `inet skiff_services`. */
  readonly table: string;
  /** Lines that make the fixed parts: sets, base chains and their rules. The table itself is there before them. */
  readonly base: readonly string[];
  readonly log: Log;
}

export class OwnedTable {
  readonly #options: OwnedTableOptions;
  readonly #state = new TableState();
  /** Rules by chain as the kernel printed them when they were last known to be right. */
  #baseline: Map<string, string> | undefined;
  #isWritten = false;

  constructor(options: OwnedTableOptions) {
    this.#options = options;
  }

  owners(): string[] {
    return this.#state.owners();
  }

  /** False until the first commit, and after one that the kernel refused: the next writes everything. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Takes note; nothing is written before `commit`. */
  update(owner: string, plan: Plan | undefined): void {
    this.#state.update(owner, plan);
  }

  /** Brings the kernel in step. Returns how many bytes of script it took; 0 when nothing changed. */
  async commit(call: Call): Promise<number> {
    const delta = this.#state.takeDelta();
    if (!this.#isWritten) return this.#rewrite(call);
    if (isEmptyDelta(delta)) return 0;
    const script = deltaScript(this.#options.table, delta);
    try {
      await this.#options.nft.run(script, call);
      this.#baseline = undefined;
      return script.length;
    } catch (error) {
      this.#isWritten = false;
      if (!isFault(error, "not-found", "already-exists", "conflict")) throw error;
      this.#options.log.warn(
        { err: error, table: this.#options.table },
        "the table was not as it was left; writing it anew",
      );
      return this.#rewrite(call);
    }
  }

  async #rewrite(call: Call): Promise<number> {
    const { nft, table, base } = this.#options;
    const script = [
      `add table ${table}`,
      `delete table ${table}`,
      `add table ${table}`,
      ...base,
      deltaScript(table, this.#state.whole()),
    ].join("\n");
    await nft.run(script, call);
    this.#state.takeDelta();
    this.#isWritten = true;
    this.#baseline = undefined;
    return script.length;
  }

  /** Compares the kernel's table with what was written; writes it anew when it differs. True when it had to. */
  async verify(call: Call): Promise<boolean> {
    if (!this.#isWritten) return false;
    const observed = await this.#observe(call);
    const wrong = observed && this.#difference(observed);
    if (observed && !wrong) {
      this.#baseline ??= observed.rules;
      return false;
    }
    this.#options.log.warn(
      { table: this.#options.table, because: wrong ?? "it is gone" },
      "somebody changed the table; writing it anew",
    );
    await this.#rewrite(call);
    return true;
  }

  #difference(observed: Observed): string | undefined {
    for (const [chain, count] of this.#state.chainNames())
      if (observed.ruleCounts.get(chain) !== count) return `chain "${chain}" is not as written`;
    for (const [set, count] of this.#state.elementCounts())
      if ((observed.elementCounts.get(set) ?? 0) !== count) return `set "${set}" is not as written`;
    for (const [chain, rules] of this.#baseline ?? [])
      if (observed.rules.get(chain) !== rules) return `chain "${chain}" was edited`;
    return undefined;
  }

  async #observe(call: Call): Promise<Observed | undefined> {
    let listed: NftObject[];
    try {
      listed = await this.#options.nft.list(`list table ${this.#options.table}`, call);
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
    return observe(listed);
  }

  /** Removes the table and everything in it. */
  async remove(call: Call): Promise<void> {
    const { nft, table } = this.#options;
    await nft.run(`add table ${table}\ndelete table ${table}`, call);
    this.#isWritten = false;
  }
}

interface Observed {
  readonly ruleCounts: Map<string, number>;
  readonly elementCounts: Map<string, number>;
  readonly rules: Map<string, string>;
}

function observe(listed: readonly NftObject[]): Observed {
  const rules = new Map<string, unknown[]>();
  const elementCounts = new Map<string, number>();
  for (const entry of listed) {
    const chain = entry.chain as { name: string } | undefined;
    if (chain) rules.set(chain.name, rules.get(chain.name) ?? []);
    const rule = entry.rule as { chain: string; expr: unknown } | undefined;
    if (rule) rules.set(rule.chain, [...(rules.get(rule.chain) ?? []), rule.expr]);
    const set = (entry.set ?? entry.map) as { name: string; elem?: unknown[] } | undefined;
    if (set) elementCounts.set(set.name, set.elem?.length ?? 0);
  }
  return {
    ruleCounts: new Map([...rules].map(([name, exprs]) => [name, exprs.length])),
    elementCounts,
    // Counters move by themselves.
    rules: new Map(
      [...rules].map(([name, exprs]) => [name, JSON.stringify(exprs).replace(/"(packets|bytes)":\d+/g, "")]),
    ),
  };
}
