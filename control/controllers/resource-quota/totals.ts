// What a quota's objects use together. Pure but for the listing it is handed.

import type { GroupResource } from "../../../plugins/kit/kube/cluster-view.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { addQuantity, formatQuantity, type Quantity, zeroQuantity } from "../../../plugins/kit/kube/quantity.ts";
import { isInScope, type ResourceQuota } from "../../../plugins/kit/quota/scopes.ts";
import { usageOf } from "../../../plugins/kit/quota/usage.ts";

const core = (plural: string): GroupResource => ({ group: "", plural });

/** The resource whose objects are counted under a quota's name for something. */
export function countedResource(name: string): GroupResource {
  const counted = /^count\/([^.]+)(?:\.(.+))?$/.exec(name);
  if (counted) return { group: counted[2] ?? "", plural: counted[1] ?? "" };
  if (["configmaps", "secrets", "replicationcontrollers", "resourcequotas", "persistentvolumeclaims"].includes(name))
    return core(name);
  if (name === "requests.storage" || name.includes(".storageclass.storage.k8s.io/"))
    return core("persistentvolumeclaims");
  if (name === "services" || name.startsWith("services.")) return core("services");
  return core("pods");
}

type List = (of: GroupResource) => readonly KubeObject[];

/** The used amounts of every name that the quota limits, printed as the API prints them. */
export function usedBy(quota: ResourceQuota, list: List, now: number): Record<string, string> {
  const names = Object.keys(quota.spec?.hard ?? {});
  const totals = new Map<string, Quantity>(names.map((name) => [name, zeroQuantity]));
  const resources = new Map(names.map(countedResource).map((of) => [`${of.group}/${of.plural}`, of]));
  for (const of of resources.values()) {
    for (const object of list(of)) {
      if (!isInScope(quota, of, object)) continue;
      for (const [name, amount] of usageOf(of, object, now)) {
        const total = totals.get(name);
        if (total) totals.set(name, total === zeroQuantity ? amount : addQuantity(total, amount));
      }
    }
  }
  return Object.fromEntries([...totals].map(([name, total]) => [name, formatQuantity(total)]));
}
