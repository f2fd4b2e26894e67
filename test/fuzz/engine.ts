// Runs a target: every seed, then mutations of what is known, keeping inputs that reach new behaviour.

import { mutate, Random } from "./mutate.ts";
import type { Target } from "./target.ts";

export interface Options {
  readonly seed: number;
  /** Whether another input is wanted after so many. */
  readonly wants: (runs: number) => boolean;
  /** Before each input runs: whoever outlives a crash knows the input. */
  readonly onInput?: (input: Buffer) => void;
  /** The blocks of code that ran since the last call. Costly, so it is called once per batch of inputs. */
  readonly covered?: () => Promise<Set<string>>;
}

export interface Outcome {
  readonly runs: number;
  /** Inputs that reached something new, and how many shapes of outcomes and blocks of code there were. */
  readonly kept: number;
  readonly shapes: number;
  readonly blocks: number;
  readonly finding?: { readonly input: Buffer; readonly error: unknown };
}

const mostKept = 4000;
/** Texts of refusals may quote the input: beyond so many, a new one is no longer a sign of new behaviour. */
const mostShapes = 400;
const batch = 256;

export async function fuzz(target: Target, options: Options): Promise<Outcome> {
  const run = new Run(target, options);
  try {
    await run.seeds();
    while (options.wants(run.runs)) await run.batch();
    return run.outcome();
  } catch (error) {
    return { ...run.outcome(), finding: { input: run.current, error } };
  }
}

class Run {
  readonly #target: Target;
  readonly #options: Options;
  readonly #random: Random;
  readonly #known: Buffer[] = [];
  readonly #shapes = new Set<string>();
  readonly #blocks = new Set<string>();
  readonly #builtIns = builtInNames();
  runs = 0;
  current: Buffer = Buffer.alloc(0);

  constructor(target: Target, options: Options) {
    this.#target = target;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  outcome(): Outcome {
    return { runs: this.runs, kept: this.#known.length, shapes: this.#shapes.size, blocks: this.#blocks.size };
  }

  async seeds(): Promise<void> {
    for (const seed of this.#target.corpus) {
      const input = Buffer.from(seed as Uint8Array);
      await this.#run(input);
      this.#keep(input);
    }
    for (const block of (await this.#options.covered?.()) ?? []) this.#blocks.add(block);
  }

  async batch(): Promise<void> {
    const tried: Buffer[] = [];
    for (let left = batch; left > 0 && this.#options.wants(this.runs); left--) {
      const input = mutate(this.#random.pick(this.#known), this.#random, this.#known, this.#target.words ?? []);
      if (await this.#run(input)) this.#keep(input);
      tried.push(input);
    }
    if (this.#options.covered) await this.#keepNewCode(tried, this.#options.covered);
  }

  /** Runs a batch that reached new code once more, to find out which inputs those were. */
  async #keepNewCode(tried: readonly Buffer[], covered: () => Promise<Set<string>>): Promise<void> {
    const fresh = new Set<string>();
    for (const block of await covered()) if (!this.#blocks.has(block)) fresh.add(block);
    for (const block of fresh) this.#blocks.add(block);
    for (const input of tried) {
      if (fresh.size === 0 || !this.#options.wants(this.runs)) return;
      await this.#run(input);
      const left = fresh.size;
      for (const block of await covered()) fresh.delete(block);
      if (fresh.size < left) this.#keep(input);
    }
  }

  /** Whether the outcome is of a new shape. */
  async #run(input: Buffer): Promise<boolean> {
    this.runs++;
    this.current = input;
    this.#options.onInput?.(input);
    // The target gets a copy: decoders may hold on to parts of it, or write into it.
    const shape = await this.#target.run(Buffer.from(input));
    if (builtInNames() !== this.#builtIns) throw new Error("the input changed a built-in prototype");
    if (this.#shapes.size >= mostShapes || this.#shapes.has(shape)) return false;
    this.#shapes.add(shape);
    return true;
  }

  #keep(input: Buffer): void {
    if (this.#known.length < mostKept) this.#known.push(input);
    else this.#known[this.#random.below(this.#known.length)] = input;
  }
}

function builtInNames(): string {
  return [Object, Array, String, Number, Function, Map, Buffer]
    .map(({ prototype }) => Object.getOwnPropertyNames(prototype).length)
    .join();
}
