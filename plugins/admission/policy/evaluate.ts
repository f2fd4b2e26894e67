// Evaluates one policy for one request and one parameter: what it denies, and what it wants noted.

import type { Call } from "../../kit/base/call.ts";
import { type Cel, type CelBudget, type CelProgram, costOfOneExpression, costOfOneObject } from "../../kit/kube/cel.ts";
import { Fault } from "../../kit/base/fault.ts";
import { authorizerFunctions } from "../cel/authorizer.ts";
import { type AdmissionValues, declarations } from "../cel/variables.ts";
import type { Policy, Validation } from "./objects.ts";

export interface Denial {
  readonly message: string;
  readonly reason: string;
  readonly expressionIndex: number;
}

export interface Outcome {
  readonly denials: readonly Denial[];
  readonly annotations: Readonly<Record<string, string>>;
}

/** Compiled once for each stored policy. A part that does not compile throws when it is used. */
interface Compiled {
  readonly variables: readonly { name: string; program: () => CelProgram }[];
  readonly validations: readonly { source: Validation; program: () => CelProgram; message?: () => CelProgram }[];
  readonly annotations: readonly { key: string; program: () => CelProgram }[];
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";
const compiledPolicies = new WeakMap<Policy, Compiled>();

function compile(cel: Cel, policy: Policy): Compiled {
  const known = compiledPolicies.get(policy);
  if (known) return known;
  const lazily = (expression: string, result?: "bool" | "string") => {
    let program: CelProgram | undefined;
    return () => {
      program ??= cel.compile(expression, {
        variables: declarations,
        extend: authorizerFunctions,
        ...(result ? { result } : {}),
      });
      return program;
    };
  };
  const { spec } = policy;
  const compiled: Compiled = {
    variables: (spec.variables ?? []).map(({ name, expression }) => ({ name, program: lazily(expression) })),
    validations: (spec.validations ?? []).map((source) => ({
      source,
      program: lazily(source.expression, "bool"),
      ...(source.messageExpression ? { message: lazily(source.messageExpression, "string") } : {}),
    })),
    annotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      program: lazily(valueExpression),
    })),
  };
  compiledPolicies.set(policy, compiled);
  return compiled;
}

export async function evaluatePolicy(
  cel: Cel,
  policy: Policy,
  { values, session }: AdmissionValues,
  params: unknown,
  call: Call,
): Promise<Outcome> {
  const compiled = compile(cel, policy);
  const budget = cel.budget(costOfOneObject);
  const own: Record<string, unknown> = { ...values, params: params === undefined ? null : cel.toCel(params) };
  own.variables = lazyVariables(compiled, own, budget);
  const isFailClosed = policy.spec.failurePolicy !== "Ignore";
  const run = async (program: () => CelProgram) => {
    try {
      return await session.evaluate(program(), own, budget.share(costOfOneExpression), call);
    } catch (error) {
      if (budget.left >= 0) throw error;
      throw new Fault("invalid", outOfBudget, { cause: error });
    }
  };
  const denials: Denial[] = [];
  for (const [expressionIndex, { source, program, message }] of compiled.validations.entries()) {
    const expression = source.expression.trim();
    const reason = source.reason ?? "Invalid";
    try {
      if ((await run(program)) === true) continue;
      const said =
        (message && (await messageFrom(() => run(message)))) ||
        source.message?.trim() ||
        `failed expression: ${expression}`;
      denials.push({ message: said, reason, expressionIndex });
    } catch (error) {
      if (!isFailClosed) continue;
      const { message: said } = error as Error;
      const text = said === outOfBudget ? said : `expression '${expression}' resulted in error: ${said}`;
      denials.push({ message: text, reason, expressionIndex });
      if (said === outOfBudget) return { denials, annotations: {} };
    }
  }
  const annotations: Record<string, string> = {};
  for (const { key, program } of compiled.annotations) {
    try {
      const value = await run(program);
      if (typeof value === "string" && value.trim() !== "") annotations[key] = value.slice(0, 10_240);
    } catch (error) {
      if (isFailClosed)
        denials.push({
          message: `auditAnnotation '${key}' resulted in error: ${(error as Error).message}`,
          reason: "Invalid",
          expressionIndex: 0,
        });
    }
  }
  return { denials, annotations };
}

/** A message that cannot be made, or is of several lines or too long, falls back to the plain one. */
async function messageFrom(make: () => Promise<unknown>): Promise<string | undefined> {
  try {
    const text = String(await make()).trim();
    return text === "" || text.includes("\n") || text.length > 5120 ? undefined : text;
  } catch {
    // Upstream falls back in the same way.
    return undefined;
  }
}

/** `variables.x` is evaluated when it is first read, and once. */
function lazyVariables({ variables }: Compiled, values: Record<string, unknown>, budget: CelBudget): object {
  const lazy: object = Object.create(null) as object;
  for (const { name, program } of variables) {
    let value: { of: unknown } | undefined;
    // Not enumerable: looking at the whole must not evaluate the parts.
    Object.defineProperty(lazy, name, {
      get() {
        value ??= { of: program().evaluate(values, budget) };
        return value.of;
      },
    });
  }
  return lazy;
}
