// Compiles CEL expressions against Kubernetes' environment and evaluates them within a budget, always without waiting.
// Loading this file loads the CEL library: go through `openCel()`.

import { Environment, Optional, ParseError } from "@marcbachmann/cel-js";
import { Fault } from "../fault.ts";
import { undefinedField } from "./fields.ts";
import { registerFormatFunctions } from "./formats.ts";
import { registerNetworkFunctions, registerQuantityFunctions, registerUrlFunctions } from "./kubernetes-functions.ts";
import { registerListFunctions } from "./list-functions.ts";
import { type CelBudget, CelCostExceeded, exceeded, meter, walk, withBudget } from "./meter.ts";
import { registerTextFunctions, replacedMethods } from "./text-functions.ts";
import type { CelSchema } from "./values.ts";

export interface CompileOptions {
  /** Names that the expression may use, with the schema of each where there is one. */
  readonly variables: Readonly<Record<string, CelSchema | undefined>>;
  /** What the expression must give; anything when unset. */
  readonly result?: "bool" | "string";
  /** Adds functions and types of the caller's own; the same function must always be passed for the same variables. */
  readonly extend?: (env: Environment) => void;
}

export interface CelProgram {
  readonly expression: string;
  /** Values must have gone through `toCel`. Fault `invalid` says what went wrong, in upstream's words where it has some. */
  evaluate(values: Readonly<Record<string, unknown>>, budget: CelBudget): unknown;
}

let base: Environment | undefined;
const environments = new Map<string, Environment>();
const longestExpression = 64 * 1024;

function environmentFor({ variables, extend }: CompileOptions): Environment {
  const key = `${Object.keys(variables).join()} ${extend?.name ?? ""}`;
  let env = environments.get(key);
  if (!env) {
    base ??= kubernetesEnvironment();
    env = base.clone();
    for (const name of Object.keys(variables)) env.registerVariable(name, "dyn");
    extend?.(env);
    environments.set(key, env);
  }
  return env;
}

function kubernetesEnvironment(): Environment {
  const env = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxAstNodes: 20_000, maxDepth: 200, maxListElements: 1000, maxMapEntries: 1000 },
  });
  registerTextFunctions(env);
  registerListFunctions(env);
  registerQuantityFunctions(env);
  registerUrlFunctions(env);
  registerNetworkFunctions(env);
  registerFormatFunctions(env, Optional);
  return env;
}

/** Fault `invalid` with upstream's kind of message: place, cause and a caret below the expression. */
export function compileCel(expression: string, options: CompileOptions): CelProgram {
  if (expression.length > longestExpression)
    throw new Fault("invalid", "compilation failed: the expression is too long");
  let parsed: ReturnType<Environment["parse"]>;
  try {
    parsed = environmentFor(options).parse(expression);
    useOwnMethods(parsed.ast);
    const wrong = undefinedField(parsed.ast, options.variables);
    if (wrong !== undefined) throw new Fault("invalid", `undefined field '${wrong}'`);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error ?? new Fault("invalid", "the expression does not type-check");
    if (options.result && checked.type !== options.result && checked.type !== "dyn") {
      throw new Fault("invalid", `must evaluate to ${options.result}`);
    }
  } catch (error) {
    throw compilationFault(expression, error);
  }
  meter(parsed.ast);
  return {
    expression,
    evaluate: (values, budget) => withBudget(budget, () => run(parsed, values, options.result)),
  };
}

/** The library cannot be told to use another implementation of a method, so the calls are renamed. */
function useOwnMethods(ast: unknown): void {
  walk(ast, (node) => {
    if (node.op !== "rcall" || !Array.isArray(node.args)) return;
    const own = replacedMethods[String(node.args[0])];
    if (own && Object.hasOwn(replacedMethods, String(node.args[0]))) node.args[0] = own;
  });
}

function run(parsed: ReturnType<Environment["parse"]>, values: object, expected: CompileOptions["result"]): unknown {
  let result: unknown;
  try {
    result = parsed(values as Record<string, unknown>) as unknown;
  } catch (error) {
    throw evaluationFault(error);
  }
  if (expected && typeof result !== (expected === "bool" ? "boolean" : "string")) {
    throw new Fault("invalid", `expected ${expected} but the expression gave ${typeof result}`);
  }
  return result;
}

interface CelErrorLike extends Error {
  summary?: string;
  range?: { start: number };
}

function compilationFault(expression: string, error: unknown): Fault {
  const { summary, message, range } = error as CelErrorLike;
  const before = expression.slice(0, range?.start ?? 0).split("\n");
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split("\n")[before.length - 1] ?? "";
  const said = ownNamesOut(summary ?? message).replace(
    /^Unknown variable: (.*)$/,
    "undeclared reference to '$1' (in container '')",
  );
  const kind = error instanceof ParseError ? "Syntax error: " : "";
  const text = `compilation failed: ERROR: <input>:${before.length}:${column + 1}: ${kind}${said}\n | ${line}\n | ${".".repeat(column)}^`;
  return new Fault("invalid", text, { cause: error });
}

function evaluationFault(error: unknown): Fault {
  if (error instanceof CelCostExceeded) return error;
  // The stack of a deep value or expression is as finite as the budget.
  if (error instanceof RangeError) return exceeded;
  if (error instanceof Fault) return error;
  const { summary, message } = error as CelErrorLike;
  const said = ownNamesOut(summary ?? message).replace(/^No such key/, "no such key");
  return new Fault("invalid", said, { cause: error });
}

function ownNamesOut(text: string): string {
  return Object.entries(replacedMethods).reduce((said, [name, own]) => said.replaceAll(own, name), text);
}
