// Validation of ResourceQuotas: names that are counted, and scopes that fit them.

import { type FieldErrors, invalid, required, goList } from "../../machinery/field-error.ts";
import { type Amounts, isQuotaResource, validateAmount, validateResourceName } from "../resource-names.ts";

export interface QuotaSpec {
  hard?: Amounts;
  scopes?: string[];
  scopeSelector?: { matchExpressions?: { scopeName?: string; operator?: string; values?: string[] }[] };
}

const scopeNames = [
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
];
const compute = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const opposites = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

export function validateQuota(spec: QuotaSpec): FieldErrors {
  const errors = validateAmounts(spec.hard, "spec.hard");
  const { scopes = [], scopeSelector } = spec;
  for (const scope of scopes) {
    if (!scopeNames.includes(scope))
      errors.push(invalid("spec.scopes", goList("core.ResourceQuotaScope", scopes), "unsupported scope"));
    for (const _name of unfit(scope, spec))
      errors.push(
        invalid("spec.scopes", goList("core.ResourceQuotaScope", scopes), "unsupported scope applied to resource"),
      );
  }
  errors.push(...contradictions(scopes, "spec.scopes"));
  if (scopeSelector) errors.push(...validateSelector(spec, "spec.scopeSelector.matchExpressions"));
  return errors;
}

export function validateQuotaStatus(status: { hard?: Amounts; used?: Amounts }): FieldErrors {
  return [...validateAmounts(status.hard, "status.hard"), ...validateAmounts(status.used, "status.used")];
}

function validateAmounts(amounts: Amounts | undefined, field: string): FieldErrors {
  const errors: FieldErrors = [];
  for (const [name, value] of Object.entries(amounts ?? {})) {
    const at = `${field}[${name}]`;
    errors.push(...validateResourceName(name, at));
    if (!name.includes("/") && !isQuotaResource(name))
      errors.push(invalid(at, name, "must be a standard resource for quota"));
    validateAmount(name, value, at, errors);
  }
  return errors;
}

/** Resources that a scope does not tell apart. */
function unfit(scope: string, { hard = {} }: QuotaSpec): string[] {
  const fits = scope === "BestEffort" ? ["pods"] : scopeNames.includes(scope) ? ["pods", ...compute] : undefined;
  return fits ? Object.keys(hard).filter((name) => isQuotaResource(name) && !fits.includes(name)) : [];
}

function contradictions(scopes: readonly string[], field: string): FieldErrors {
  return opposites
    .filter((pair) => pair.every((scope) => scopes.includes(scope)))
    .map(() => invalid(field, goList("core.ResourceQuotaScope", scopes), "conflicting scopes"));
}

function validateSelector(spec: QuotaSpec, field: string): FieldErrors {
  const errors: FieldErrors = [];
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  for (const { scopeName = "", operator = "", values = [] } of expressions) {
    if (!scopeNames.includes(scopeName)) errors.push(invalid(`${field}.scopeName`, scopeName, "unsupported scope"));
    for (const _name of unfit(scopeName, spec))
      errors.push(invalid(field, spec.scopeSelector, "unsupported scope applied to resource"));
    if (scopeNames.includes(scopeName) && scopeName !== "PriorityClass" && operator !== "Exists")
      errors.push(
        invalid(
          `${field}.operator`,
          operator,
          "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        ),
      );
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0)
        errors.push(
          required(
            `${field}.values`,
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        );
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0)
        errors.push(
          invalid(
            `${field}.values`,
            values,
            "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
          ),
        );
    } else errors.push(invalid(`${field}.operator`, operator, "not a valid selector operator"));
  }
  const scopes = expressions.map(({ scopeName = "" }) => scopeName);
  return [...errors, ...contradictions(scopes, field)];
}
