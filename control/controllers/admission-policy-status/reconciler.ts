// The status of a ValidatingAdmissionPolicy: which of its expressions do not fit the kinds that it matches. A warning only; the
// policy works as it did. Checked once for each generation.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { openCel } from "../../../plugins/kit/kube/cel.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { apiVersionOf, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { matchedKinds } from "./matched-kinds.ts";
import type { AdmissionPolicy, ExpressionWarning, GroupVersionKind } from "./objects.ts";
import { ServedTypes } from "./served-types.ts";
import type { MatchedType } from "./type-check.ts";

const ref = resources.validatingadmissionpolicies;
const fieldManager = "validatingadmissionpolicy-status";

export const admissionPolicyStatusController: ControllerFactory = ({ client, informers }) => {
  const policies = informers.for<AdmissionPolicy>(ref);
  const warningsOf = async (policy: AdmissionPolicy, call: Call): Promise<ExpressionWarning[]> => {
    const served = new ServedTypes(client, call);
    const withSchema = async (kind: GroupVersionKind): Promise<MatchedType[]> => {
      const schema = await served.schemaOf(kind);
      return schema ? [{ ...kind, schema }] : [];
    };
    const kinds = await matchedKinds(policy, (at, resource) => served.kindOf(at, resource));
    const matched = (await Promise.all(kinds.map(withSchema))).flat();
    if (matched.length === 0) return [];
    const paramKind = paramKindOf(policy);
    const [params] = paramKind ? await withSchema(paramKind) : [];
    // With the library of expressions, which few clusters ever need.
    const [cel, { typeWarnings }] = await Promise.all([openCel(), import("./type-check.ts")]);
    return typeWarnings({ cel, policy, matched, params });
  };
  return {
    name: fieldManager,
    wakes: [{ resource: ref, keys: ({ metadata }: AdmissionPolicy) => [metadata.name ?? ""] }],
    async reconcile(name, call) {
      const policy = policies.get("", name);
      const { generation = 0 } = policy?.metadata ?? {};
      if (!policy || generation <= (policy.status?.observedGeneration ?? 0)) return undefined;
      const expressionWarnings = await warningsOf(policy, call);
      const typeChecking = expressionWarnings.length > 0 ? { expressionWarnings } : {};
      const body = {
        apiVersion: apiVersionOf(ref),
        kind: ref.kind,
        metadata: { name },
        status: { observedGeneration: generation, typeChecking },
      };
      try {
        await client.patch(
          ref,
          { name, subresource: "status" },
          { type: "apply", body, fieldManager, force: true },
          call,
        );
      } catch (error) {
        // Gone meanwhile: an applied status makes no policy.
        if (!isFault(error, "not-found")) throw error;
      }
      return undefined;
    },
  };
};

function paramKindOf({ spec }: AdmissionPolicy): GroupVersionKind | undefined {
  const { apiVersion, kind } = spec?.paramKind ?? {};
  if (!apiVersion || !kind) return undefined;
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { group: group ?? "", version: version ?? "", kind };
}
