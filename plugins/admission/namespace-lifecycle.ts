// Nothing is made in a namespace that is missing or going away, and the namespaces everything rests on stay.

import { refuse } from "../kit/contracts/admission.ts";
import { namespaceEnding, namespaceMissing } from "../kit/contracts/namespace-refusals.ts";
import type { Namespace } from "../kit/kube/objects/types.ts";
import { step } from "./step.ts";

const immortal = new Set(["default", "kube-system", "kube-public"]);
const namespaces = { group: "", plural: "namespaces" };

export const namespaceLifecycle = step("NamespaceLifecycle", ({ view }) => ({
  handles: (request) =>
    (request.operation === "DELETE" && request.resource === "namespaces" && request.group === "") ||
    (request.operation === "CREATE" &&
      request.namespace !== "" &&
      request.resource !== "namespaces" &&
      request.resource !== "localsubjectaccessreviews"),
  async mutate(request, call) {
    if (request.operation === "DELETE") {
      if (immortal.has(request.name)) throw refuse(request, "this namespace may not be deleted");
      return;
    }
    const at = { namespace: "", name: request.namespace };
    const found =
      view.informer<Namespace>(namespaces).get("", request.namespace) ??
      (await view.read<Namespace>(namespaces, at, call));
    if (!found) throw namespaceMissing(request.namespace);
    if (found.status?.phase === "Terminating" || found.metadata.deletionTimestamp)
      throw namespaceEnding(request, request.namespace);
  },
}));
