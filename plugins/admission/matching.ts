// Whether a webhook's or policy's rules and selectors speak of a request. Pure but for the namespace they look up.

import type { AdmissionRequest, EquivalentResource } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import type { ClusterView } from "../kit/kube/cluster-view.ts";
import { namespaceMissing } from "../kit/contracts/namespace-refusals.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { type LabelSelector, labelSelectorOf } from "../kit/kube/selector.ts";

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

/** Fault `not-found` where it depends on a namespace that does not exist: a webhook or policy is never skipped for not knowing. */
export async function matchesSelectors(
  selectors: Selectors,
  request: AdmissionRequest,
  view: ClusterView,
  call: Call,
): Promise<boolean> {
  const ofObject = labelSelectorOf(selectors.objectSelector ?? {});
  const objects = [request.object, request.oldObject].filter((each) => each !== undefined);
  if (!ofObject.isEverything && !objects.some((each) => ofObject.matches(each.metadata?.labels))) return false;
  const ofNamespace = labelSelectorOf(selectors.namespaceSelector ?? {});
  if (ofNamespace.isEverything) return true;
  if (isOfNamespaces(request) && request.subresource === "")
    return ofNamespace.matches((request.object ?? request.oldObject)?.metadata.labels);
  // Also of a subresource of a namespace, which is in no other.
  const name = isOfNamespaces(request) ? request.name : request.namespace;
  if (name === "") return true;
  const namespace = await namespaceNamed(name, view, call);
  if (!namespace) throw namespaceMissing(name);
  return ofNamespace.matches(namespace.metadata.labels);
}

/** The namespace that the request is in; undefined for what is in none. */
export async function namespaceOf(
  request: AdmissionRequest,
  view: ClusterView,
  call: Call,
): Promise<KubeObject | undefined> {
  if (request.namespace === "" || isOfNamespaces(request)) return undefined;
  return namespaceNamed(request.namespace, view, call);
}

const namespaces = { group: "", plural: "namespaces" };

/** Read past the view where that has not seen it: it may have been made just now. */
async function namespaceNamed(name: string, view: ClusterView, call: Call): Promise<KubeObject | undefined> {
  return view.informer(namespaces).get("", name) ?? (await view.read(namespaces, { namespace: "", name }, call));
}

const isOfNamespaces = ({ group, resource }: AdmissionRequest) => group === "" && resource === "namespaces";
