import type { Fault } from "../../kit/base/fault.ts";
import { statusFault } from "../../kit/kube/status-fault.ts";

/** What a node is answered when the object that decides is not there: 404, as kubelets expect of pods that are gone. */
export function absent(resource: string, name: string): Fault {
  return statusFault("not-found", `${resource} ${JSON.stringify(name)} not found`, {
    code: 404,
    reason: "NotFound",
    details: { name, kind: resource },
  });
}
