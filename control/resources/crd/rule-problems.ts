// Why the CEL rules of a definition cannot be used: they do not compile, speak of what cannot be compared, or may cost too much, each
// alone and all together.

import { type Cel, openCel } from "../../../plugins/kit/kube/cel.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, forbidden, internalError, invalid } from "../../machinery/field-error.ts";
import { compileRules, type CompiledRule } from "./rule-compile.ts";
import { hasRules } from "./rules.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import type { Crd } from "./types.ts";

const mostOfOne = 10_000_000;
const mostOfAll = 100_000_000;
const mostBytes = 3 * 1024 * 1024;
const most = 2 ** 64;

interface Walk {
  readonly cel: Cel;
  readonly errors: FieldErrors;
  readonly costs: { field: string; cost: number }[];
  /** Rules of a schema that was accepted before may cost what they cost. */
  readonly isKnown: boolean;
  total: number;
}

interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** How often it may be there, as far as limits around it tell. */
  readonly most: number | undefined;
  /** What is around it and cannot be found again in the object before. */
  readonly uncorrelated: string | undefined;
}

/** Loads CEL only when there are rules. */
export async function ruleProblems({ spec }: Crd, previous: Crd | undefined): Promise<FieldErrors> {
  const errors: FieldErrors = [];
  const isShared = spec.versions.every((version) => deepEqual(version.schema, spec.versions[0]?.schema));
  for (const [index, { name, schema }] of spec.versions.entries()) {
    const root = schema?.openAPIV3Schema;
    if (!root || !hasRules(root) || (isShared && index > 0)) continue;
    const before = previous?.spec.versions.find((version) => version.name === name)?.schema;
    const walk: Walk = { cel: await openCel(), errors, costs: [], total: 0, isKnown: deepEqual(before, schema) };
    const path = `${isShared ? "spec.validation" : `spec.versions[${index}].schema`}.openAPIV3Schema`;
    visit(root, { path, isRoot: true, most: 1, uncorrelated: undefined }, walk);
    if (walk.total <= mostOfAll) continue;
    for (const { field } of mostExpensive(walk))
      errors.push(
        forbidden(field, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"),
      );
    errors.push(
      forbidden(
        path,
        tooExpensive(
          "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
          walk.total,
          mostOfAll,
        ),
      ),
    );
  }
  return errors;
}

const mostExpensive = ({ costs }: Walk) =>
  costs
    .filter(({ cost }) => cost >= mostOfAll / 100)
    .sort((a, b) => b.cost - a.cost)
    .slice(0, 4);

function visit(schema: StructuralSchema, place: Place, walk: Walk): void {
  const factor = multiplied(schema);
  const inside = (path: string, uncorrelated: string | undefined): Place => ({
    path: `${place.path}.${path}`,
    isRoot: false,
    most: place.most === undefined || factor === undefined ? undefined : Math.min(place.most * factor, most),
    uncorrelated: place.uncorrelated ?? uncorrelated,
  });
  if (typeof schema.additionalProperties === "object")
    visit(schema.additionalProperties, inside("additionalProperties", undefined), walk);
  for (const [name, below] of Object.entries(schema.properties ?? {}))
    visit(below, inside(`properties[${name}]`, undefined), walk);
  if (schema.items)
    visit(schema.items, inside("items", schema["x-kubernetes-list-type"] === "map" ? undefined : place.path), walk);
  const rules = schema["x-kubernetes-validations"] ?? [];
  if (rules.length === 0) return;
  const compiled = compileRules(walk.cel, schema, place.isRoot);
  const at = `${place.path}.x-kubernetes-validations`;
  if (compiled.some(({ declared }) => !declared)) {
    const why = "failed to construct type information for x-kubernetes-validations rules";
    walk.errors.push(
      internalError(at, `internal error: ${why}: unable to convert structural schema to CEL declarations`),
    );
    return;
  }
  for (const one of compiled) judge(one, `${at}[${rules.indexOf(one.rule)}]`, place, walk);
}

function judge(one: CompiledRule, at: string, place: Place, walk: Walk): void {
  const { errors } = walk;
  const times = place.most ?? Math.floor(mostBytes / ((one.declared?.minSize ?? 0) + 1));
  const cost = one.program ? Math.min(one.program.maxCost * times, most) : 0;
  charge(walk, `${at}.rule`, "estimated rule cost", cost);
  if (one.problem !== undefined) errors.push(invalid(`${at}.rule`, shownRule(one), one.problem));
  if (one.messageProblem !== undefined)
    errors.push(invalid(`${at}.messageExpression`, shownRule(one), one.messageProblem));
  else if (one.message)
    charge(walk, `${at}.messageExpression`, "estimated messageExpression cost", one.message.maxCost);
  if (one.readsOld && place.uncorrelated !== undefined)
    errors.push(
      invalid(
        `${at}.rule`,
        one.rule.rule,
        `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`,
      ),
    );
  if (!one.readsOld && one.rule.optionalOldSelf !== undefined && one.rule.optionalOldSelf !== null)
    errors.push(
      invalid(`${at}.optionalOldSelf`, one.rule.optionalOldSelf, "may not be set if oldSelf is not used in rule"),
    );
}

function charge(walk: Walk, field: string, what: string, cost: number): void {
  if (!walk.isKnown && cost > mostOfOne) walk.errors.push(forbidden(field, tooExpensive(what, cost, mostOfOne)));
  walk.total = Math.min(walk.total + cost, most);
  walk.costs.push({ field, cost });
}

/** The rule as Go's JSON shows it. */
const shownRule = ({ rule }: CompiledRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? "",
  MessageExpression: rule.messageExpression ?? "",
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? "",
  OptionalOldSelf: rule.optionalOldSelf ?? null,
});

/** How many there may be of what is inside; undefined without a limit. */
function multiplied({ type, additionalProperties, maxProperties, maxItems }: StructuralSchema): number | undefined {
  if (type === "object" && additionalProperties !== undefined)
    return maxProperties === undefined ? undefined : Math.max(maxProperties, 0);
  if (type === "array") return maxItems === undefined ? undefined : Math.max(maxItems, 0);
  return 1;
}

function tooExpensive(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100x" : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
