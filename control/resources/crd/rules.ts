// CEL rules of a structural schema (x-kubernetes-validations): compiled once, evaluated within a budget per object.

import { type Cel, type CelProgram, costOfOneObject, openCel } from "../../../plugins/kit/cel.ts";
import { isFault } from "../../../plugins/kit/fault.ts";
import { type FieldErrors, forbidden, invalid, required } from "../field-error.ts";
import type { CrdVersion } from "./types.ts";
import { childPath, isObject, propertyOf, type StructuralSchema, type ValidationRule } from "./structural-schema.ts";

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: CelProgram;
  readonly message: CelProgram | undefined;
  /** Speaks of the state before: only checked where there is one. */
  readonly isTransition: boolean;
}

/** The rules of a schema and of everything below it. */
export class SchemaRules {
  readonly #cel: Cel;
  readonly #compiled = new Map<StructuralSchema, CompiledRule[]>();
  /** What did not compile, by the path of the schema. */
  readonly problems: { path: string; rule: string; message: string }[] = [];

  constructor(cel: Cel, schema: StructuralSchema) {
    this.#cel = cel;
    this.#compile(schema, "", true);
  }

  get isEmpty(): boolean {
    return this.#compiled.size === 0;
  }

  #compile(schema: StructuralSchema, path: string, isRoot: boolean): void {
    const rules = schema["x-kubernetes-validations"] ?? [];
    if (rules.length > 0)
      this.#compiled.set(
        schema,
        rules.flatMap((rule, index) =>
          this.#compileRule(rule, schema, `${path}.x-kubernetes-validations[${index}]`, isRoot),
        ),
      );
    for (const [name, below] of Object.entries(schema.properties ?? {}))
      this.#compile(below, `${path}.properties[${name}]`, false);
    if (schema.items) this.#compile(schema.items, `${path}.items`, false);
    if (typeof schema.additionalProperties === "object")
      this.#compile(schema.additionalProperties, `${path}.additionalProperties`, false);
  }

  #compileRule(rule: ValidationRule, schema: StructuralSchema, path: string, isRoot: boolean): CompiledRule[] {
    const shape = isRoot ? withObjectFields(schema) : schema;
    const variables = { self: shape, oldSelf: shape };
    try {
      return [
        {
          rule,
          program: this.#cel.compile(rule.rule, { variables, result: "bool" }),
          message: rule.messageExpression
            ? this.#cel.compile(rule.messageExpression, { variables, result: "string" })
            : undefined,
          isTransition: /\boldSelf\b/.test(rule.rule),
        },
      ];
    } catch (error) {
      if (!isFault(error)) throw error;
      this.problems.push({ path, rule: rule.rule, message: error.message });
      return [];
    }
  }

  /** Checks an object; the one before it where it is an update. */
  check(schema: StructuralSchema, value: unknown, previous: unknown): FieldErrors {
    const errors: FieldErrors = [];
    if (this.isEmpty) return errors;
    const budget = this.#cel.budget(costOfOneObject);
    const visit = (at: StructuralSchema, now: unknown, before: unknown, path: string, isRoot: boolean): void => {
      if (now === undefined || now === null || errors.length > 20) return;
      const shape = isRoot ? withObjectFields(at) : at;
      for (const one of this.#compiled.get(at) ?? []) {
        if (one.isTransition && before === undefined) continue;
        const values = {
          self: this.#cel.toCel(isRoot ? visibleRoot(now) : now, shape),
          ...(one.isTransition ? { oldSelf: this.#cel.toCel(isRoot ? visibleRoot(before) : before, shape) } : {}),
        };
        errors.push(...this.#evaluate(one, values, budget, path, now));
      }
      if (Array.isArray(now)) {
        const { items } = at;
        if (items)
          now.forEach((item, index) => visit(items, item, matching(at, item, before), `${path}[${index}]`, false));
      } else if (isObject(now)) {
        for (const [name, item] of Object.entries(now)) {
          const below = propertyOf(at, name);
          if (below) visit(below, item, isObject(before) ? before[name] : undefined, childPath(path, name), false);
        }
      }
    };
    visit(schema, value, previous, "", true);
    return errors;
  }

  #evaluate(
    one: CompiledRule,
    values: Record<string, unknown>,
    budget: ReturnType<Cel["budget"]>,
    path: string,
    value: unknown,
  ): FieldErrors {
    const field = one.rule.fieldPath ? childPath(path, one.rule.fieldPath.replace(/^\./, "")) : path;
    try {
      if (one.program.evaluate(values, budget) === true) return [];
      return [failed(one.rule, field === "" ? "<nil>" : field, value, this.#message(one, values, budget))];
    } catch (error) {
      if (!isFault(error)) throw error;
      return [invalid(field === "" ? "<nil>" : field, typeName(value), `rule: ${one.rule.rule}: ${error.message}`)];
    }
  }

  #message(one: CompiledRule, values: Record<string, unknown>, budget: ReturnType<Cel["budget"]>): string {
    const fallback = one.rule.message?.trim() || `failed rule: ${one.rule.rule}`;
    if (!one.message) return fallback;
    try {
      const text = one.message.evaluate(values, budget);
      return typeof text === "string" && text.trim() !== "" ? text : fallback;
    } catch (error) {
      if (!isFault(error)) throw error;
      return fallback;
    }
  }
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

function failed(rule: ValidationRule, field: string, value: unknown, message: string) {
  if (rule.reason === "FieldValueForbidden") return forbidden(field, message);
  if (rule.reason === "FieldValueRequired") return required(field, message);
  return invalid(field, typeof value === "object" ? typeName(value) : value, message);
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

/** Why the rules of a definition cannot be used. Loads CEL only when there are any. */
export async function ruleProblems(versions: readonly CrdVersion[]): Promise<FieldErrors> {
  const errors: FieldErrors = [];
  for (const [index, version] of versions.entries()) {
    const schema = version.schema?.openAPIV3Schema;
    if (!schema || !hasRules(schema)) continue;
    const at = `spec.versions[${index}].schema.openAPIV3Schema`;
    for (const { path, rule, message } of new SchemaRules(await openCel(), schema).problems)
      errors.push(invalid(`${at}${path}.rule`, rule, message));
  }
  return errors;
}
