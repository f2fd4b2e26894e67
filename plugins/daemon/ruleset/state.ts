// The wanted content of a table as the sum of its owners' plans, and which parts of it changed since they were last written.

import type { Plan } from "./plan.ts";

/** What stands under one name: nothing when undefined. */
interface Change<V> {
  readonly before: V | undefined;
  readonly after: V | undefined;
}

/** Names that changed, with what the kernel holds and what it should. */
export interface Delta {
  readonly chains: ReadonlyMap<string, Change<readonly string[]>>;
  readonly sets: ReadonlyMap<string, Change<string>>;
  readonly elements: ReadonlyMap<string, ReadonlyMap<string, Change<string>>>;
}

/** A value per name that several owners may want; the first to want it decides. */
class Shared<V> {
  readonly #wishes = new Map<string, Map<string, V>>();
  readonly #before = new Map<string, V | undefined>();

  get(name: string): V | undefined {
    for (const value of this.#wishes.get(name)?.values() ?? []) return value;
    return undefined;
  }

  set(owner: string, name: string, value: V | undefined): void {
    if (!this.#before.has(name)) this.#before.set(name, this.get(name));
    const wishes = this.#wishes.get(name) ?? new Map<string, V>();
    if (value === undefined) wishes.delete(owner);
    else wishes.set(owner, value);
    if (wishes.size > 0) this.#wishes.set(name, wishes);
    else this.#wishes.delete(name);
  }

  takeChanges(): Map<string, Change<V>> {
    const changes = new Map<string, Change<V>>();
    for (const [name, before] of this.#before) {
      const after = this.get(name);
      if (JSON.stringify(before) !== JSON.stringify(after)) changes.set(name, { before, after });
    }
    this.#before.clear();
    return changes;
  }

  all(): Map<string, V> {
    return new Map([...this.#wishes.keys()].map((name) => [name, this.get(name) as V]));
  }
}

export class TableState {
  readonly #plans = new Map<string, Plan>();
  readonly #chains = new Shared<readonly string[]>();
  readonly #sets = new Shared<string>();
  readonly #elements = new Map<string, Shared<string>>();

  owners(): string[] {
    return [...this.#plans.keys()];
  }

  /** Replaces what the owner wants; undefined is nothing. */
  update(owner: string, plan: Plan | undefined): void {
    const before = this.#plans.get(owner);
    for (const [name, rules] of plan?.chains ?? []) this.#chains.set(owner, name, rules);
    for (const [name, text] of plan?.sets ?? []) this.#sets.set(owner, name, text);
    for (const [set, elements] of plan?.elements ?? [])
      for (const [key, value] of elements) this.#of(set).set(owner, key, value);
    for (const name of before?.chains.keys() ?? [])
      if (!plan?.chains.has(name)) this.#chains.set(owner, name, undefined);
    for (const name of before?.sets.keys() ?? []) if (!plan?.sets.has(name)) this.#sets.set(owner, name, undefined);
    for (const [set, elements] of before?.elements ?? [])
      for (const key of elements.keys())
        if (!plan?.elements.get(set)?.has(key)) this.#of(set).set(owner, key, undefined);
    if (plan) this.#plans.set(owner, plan);
    else this.#plans.delete(owner);
  }

  #of(set: string): Shared<string> {
    const found = this.#elements.get(set) ?? new Shared<string>();
    this.#elements.set(set, found);
    return found;
  }

  /** What changed since the last call; the caller writes it. */
  takeDelta(): Delta {
    const elements = new Map<string, Map<string, Change<string>>>();
    for (const [set, shared] of this.#elements) {
      const changes = shared.takeChanges();
      if (changes.size > 0) elements.set(set, changes);
    }
    return { chains: this.#chains.takeChanges(), sets: this.#sets.takeChanges(), elements };
  }

  /** Everything, as a change from nothing. */
  whole(): Delta {
    const fromNothing = <V>(all: Map<string, V>) =>
      new Map([...all].map(([name, after]) => [name, { before: undefined, after }]));
    return {
      chains: fromNothing(this.#chains.all()),
      sets: fromNothing(this.#sets.all()),
      elements: new Map([...this.#elements].map(([set, shared]) => [set, fromNothing(shared.all())])),
    };
  }

  chainNames(): Map<string, number> {
    return new Map([...this.#chains.all()].map(([name, rules]) => [name, rules.length]));
  }

  elementCounts(): Map<string, number> {
    return new Map([...this.#elements].map(([set, shared]) => [set, shared.all().size]));
  }
}

export function isEmptyDelta(delta: Delta): boolean {
  return delta.chains.size === 0 && delta.sets.size === 0 && delta.elements.size === 0;
}
