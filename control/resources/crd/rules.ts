// CEL rules of a structural schema (x-kubernetes-validations): compiled once, evaluated within upstream's limits for one expression and
// for one object.

import {
  type Cel,
  type CelBudget,
  type CelProgram,
  costOfOneExpression,
  costOfOneObject,
} from "../../../plugins/kit/kube/cel.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { deepEqual } from "../../machinery/equal.ts";
import {
  duplicate,
  type FieldError,
  type FieldErrors,
  forbidden,
  invalid,
  required,
} from "../../machinery/field-error.ts";
import { compileRules, type CompiledRule } from "./rule-compile.ts";
import { childPath, isObject, propertyOf, type StructuralSchema, type ValidationRule } from "./structural-schema.ts";

export interface RuleFindings {
  readonly errors: FieldErrors;
  /** What is wrong with values that were so before, and may stay so. */
  readonly warnings: readonly string[];
}

interface Visit {
  readonly budget: CelBudget;
  readonly errors: FieldErrors;
  readonly warnings: string[];
  /** Too much was spent: nothing more is evaluated. */
  isOver: boolean;
}

interface Value {
  readonly now: unknown;
  /** What it is compared with, where there is such. */
  readonly before: unknown;
  /** It, or something around it, is as it was. */
  readonly isUnchanged: boolean;
}

const longestMessage = 5 * 1024;
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";
const nameOf = (path: string): string => (path === "" ? "<nil>" : path);

/** The rules of a schema and of everything below it. */
export class SchemaRules {
  readonly #cel: Cel;
  readonly #compiled = new Map<StructuralSchema, readonly CompiledRule[]>();

  constructor(cel: Cel, schema: StructuralSchema) {
    this.#cel = cel;
    this.#compile(schema, true);
  }

  #compile(schema: StructuralSchema, isRoot: boolean): void {
    const rules = compileRules(this.#cel, schema, isRoot);
    if (rules.length > 0) this.#compiled.set(schema, rules);
    for (const below of Object.values(schema.properties ?? {})) this.#compile(below, false);
    if (schema.items) this.#compile(schema.items, false);
    if (typeof schema.additionalProperties === "object") this.#compile(schema.additionalProperties, false);
  }

  /** Checks an object; the one before it where it is an update. */
  check(schema: StructuralSchema, value: unknown, previous: unknown): RuleFindings {
    const visit: Visit = { budget: this.#cel.budget(costOfOneObject), errors: [], warnings: [], isOver: false };
    if (this.#compiled.size > 0)
      this.#visit(schema, { now: value, before: previous, isUnchanged: false }, "", visit, true);
    return visit;
  }

  #visit(schema: StructuralSchema, value: Value, path: string, visit: Visit, isRoot = false): void {
    if (value.now === undefined || value.now === null || visit.isOver) return;
    this.#evaluateAll(schema, value, path, visit, isRoot);
    const { now, before } = value;
    const below = (at: StructuralSchema, next: unknown, compared: unknown, name: string) => {
      const isUnchanged = compared === undefined ? value.isUnchanged : deepEqual(next, compared);
      this.#visit(at, { now: next, before: compared, isUnchanged }, name, visit);
    };
    if (Array.isArray(now)) {
      const { items } = schema;
      if (items) now.forEach((item, index) => below(items, item, matching(schema, item, before), `${path}[${index}]`));
    } else if (isObject(now)) {
      for (const [name, item] of Object.entries(now)) {
        const at = propertyOf(schema, name);
        const isNamed = Object.hasOwn(schema.properties ?? {}, name);
        const place = isNamed ? childPath(path, name) : `${path}[${name}]`;
        if (at) below(at, item, isObject(before) ? before[name] : undefined, place);
      }
    }
  }

  #evaluateAll(schema: StructuralSchema, value: Value, path: string, visit: Visit, isRoot: boolean): void {
    const rules = this.#compiled.get(schema) ?? [];
    if (rules.length === 0) return;
    const { shape } = rules[0] as CompiledRule;
    const seen = (each: unknown) => this.#cel.toCel(isRoot ? visibleRoot(each) : each, shape);
    const self = seen(value.now);
    const oldSelf = value.before === undefined ? undefined : seen(value.before);
    for (const one of rules) {
      if (visit.isOver) return;
      const isOptional = one.rule.optionalOldSelf === true;
      if (one.readsOld && oldSelf === undefined && !isOptional) continue;
      const values = { self, oldSelf: isOptional ? this.#cel.optional(oldSelf) : oldSelf };
      const error = this.#evaluate(one, values, path, schema.type ?? "", visit);
      if (!error) continue;
      if (value.isUnchanged && !one.readsOld && !visit.isOver) visit.warnings.push(`${error.field}: ${error.message}`);
      else visit.errors.push(error);
    }
  }

  #evaluate(
    one: CompiledRule,
    values: Record<string, unknown>,
    path: string,
    type: string,
    visit: Visit,
  ): FieldError | undefined {
    const { rule } = one;
    const named = rule.message ? rule.message.trim() : rule.rule.trim();
    if (!one.program) return invalid(nameOf(path), type, `rule compile error: ${one.problem ?? ""}`);
    const result = this.#run(one.program, values, visit);
    if (result.isOutOfBudget) return invalid(nameOf(path), type, outOfBudget);
    if (visit.isOver) {
      const why = `'${result.error ?? ""}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`;
      return invalid(nameOf(path), type, why);
    }
    if (result.error !== undefined) return invalid(nameOf(path), type, failure(result.error, named));
    if (result.value === true) return undefined;
    const field = nameOf(rule.fieldPath ? childPath(path, rule.fieldPath.replace(/^\./, "")) : path);
    const plain = rule.message ? rule.message.trim() : `failed rule: ${named}`;
    const told = one.message ? this.#message(one.message, values, visit) : { text: undefined };
    if ("refusal" in told) return invalid(field, type, told.refusal);
    return failed(rule, field, type, told.text ?? plain);
  }

  #run(program: CelProgram, values: Record<string, unknown>, visit: Visit) {
    const share = visit.budget.share(costOfOneExpression);
    try {
      return { value: program.evaluate(values, share) };
    } catch (error) {
      if (!isFault(error)) throw error;
      visit.isOver = share.left < 0 || visit.budget.left < 0;
      return { error: error.message, isOutOfBudget: visit.budget.left < 0 };
    }
  }

  /** A message that cannot be made, or is of several lines or too long, falls back to the plain one. */
  #message(
    program: CelProgram,
    values: Record<string, unknown>,
    visit: Visit,
  ): { text?: string | undefined } | { refusal: string } {
    const { value, isOutOfBudget } = this.#run(program, values, visit);
    if (isOutOfBudget)
      return { refusal: outOfBudget.replace("validation failed", "messageExpression evaluation failed") };
    if (visit.isOver) {
      const expression = JSON.stringify(program.expression);
      return {
        refusal: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${expression}`,
      };
    }
    const text = typeof value === "string" ? value.trim() : "";
    return { text: text === "" || text.includes("\n") || Buffer.byteLength(text) > longestMessage ? undefined : text };
  }
}

const failure = (error: string, rule: string): string =>
  /^no such overload/i.test(error)
    ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`
    : `${error} evaluating rule: ${rule}`;

function failed(rule: ValidationRule, field: string, type: string, message: string): FieldError {
  if (rule.reason === "FieldValueForbidden") return forbidden(field, message);
  if (rule.reason === "FieldValueRequired") return required(field, message);
  if (rule.reason === "FieldValueDuplicate") return duplicate(field, type);
  return invalid(field, type, message);
}

function visibleRoot(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { name, generateName } = (value.metadata ?? {}) as Record<string, unknown>;
  return {
    ...value,
    metadata: { ...(name === undefined ? {} : { name }), ...(generateName === undefined ? {} : { generateName }) },
  };
}

/** Elements of keyed lists are compared with the same element before; those of others with nothing. */
function matching(schema: StructuralSchema, item: unknown, before: unknown): unknown {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (!keys || !Array.isArray(before) || !isObject(item)) return undefined;
  return before.find((one) => isObject(one) && keys.every((key) => one[key] === item[key]));
}

export function hasRules(schema: StructuralSchema | undefined): boolean {
  if (!schema) return false;
  return (
    (schema["x-kubernetes-validations"]?.length ?? 0) > 0 ||
    Object.values(schema.properties ?? {}).some(hasRules) ||
    hasRules(schema.items) ||
    (typeof schema.additionalProperties === "object" && hasRules(schema.additionalProperties))
  );
}
