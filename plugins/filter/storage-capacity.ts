// Whether a CSI driver that reports its free storage has enough of it for a claim on a node.

import type { Node, PersistentVolumeClaim } from "../kit/kube/objects/types.ts";
import type { StorageClass } from "../kit/kube/objects/volume-claims.ts";
import { compareQuantity, parseQuantity } from "../kit/kube/quantity.ts";
import type { ClusterView } from "../kit/contracts/scheduling.ts";
import { labelSelectorOf } from "../kit/kube/selector.ts";

interface CsiDriver {
  readonly spec?: { readonly storageCapacity?: boolean };
}

interface CsiStorageCapacity {
  readonly storageClassName?: string;
  readonly capacity?: string | number;
  readonly maximumVolumeSize?: string | number;
  readonly nodeTopology?: object;
}

/** True when the driver does not report: then only trying can tell. */
export function hasStorageFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: Node,
  cluster: Pick<ClusterView, "list" | "get">,
): boolean {
  const wanted = claim.spec?.resources?.requests?.storage;
  const driver = cluster.get<CsiDriver>("csidrivers", "", storageClass.provisioner);
  if (wanted === undefined || driver?.spec?.storageCapacity !== true) return true;
  const size = parseQuantity(wanted);
  return cluster.list<CsiStorageCapacity>("csistoragecapacities").some((reported) => {
    const limit = reported.maximumVolumeSize ?? reported.capacity;
    return (
      reported.storageClassName === storageClass.metadata.name &&
      limit !== undefined &&
      compareQuantity(parseQuantity(limit), size) >= 0 &&
      reported.nodeTopology !== undefined &&
      labelSelectorOf(reported.nodeTopology).matches(node.metadata.labels)
    );
  });
}
