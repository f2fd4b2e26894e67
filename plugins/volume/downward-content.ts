// The downward API as files: which field or resource goes to which path.

import { Fault } from "../kit/base/fault.ts";
import { type DownwardFacts, fieldValue, resourceValue } from "../kit/kube/objects/downward.ts";
import type { Pod } from "../kit/kube/objects/types.ts";
import type { PodObjects } from "../kit/contracts/pod-objects.ts";
import type { Content, ContentFile } from "./atomic-content.ts";

export interface DownwardItem {
  readonly path: string;
  readonly mode?: number;
  readonly fieldRef?: { readonly fieldPath: string };
  readonly resourceFieldRef?: {
    readonly containerName?: string;
    readonly resource: string;
    readonly divisor?: string | number;
  };
}

export function downwardContent(
  pod: Pod,
  items: readonly DownwardItem[],
  defaultMode: number,
  objects: PodObjects | undefined,
): Content {
  const facts: DownwardFacts = {
    pod,
    podIps: [],
    hostIps: [],
    nodeName: pod.spec?.nodeName ?? "",
    allocatable: (objects?.node()?.status?.allocatable ?? {}) as Record<string, string>,
  };
  const content = new Map<string, ContentFile>();
  for (const item of items) {
    content.set(item.path, { data: Buffer.from(itemText(facts, item)), mode: item.mode ?? defaultMode });
  }
  return content;
}

function itemText(facts: DownwardFacts, item: DownwardItem): string {
  if (item.fieldRef) return fieldValue(facts, item.fieldRef.fieldPath);
  const wanted = item.resourceFieldRef;
  if (!wanted) throw new Fault("invalid", `Cannot write "${item.path}": the item names neither a field nor a resource`);
  const { containers = [], initContainers = [] } = facts.pod.spec ?? {};
  const container = [...containers, ...initContainers].find(({ name }) => name === wanted.containerName);
  if (!container)
    throw new Fault("invalid", `Cannot write "${item.path}": the pod has no container "${wanted.containerName}"`);
  return resourceValue(facts, container, wanted.resource, wanted.divisor);
}
