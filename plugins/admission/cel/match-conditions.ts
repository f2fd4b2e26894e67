// The match conditions of webhooks and policies: expressions that must all be true for the rest to be asked.

import type { AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import { type CelProgram, costOfOneExpression, openCel } from "../../kit/kube/cel.ts";
import type { ClusterView } from "../../kit/kube/cluster-view.ts";
import { Fault } from "../../kit/base/fault.ts";
import { authorizerFunctions } from "./authorizer.ts";
import { type AdmissionValues, admissionValues, declarations } from "./variables.ts";

export interface MatchCondition {
  name: string;
  expression: string;
}

// Upstream's limit for all match conditions of one webhook together.
const costOfAll = costOfOneExpression / 4;
const compiled = new WeakMap<object, CelProgram>();

/** False when some condition is; otherwise an error of one of them is thrown as Fault `invalid`. */
export async function meetsConditions(
  conditions: readonly MatchCondition[] | undefined,
  request: AdmissionRequest,
  view: ClusterView,
  call: Call,
  known?: AdmissionValues,
): Promise<boolean> {
  if (!conditions?.length) return true;
  const cel = await openCel();
  const { values, session } = known ?? (await admissionValues(cel, request, view, call));
  const budget = cel.budget(costOfAll);
  const errors: string[] = [];
  for (const condition of conditions) {
    try {
      let program = compiled.get(condition);
      if (!program) {
        program = cel.compile(condition.expression, {
          variables: declarations,
          result: "bool",
          extend: authorizerFunctions,
        });
        compiled.set(condition, program);
      }
      if ((await session.evaluate(program, values, budget, call)) !== true) return false;
    } catch (error) {
      errors.push(`expression '${condition.expression}' resulted in error: ${(error as Error).message}`);
    }
  }
  if (errors.length > 0) throw new Fault("invalid", errors.join(", "));
  return true;
}
