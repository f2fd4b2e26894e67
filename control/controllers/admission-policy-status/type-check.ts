// Checks the expressions of a policy against each kind that it matches, and tells what does not fit as Kubernetes v1.32 words it.

import type { Cel, CelSchema, CelType } from "../../../plugins/kit/kube/cel.ts";
import { dyn } from "../../../plugins/kit/kube/cel/types.ts";
import { admissionTypes, objectType } from "./admission-types.ts";
import type { AdmissionPolicy, ExpressionWarning, GroupVersionKind } from "./objects.ts";

export interface MatchedType extends GroupVersionKind {
  readonly schema: CelSchema;
}

export interface TypeCheckParts {
  readonly cel: Cel;
  readonly policy: AdmissionPolicy;
  readonly matched: readonly MatchedType[];
  /** Of the parameters; without one they are not there. */
  readonly params: MatchedType | undefined;
}

export function typeWarnings({ cel, policy, matched, params }: TypeCheckParts): ExpressionWarning[] {
  const { validations = [], variables = [] } = policy.spec ?? {};
  const declare = ({ schema, kind }: MatchedType) => cel.declare(schema, true, kind)?.type ?? dyn;
  const scopes = matched.map((type) => {
    const object = declare(type);
    const known = { ...admissionTypes, object, oldObject: object, ...(params ? { params: declare(params) } : {}) };
    return { type, known: withVariables(cel, known, variables) };
  });
  const warningsAt = (fieldRef: string, expression: string): ExpressionWarning[] => {
    const told = scopes.flatMap(({ type: { group, version, kind }, known }) => {
      const { issues } = cel.check(expression, known);
      return issues === undefined ? [] : [`${group}/${version}, Kind=${kind}: ${issues}\n`];
    });
    return told.length === 0 ? [] : [{ fieldRef, warning: told.join("\n") }];
  };
  return validations.flatMap(({ expression, messageExpression }, index) => [
    ...warningsAt(`spec.validations[${index}].expression`, expression),
    ...(messageExpression ? warningsAt(`spec.validations[${index}].messageExpression`, messageExpression) : []),
  ]);
}

/** Each variable sees those before it; one that does not fit may be anything to those behind it. */
function withVariables(
  cel: Cel,
  known: Readonly<Record<string, CelType>>,
  variables: readonly { name: string; expression: string }[],
): Readonly<Record<string, CelType>> {
  const fields: Record<string, CelType> = {};
  const all = () => ({ ...known, variables: objectType("kubernetes.variables", fields) });
  for (const { name, expression } of variables) fields[name] = cel.check(expression, all()).type;
  return all();
}
