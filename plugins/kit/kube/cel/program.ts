// Compiles CEL expressions against Kubernetes' environment and evaluates them within a budget, always without waiting.
// Loading this file loads the CEL library: go through `openCel()`.

import { Environment, Optional, ParseError } from "@marcbachmann/cel-js";
import { Fault } from "../../base/fault.ts";
import { checkTypes, type Issue } from "./check.ts";
import { registerFormatFunctions } from "./formats.ts";
import { registerNetworkFunctions, registerQuantityFunctions, registerUrlFunctions } from "./kubernetes-functions.ts";
import { registerListFunctions } from "./list-functions.ts";
import { type CelBudget, CelCostExceeded, exceeded, meter, walk, withBudget } from "./meter.ts";
import { registerTextFunctions, replacedMethods } from "./text-functions.ts";
import { type CelType, type Declared, dyn, formatType } from "./types.ts";

export interface CompileOptions {
  /** Names that the expression may use, with what is declared of each; of anything where that is nothing. */
  readonly variables: Readonly<Record<string, Declared | CelType | undefined>>;
  /** Whose sizes the cost is estimated from. */
  readonly sizesFrom?: Declared;
  /** What the expression must give; anything when unset. */
  readonly result?: "bool" | "string";
  /** What is said when it gives something else. */
  readonly wrongResult?: string;
  /** Adds functions and types of the caller's own; the same function must always be passed for the same variables. */
  readonly extend?: (env: Environment) => void;
}

export interface CelProgram {
  readonly expression: string;
  /** What evaluating it can cost at most, by the sizes that are declared. */
  readonly maxCost: number;
  /** The names of `variables` that it reads. */
  readonly reads: ReadonlySet<string>;
  /** Values must have gone through `toCel`. Fault `invalid` says what went wrong, in upstream's words where it has some. */
  evaluate(values: Readonly<Record<string, unknown>>, budget: CelBudget): unknown;
}

export const optionalValue = (value: unknown): unknown => (value === undefined ? Optional.none() : Optional.of(value));

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

/** What is wrong with an expression: where, why, and a mark below it, as upstream shows it. */
class CelIssues extends Fault {
  readonly issues: string;
  constructor(issues: string, cause?: unknown) {
    super("invalid", `compilation failed: ${issues}`, { cause });
    this.issues = issues;
  }
}

/** Throws `CelIssues`, and Fault `invalid` for an expression that gives the wrong type. */
export function compileCel(expression: string, options: CompileOptions): CelProgram {
  if (expression.length > longestExpression)
    throw new Fault("invalid", "compilation failed: the expression is too long");
  const parsed = parse(expression, options);
  const { issues, type, maxCost } = checkTypes(parsed.ast, options.variables, options.sizesFrom);
  if (issues.length > 0) throw new CelIssues(issues.map((issue) => shown(expression, issue)).join("\n"));
  const given = formatType(type);
  // What may be anything is only taken where that is expected.
  if (options.result && given !== options.result && !(given === "dyn" && !options.sizesFrom))
    throw new Fault("invalid", options.wrongResult ?? `must evaluate to ${options.result}`);
  const reads = new Set<string>();
  walk(parsed.ast, (node) => void (node.op === "id" && reads.add(String(node.args))));
  try {
    useOwnMethods(parsed.ast);
    const checked = parsed.check();
    if (!checked.valid) throw checked.error ?? new Fault("invalid", "the expression does not type-check");
  } catch (error) {
    throw libraryIssue(expression, error);
  }
  meter(parsed.ast);
  return {
    expression,
    maxCost,
    reads,
    evaluate: (values, budget) => withBudget(budget, () => run(parsed, values, options.result)),
  };
}

/** Only says what does not fit: `issues` is absent where everything does, and then `type` is what the expression gives. */
export function checkCel(
  expression: string,
  variables: CompileOptions["variables"],
): { readonly issues?: string; readonly type: CelType } {
  try {
    const { issues, type } = checkTypes(parse(expression, { variables }).ast, variables);
    if (issues.length === 0) return { type };
    return { issues: issues.map((issue) => shown(expression, issue)).join("\n"), type: dyn };
  } catch (error) {
    if (error instanceof CelIssues) return { issues: error.issues, type: dyn };
    throw error;
  }
}

function parse(expression: string, options: CompileOptions): ReturnType<Environment["parse"]> {
  try {
    return environmentFor(options).parse(expression);
  } catch (error) {
    throw libraryIssue(expression, error);
  }
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

function libraryIssue(expression: string, error: unknown): CelIssues {
  const { summary, message, range } = error as CelErrorLike;
  const said = ownNamesOut(summary ?? message).replace(
    /^Unknown variable: (.*)$/,
    "undeclared reference to '$1' (in container '')",
  );
  const kind = error instanceof ParseError ? "Syntax error: " : "";
  return new CelIssues(shown(expression, { at: range?.start ?? 0, message: `${kind}${said}` }), error);
}

function shown(expression: string, { at, message }: Issue): string {
  const before = expression.slice(0, at).split("\n");
  const column = before.at(-1)?.length ?? 0;
  const line = expression.split("\n")[before.length - 1] ?? "";
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${".".repeat(column)}^`;
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
