// The door to CEL: loads the library when the first expression comes, because most processes never meet one.

import type { CelBudget } from "./cel/meter.ts";
import type { checkCel, compileCel } from "./cel/program.ts";
import type { declared } from "./cel/types.ts";
import type { fromCel, toCel } from "./cel/values.ts";

export type { CelBudget } from "./cel/meter.ts";
export type { CelProgram } from "./cel/program.ts";
export type { CelType, Declared } from "./cel/types.ts";
export type { CelSchema } from "./cel/values.ts";

/** Upstream's limits: of one expression, and of all expressions on one object. */
export const costOfOneExpression = 1_000_000;
export const costOfOneObject = 10_000_000;

export interface Cel {
  readonly compile: typeof compileCel;
  readonly check: typeof checkCel;
  readonly toCel: typeof toCel;
  readonly fromCel: typeof fromCel;
  /** What a schema declares to the checker. */
  readonly declare: typeof declared;
  /** A value that may be absent, as expressions see such. */
  optional(value: unknown): unknown;
  budget(units: number): CelBudget;
}

let loaded: Promise<Cel> | undefined;

export function openCel(): Promise<Cel> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Cel> {
  const [program, types, values, metering] = await Promise.all([
    import("./cel/program.ts"),
    import("./cel/types.ts"),
    import("./cel/values.ts"),
    import("./cel/meter.ts"),
  ]);
  return {
    compile: program.compileCel,
    check: program.checkCel,
    toCel: values.toCel,
    fromCel: values.fromCel,
    declare: types.declared,
    optional: program.optionalValue,
    budget: (units) => new metering.CelBudget(units),
  };
}
