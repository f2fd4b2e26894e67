// What is said of a write into a namespace that is not there, or is going.

import { refuse, type Refused } from "./admission.ts";
import type { Fault } from "../base/fault.ts";
import { statusFault } from "../kube/status-fault.ts";

export function namespaceMissing(namespace: string): Fault {
  return statusFault("not-found", `namespaces ${JSON.stringify(namespace)} not found`, {
    code: 404,
    reason: "NotFound",
    details: { name: namespace, kind: "namespaces" },
  });
}

export function namespaceEnding(request: Refused, namespace: string): Fault {
  return refuse(request, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    { reason: "NamespaceTerminating", message: `namespace ${namespace} is being terminated` },
  ]);
}
