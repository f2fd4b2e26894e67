// What a pod belongs to with others: the services that select it and the controller that owns it, as one selector.

import type { ClusterView } from "../contracts/scheduling.ts";
import { type LabelSelectorMatcher, labelSelectorOf, matchAll } from "../kube/selector.ts";
import type { ObjectMeta, Pod, Service } from "../kube/objects/types.ts";

interface Controller {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly selector?: object };
}

const pluralByKind: Record<string, string> = {
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
  ReplicationController: "replicationcontrollers",
};

/** Undefined when the pod stands alone. */
export function controllerSelector(
  pod: Pod,
  cluster: Pick<ClusterView, "list" | "get">,
): LabelSelectorMatcher | undefined {
  const namespace = pod.metadata.namespace ?? "";
  const parts: LabelSelectorMatcher[] = [];
  for (const service of cluster.list<Service>("services", namespace)) {
    const labels = service.spec?.selector as Record<string, string> | undefined;
    if (!labels || Object.keys(labels).length === 0) continue;
    const selector = labelSelectorOf({ matchLabels: labels });
    if (selector.matches(pod.metadata.labels)) parts.push(selector);
  }
  const reference = pod.metadata.ownerReferences?.find((owner) => owner.controller);
  const plural = reference && pluralByKind[reference.kind];
  const controller = plural ? cluster.get<Controller>(plural, namespace, reference.name) : undefined;
  if (controller && controller.metadata.uid === reference?.uid) {
    const { selector } = controller.spec ?? {};
    if (selector)
      parts.push(
        labelSelectorOf(
          plural === "replicationcontrollers" ? { matchLabels: selector as Record<string, string> } : selector,
        ),
      );
  }
  return parts.length === 0 ? undefined : matchAll(parts.flatMap((part) => part.requirements));
}
