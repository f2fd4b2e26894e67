// Whether a webhook's or policy's rules and selectors speak of a request. Pure but for the namespace they look up.

import type { AdmissionRequest, EquivalentResource } from "../kit/admission.ts";
import type { Call } from "../kit/call.ts";
import type { ClusterView } from "../kit/cluster-view.ts";
import type { KubeObject } from "../kit/objects/types.ts";
import { type LabelSelector, labelSelectorOf } from "../kit/selector.ts";

export interface RuleWithOperations {
  operations?: string[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  resourceNames?: string[];
  scope?: string;
}

export interface Selectors {
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  matchPolicy?: string;
}

/** What decides about admission is never subject to it, or nobody could repair it. */
export function isExempt({ group, resource }: AdmissionRequest): boolean {
  return (
    group === "admissionregistration.k8s.io" &&
    /^((validating|mutating)webhookconfigurations|validatingadmissionpolic(ies|ybindings))$/.test(resource)
  );
}

/**
 * The request as the first rule that speaks of it sees it, or undefined. With `Equivalent` (the default) a rule for another version of
 * the resource speaks of it, too, and sees it in that version.
 */
export function matchRules(
  rules: readonly RuleWithOperations[] | undefined,
  request: AdmissionRequest,
  matchPolicy = "Equivalent",
): Matched | undefined {
  if (rules?.some((rule) => matchesRule(rule, request))) return {};
  if (matchPolicy !== "Equivalent") return undefined;
  for (const rule of rules ?? []) {
    const as = request.equivalents?.find((other) => matchesRule(rule, { ...request, ...placeOf(other) }));
    if (as) return { as };
  }
  return undefined;
}

export interface Matched {
  /** The resource that the rule speaks of, where it is not the one that was asked for. */
  readonly as?: EquivalentResource;
}

const placeOf = ({ group, version, resource, kind }: EquivalentResource) => ({ group, version, resource, kind });

/** The request with its objects as the equivalent resource shows them. */
export async function seenAs(
  request: AdmissionRequest,
  as: EquivalentResource | undefined,
  call: Call,
): Promise<AdmissionRequest> {
  if (!as) return request;
  const { group, version, resource, kind, object, oldObject } = request;
  return {
    ...request,
    ...placeOf(as),
    asked: { group, version, resource, kind },
    ...(object ? { object: await as.to(object, call) } : {}),
    ...(oldObject ? { oldObject: await as.to(oldObject, call) } : {}),
  };
}

function matchesRule(rule: RuleWithOperations, request: AdmissionRequest): boolean {
  const has = (list: readonly string[] | undefined, value: string) => list?.includes("*") || list?.includes(value);
  const isNamespaced = request.namespace !== "" && !(request.group === "" && request.resource === "namespaces");
  if (rule.scope === "Namespaced" && !isNamespaced) return false;
  if (rule.scope === "Cluster" && isNamespaced) return false;
  const isVersion = has(rule.apiVersions, request.version);
  if (!has(rule.operations, request.operation) || !has(rule.apiGroups, request.group) || !isVersion) return false;
  if (rule.resourceNames?.length && !rule.resourceNames.includes(request.name)) return false;
  return (rule.resources ?? []).some((pattern) => {
    const [resource, subresource = ""] = pattern.split("/");
    const isAll = pattern === "*/*" || (pattern === "*" && request.subresource === "");
    if (isAll) return true;
    return (
      (resource === "*" || resource === request.resource) &&
      (subresource === "*" || subresource === request.subresource)
    );
  });
}

export function matchesSelectors(selectors: Selectors, request: AdmissionRequest, view: ClusterView): boolean {
  const ofObject = labelSelectorOf(selectors.objectSelector ?? {});
  const objects = [request.object, request.oldObject].filter((each) => each !== undefined);
  if (!ofObject.isEverything && !objects.some((each) => ofObject.matches(each.metadata?.labels))) return false;
  const ofNamespace = labelSelectorOf(selectors.namespaceSelector ?? {});
  if (ofNamespace.isEverything) return true;
  const isNamespace = request.group === "" && request.resource === "namespaces" && request.subresource === "";
  if (isNamespace) return ofNamespace.matches((request.object ?? request.oldObject)?.metadata.labels);
  if (request.namespace === "") return true;
  return ofNamespace.matches(namespaceOf(request, view)?.metadata.labels);
}

export function namespaceOf({ namespace }: AdmissionRequest, view: ClusterView): KubeObject | undefined {
  return namespace === "" ? undefined : view.informer({ group: "", plural: "namespaces" }).get("", namespace);
}
