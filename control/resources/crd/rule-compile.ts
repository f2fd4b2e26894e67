// Compiles the CEL rules that stand at one place of a structural schema.

import type { Cel, CelProgram, Declared } from "../../../plugins/kit/kube/cel.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { StructuralSchema, ValidationRule } from "./structural-schema.ts";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Its values as expressions see them. */
  readonly shape: StructuralSchema;
  readonly declared: Declared | undefined;
  /** Absent where it does not compile; `problem` says why. */
  readonly program: CelProgram | undefined;
  readonly problem?: string;
  readonly message: CelProgram | undefined;
  readonly messageProblem?: string;
  /** Speaks of the state before. */
  readonly readsOld: boolean;
}

export function compileRules(cel: Cel, schema: StructuralSchema, isRoot: boolean): CompiledRule[] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  if (rules.length === 0) return [];
  const isObject = isRoot || schema["x-kubernetes-embedded-resource"] === true;
  const declared = cel.declare(schema, isObject, "selfType");
  const shape = isObject ? withObjectFields(schema) : schema;
  return rules.filter(({ rule }) => rule?.trim()).map((rule) => ({ ...compileRule(cel, rule, declared), shape }));
}

interface Attempt {
  readonly program?: CelProgram;
  readonly problem?: string;
}

function compileRule(cel: Cel, rule: ValidationRule, declared: Declared | undefined): Omit<CompiledRule, "shape"> {
  const oldSelf = rule.optionalOldSelf && declared ? { kind: "optional_type", params: [declared.type] } : declared;
  const options = { variables: { self: declared, oldSelf }, ...(declared ? { sizesFrom: declared } : {}) };
  const attempt = (expression: string, result: "bool" | "string", wrongResult: string): Attempt => {
    try {
      return { program: cel.compile(expression, { ...options, result, wrongResult }) };
    } catch (error) {
      if (!isFault(error)) throw error;
      return { problem: error.message };
    }
  };
  const own = attempt(rule.rule, "bool", "cel expression must evaluate to a bool");
  const message: Attempt =
    own.program && rule.messageExpression
      ? attempt(rule.messageExpression, "string", "messageExpression must evaluate to a string")
      : {};
  return {
    rule,
    declared,
    program: own.program,
    ...(own.problem === undefined ? {} : { problem: own.problem }),
    message: message.program,
    ...(message.problem === undefined
      ? {}
      : { messageProblem: message.problem.replace(/^compilation/, "messageExpression compilation") }),
    readsOld: own.program?.reads.has("oldSelf") ?? false,
  };
}

/** Rules on the whole object see its kind, apiVersion and names. */
function withObjectFields(schema: StructuralSchema): StructuralSchema {
  const text: StructuralSchema = { type: "string" };
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: text,
      kind: text,
      metadata: { type: "object", properties: { name: text, generateName: text } },
    },
  };
}
