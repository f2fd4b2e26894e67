// Whether a webhook's or policy's rules and selectors speak of a request. Pure but for the namespace they look up.

import type { AdmissionRequest } from "../kit/admission.ts";
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

/** With `Equivalent` (the default) a rule for one version of a resource speaks of all of them. */
export function matchesRule(rule: RuleWithOperations, request: AdmissionRequest, matchPolicy = "Equivalent"): boolean {
  const has = (list: readonly string[] | undefined, value: string) => list?.includes("*") || list?.includes(value);
  const isNamespaced = request.namespace !== "" && !(request.group === "" && request.resource === "namespaces");
  if (rule.scope === "Namespaced" && !isNamespaced) return false;
  if (rule.scope === "Cluster" && isNamespaced) return false;
  const isVersion = matchPolicy === "Equivalent" || has(rule.apiVersions, request.version);
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
