// Which changes of a Lease may wait for the disk: renewals alone. Who holds a lease must survive a crash, when it was last renewed
// need not: the holder renews it again within seconds.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { deepEqual } from "../machinery/equal.ts";
import type { Entry } from "./entry.ts";
import type { StorageRef } from "./keys.ts";

/** Whether the write must be durable although its prefix is lazy: a Lease that comes, goes, or changes in more than its renewTime. */
export function mustBeDurable(ref: StorageRef, before: Entry | undefined, after: KubeObject | undefined): boolean {
  if (ref.plural !== "leases" || ref.group !== "coordination.k8s.io") return false;
  return !before || !after || !deepEqual(withoutRenewal(before.glance), withoutRenewal(after));
}

/** Every update moves the times in managedFields along. */
function withoutRenewal(lease: KubeObject): KubeObject {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = lease.metadata;
  const { renewTime: _time, ...spec } = (lease["spec"] ?? {}) as Record<string, unknown>;
  return { ...lease, metadata: metadata as KubeObject["metadata"], spec };
}
