// Finds the parameter objects that a binding refers to.

import type { AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { ClusterView, GroupResource } from "../../kit/kube/cluster-view.ts";
import { Fault } from "../../kit/base/fault.ts";
import { resources } from "../../kit/kube/objects/resources.ts";
import type { KubeObject } from "../../kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../kit/kube/selector.ts";
import type { Policy, PolicyBinding } from "./objects.ts";

interface Definition extends KubeObject {
  spec: { group: string; scope: string; names: { plural: string; kind: string } };
}

/** One evaluation each; `[undefined]` when the policy takes no parameters, empty when there are none and that is fine. */
export function paramsFor(
  policy: Policy,
  binding: PolicyBinding,
  request: AdmissionRequest,
  view: ClusterView,
): readonly (KubeObject | undefined)[] {
  const { paramKind } = policy.spec;
  const ref = binding.spec.paramRef;
  if (!paramKind || !ref) return [undefined];
  const found = resourceOfKind(paramKind, view);
  if (!found)
    throw new Fault(
      "invalid",
      `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
    );
  const namespace = found.isNamespaced ? ref.namespace || request.namespace : "";
  if (found.isNamespaced && namespace === "") {
    throw new Fault(
      "invalid",
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  }
  const informer = view.informer(found);
  const byName = ref.name ? [informer.get(namespace, ref.name)] : undefined;
  const matcher = labelSelectorOf(ref.selector ?? {});
  const bySelector = () => informer.list(namespace).filter((each) => matcher.matches(each.metadata.labels));
  const params = (byName ?? bySelector()).filter((each) => each !== undefined);
  if (params.length === 0 && ref.parameterNotFoundAction !== "Allow") {
    throw new Fault("invalid", "no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return params;
}

function resourceOfKind(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  view: ClusterView,
): (GroupResource & { isNamespaced: boolean }) | undefined {
  const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
  const builtIn = Object.values(resources).find((each) => each.group === group && each.kind === kind);
  if (builtIn) return { group, plural: builtIn.plural, isNamespaced: builtIn.namespaced };
  const definition = view
    .informer<Definition>({ group: "apiextensions.k8s.io", plural: "customresourcedefinitions" })
    .list()
    .find(({ spec }) => spec.group === group && spec.names.kind === kind);
  return (
    definition && { group, plural: definition.spec.names.plural, isNamespaced: definition.spec.scope === "Namespaced" }
  );
}
