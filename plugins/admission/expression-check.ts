// Expressions in policies and webhook configurations must compile before they are stored: a broken one would refuse
// every write that it speaks of.

import type { AdmissionRequest } from "../kit/contracts/admission.ts";
import { type Cel, openCel } from "../kit/kube/cel.ts";
import { statusFault } from "../kit/kube/status-fault.ts";
import { Turns } from "../kit/base/turns.ts";
import { authorizerFunctions } from "./cel/authorizer.ts";
import type { MatchCondition } from "./cel/match-conditions.ts";
import { declarations } from "./cel/variables.ts";
import type { Policy } from "./policy/objects.ts";
import { step } from "./step.ts";

interface Place {
  readonly field: string;
  readonly expression: string;
  readonly result?: "bool" | "string";
}

const group = "admissionregistration.k8s.io";
/** An expression takes up to some milliseconds to compile, and an object has as many as its author likes. */
const compilations = new Turns();

export const expressionCheck = step("ExpressionCheck", () => ({
  handles: ({ group: asked, resource, subresource, operation }) =>
    asked === group &&
    subresource === "" &&
    (operation === "CREATE" || operation === "UPDATE") &&
    (resource === "validatingadmissionpolicies" || resource.endsWith("webhookconfigurations")),
  async validate(request) {
    const places = expressionsIn(request);
    if (places.length === 0) return;
    // What is stored already was good when it was written, by whatever version of us wrote it.
    const known = new Set(
      request.oldObject ? expressionsIn(request, request.oldObject).map(({ expression }) => expression) : [],
    );
    const cel = await openCel();
    const causes: Cause[] = [];
    for (const place of places) {
      if (known.has(place.expression)) continue;
      await compilations.take();
      causes.push(...problemAt(cel, place));
    }
    if (causes.length === 0) return;
    const { name = "" } = request.object?.metadata ?? {};
    const told = causes.map(({ field, message }) => `${field}: ${message}`);
    const text = told.length === 1 ? told[0] : `[${told.join(", ")}]`;
    throw statusFault("invalid", `${request.kind}.${group} ${JSON.stringify(name)} is invalid: ${text}`, {
      code: 422,
      reason: "Invalid",
      details: { name, group, kind: request.kind, causes },
    });
  },
}));

interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

function problemAt(cel: Cel, { field, expression, result }: Place): Cause[] {
  try {
    cel.compile(expression, { variables: declarations, extend: authorizerFunctions, ...(result ? { result } : {}) });
    return [];
  } catch (error) {
    const message = `Invalid value: ${JSON.stringify(expression)}: ${(error as Error).message}`;
    return [{ reason: "FieldValueInvalid", message, field }];
  }
}

function expressionsIn(request: AdmissionRequest, object: unknown = request.object): Place[] {
  if (request.resource !== "validatingadmissionpolicies") {
    const { webhooks } = object as { webhooks?: { matchConditions?: MatchCondition[] }[] };
    return (webhooks ?? []).flatMap(({ matchConditions }, index) =>
      conditionsAt(`webhooks[${index}].matchConditions`, matchConditions),
    );
  }
  const { spec } = object as Policy;
  return [
    ...conditionsAt("spec.matchConditions", spec?.matchConditions),
    ...(spec?.variables ?? []).map(({ expression }, index) => ({
      field: `spec.variables[${index}].expression`,
      expression,
    })),
    ...(spec?.validations ?? []).flatMap(({ expression, messageExpression }, index) => [
      { field: `spec.validations[${index}].expression`, expression, result: "bool" as const },
      ...(messageExpression
        ? [
            {
              field: `spec.validations[${index}].messageExpression`,
              expression: messageExpression,
              result: "string" as const,
            },
          ]
        : []),
    ]),
    ...(spec?.auditAnnotations ?? []).map(({ valueExpression }, index) => ({
      field: `spec.auditAnnotations[${index}].valueExpression`,
      expression: valueExpression,
    })),
  ];
}

const conditionsAt = (field: string, conditions: readonly MatchCondition[] | undefined): Place[] =>
  (conditions ?? []).map(({ expression }, index) => ({
    field: `${field}[${index}].expression`,
    expression,
    result: "bool",
  }));
