// What admission charged to quotas lately. An object is charged before it is stored, so that of what was charged a moment ago some may not
// be there to be counted yet.

import {
  addQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantity,
  zeroQuantity,
} from "../../../plugins/kit/kube/quantity.ts";

type Amounts = Readonly<Record<string, string>>;

interface Charge {
  readonly at: number;
  readonly name: string;
  readonly amount: Quantity;
}

export class RecentCharges {
  readonly #windowMs: number;
  readonly #chargesByKey = new Map<string, Charge[]>();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** The quota's use went from one to the other. */
  note(key: string, before: Amounts | undefined, after: Amounts | undefined, now: number): void {
    const charges = this.#within(key, now);
    for (const [name, amount] of Object.entries(after ?? {})) {
      const more = subtractQuantity(parseQuantity(amount), parseQuantity(before?.[name] ?? "0"));
      if (compareQuantity(more, zeroQuantity) > 0) charges.push({ at: now, name, amount: more });
    }
    if (charges.length > 0) this.#chargesByKey.set(key, charges);
    else this.#chargesByKey.delete(key);
  }

  forget(key: string): void {
    this.#chargesByKey.delete(key);
  }

  /** Milliseconds until the last of them is old; 0 where there is none. */
  quietIn(key: string, now: number): number {
    const last = this.#within(key, now).at(-1);
    return last ? last.at + this.#windowMs - now : 0;
  }

  /** What is counted, and what may be on its way; but for that, no more than the quota says already. */
  withThese(key: string, counted: Amounts, said: Amounts | undefined, now: number): Record<string, string> {
    const used = new Map(Object.entries(counted).map(([name, amount]) => [name, parseQuantity(amount)]));
    for (const { name, amount } of this.#within(key, now)) {
      const sum = used.get(name);
      if (sum) used.set(name, addQuantity(sum, amount));
    }
    return Object.fromEntries(
      [...used].map(([name, sum]) => {
        const own = parseQuantity(counted[name] ?? "0");
        const most = parseQuantity(said?.[name] ?? "0");
        const lowered = compareQuantity(sum, most) < 0 ? sum : most;
        return [name, formatQuantity(compareQuantity(own, lowered) > 0 ? own : lowered)];
      }),
    );
  }

  #within(key: string, now: number): Charge[] {
    return (this.#chargesByKey.get(key) ?? []).filter(({ at }) => now - at < this.#windowMs);
  }
}
