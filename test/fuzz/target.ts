// What a fuzz target is: a decoder of bytes from outside, seeds to start from, and what must hold for every input.

import { isFault } from "../../plugins/kit/base/fault.ts";

export interface Target {
  readonly name: string;
  /** Small inputs, valid ones and regressions of what was found; text is taken as UTF-8. */
  readonly corpus: readonly (string | Uint8Array)[];
  /** Words of the format, which mutations insert. */
  readonly words?: readonly string[];
  /** Inputs of the short form; fewer for targets that open connections or write files. */
  readonly shortRuns?: number;
  /** Absent where it runs on both. */
  readonly runtimes?: readonly ("node" | "deno")[];
  /** Whether a run needs root. */
  readonly needsRoot?: boolean;
  /** Once, before the first run. */
  open?(): Promise<void>;
  /** Throws for a finding. Returns the shape of the outcome: what counts as new behaviour where no coverage is measured. */
  run(input: Buffer): string | Promise<string>;
  close?(): Promise<void>;
}

/** Runs a decoder. Faults are how decoders refuse; everything else that is thrown is a finding. */
export function attempt<T>(decode: () => T, use: (value: T) => string = () => "ok"): string {
  let value: T;
  try {
    value = decode();
  } catch (error) {
    return refusal(error);
  }
  return use(value);
}

/** The shape of a refusal; throws what is none. */
export function refusal(error: unknown): string {
  if (!isFault(error) || error.code === "internal") throw error;
  return `${error.code}: ${template(error.message)}`;
}

/** A message without what came from the input, so that one kind of refusal is one shape. */
function template(message: string): string {
  return message
    .replace(/["'].*["']/s, "_")
    .replace(/[^A-Za-z _]+/g, "0")
    .slice(0, 48);
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}
