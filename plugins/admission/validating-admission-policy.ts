// Policies that users write in CEL: each binding of a policy that matches is evaluated, and its actions decide what a
// failed validation means.

import { type AdmissionRequest, nameIn, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import { type Cel, openCel } from "../kit/kube/cel.ts";
import type { ClusterView } from "../kit/kube/cluster-view.ts";
import { type Fault } from "../kit/base/fault.ts";
import { statusFault } from "../kit/kube/status-fault.ts";
import { meetsConditions } from "./cel/match-conditions.ts";
import { type AdmissionValues, admissionValues } from "./cel/variables.ts";
import { isExempt, type Matched, matchesSelectors, matchRules, seenAs } from "./matching.ts";
import { type Denial, evaluatePolicy } from "./policy/evaluate.ts";
import type { MatchResources, Policy, PolicyBinding } from "./policy/objects.ts";
import { paramsFor } from "./policy/params.ts";
import { step, type Tools } from "./step.ts";

const group = "admissionregistration.k8s.io";
const policies = { group, plural: "validatingadmissionpolicies" };
const bindings = { group, plural: "validatingadmissionpolicybindings" };
const failureKey = "validation.policy.admission.k8s.io/validation_failure";
const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

interface Failure {
  readonly policy: string;
  readonly binding: string;
  readonly denial: Denial;
  readonly actions: readonly string[];
}

export const validatingAdmissionPolicy = step("ValidatingAdmissionPolicy", (tools) => ({
  handles: (request) => !isExempt(request) && tools.view.informer<PolicyBinding>(bindings).list().length > 0,
  async validate(request, call) {
    const matching = await matchingBindings(request, tools.view, call);
    if (matching.length === 0) return;
    const cel = await openCel();
    const seenBy = new Map<Matched["as"], { request: AdmissionRequest; values: AdmissionValues }>();
    const failures: Failure[] = [];
    for (const { policy, binding, as } of matching) {
      let seen = seenBy.get(as);
      if (!seen) {
        const asSeen = await seenAs(request, as, call);
        seen = { request: asSeen, values: await admissionValues(cel, asSeen, tools.view, call) };
        seenBy.set(as, seen);
      }
      failures.push(...(await failuresOf(policy, binding, { cel, ...seen, tools, call })));
    }
    answer(request, failures);
  },
}));

interface MatchingBinding extends Matched {
  readonly policy: Policy;
  readonly binding: PolicyBinding;
}

async function matchingBindings(request: AdmissionRequest, view: ClusterView, call: Call): Promise<MatchingBinding[]> {
  const all = view.informer<Policy>(policies);
  const matching: MatchingBinding[] = [];
  for (const binding of view.informer<PolicyBinding>(bindings).list()) {
    const policy = all.get("", binding.spec.policyName);
    const matched = policy && (await matchOf(policy.spec.matchConstraints ?? {}, { request, view, call }));
    if (!matched) continue;
    // A binding without rules of its own narrows nothing.
    const own = binding.spec.matchResources;
    const isBound = !own || (await matchOf(own, { request, view, call }, "any rule when there are none")) !== undefined;
    if (isBound) matching.push({ policy, binding, ...matched });
  }
  return matching;
}

async function matchOf(
  match: MatchResources,
  { request, view, call }: { request: AdmissionRequest; view: ClusterView; call: Call },
  empty?: string,
): Promise<Matched | undefined> {
  const speaks = (rules: MatchResources["resourceRules"]) => matchRules(rules, request, match.matchPolicy);
  const matched = match.resourceRules?.length || empty === undefined ? speaks(match.resourceRules) : {};
  if (!matched || speaks(match.excludeResourceRules)) return undefined;
  return (await matchesSelectors(match, request, view, call)) ? matched : undefined;
}

interface Evaluation {
  readonly cel: Cel;
  readonly values: AdmissionValues;
  readonly request: AdmissionRequest;
  readonly tools: Tools;
  readonly call: Call;
}

async function failuresOf(policy: Policy, binding: PolicyBinding, evaluation: Evaluation): Promise<Failure[]> {
  const { cel, values, request, tools, call } = evaluation;
  const names = { policy: policy.metadata.name ?? "", binding: binding.metadata.name ?? "" };
  const actions = binding.spec.validationActions ?? ["Deny"];
  const failure = (denial: Denial): Failure => ({ ...names, denial, actions });
  const broken = (error: unknown): Failure[] => {
    if (policy.spec.failurePolicy === "Ignore") return [];
    const denial = { message: (error as Error).message, reason: "Invalid", expressionIndex: 0 };
    // What cannot be evaluated is refused, whatever the actions say.
    return [{ ...names, denial, actions: ["Deny"] }];
  };
  try {
    if (!(await meetsConditions(policy.spec.matchConditions, request, tools.view, call, values))) return [];
    const failures: Failure[] = [];
    for (const params of paramsFor(policy, binding, request, tools.view)) {
      const { denials, annotations } = await evaluatePolicy(cel, policy, values, params, call);
      failures.push(...denials.map(failure));
      for (const [key, value] of Object.entries(annotations)) request.annotate?.(`${names.policy}/${key}`, value);
    }
    return failures;
  } catch (error) {
    return broken(error);
  }
}

function answer(request: AdmissionRequest, failures: readonly Failure[]): void {
  const audited: object[] = [];
  for (const { policy, binding, denial, actions } of failures) {
    if (actions.includes("Warn")) {
      request.warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${denial.message}`,
      );
    }
    if (actions.includes("Audit")) {
      const { message, expressionIndex } = denial;
      audited.push({ message, policy, binding, expressionIndex: String(expressionIndex), validationActions: actions });
    }
  }
  if (audited.length > 0) request.annotate?.(failureKey, JSON.stringify(audited));
  const denying = failures.find(({ actions }) => actions.includes("Deny"));
  if (denying) throw denied(request, denying);
}

/** Says "forbidden" but answers with the validation's own reason, as upstream does. */
function denied(request: AdmissionRequest, { policy, binding, denial }: Failure): Fault {
  const message = `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${denial.message}`;
  const name = nameIn(request);
  return statusFault(denial.reason === "Forbidden" ? "forbidden" : "invalid", refuse(request, message).message, {
    code: codes[denial.reason] ?? 422,
    reason: denial.reason,
    details: {
      ...(name ? { name } : {}),
      ...(request.group ? { group: request.group } : {}),
      kind: request.resource,
      causes: [{ message }],
    },
  });
}
