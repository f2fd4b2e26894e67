// A pod of a runtime class carries the overhead and scheduling that the class says.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { KubeObject, Pod, PodSpec, Toleration } from "../kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../kit/kube/quantity.ts";
import { isWriteOf, step } from "./step.ts";

interface RuntimeClass extends KubeObject {
  overhead?: { podFixed?: Record<string, string> };
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: Toleration[] };
}

const classes = { group: "node.k8s.io", plural: "runtimeclasses" };

export const runtimeClass = step("RuntimeClass", ({ view }) => ({
  handles: (request) => isWriteOf(request, "", "pods", "CREATE"),
  async mutate(request, call) {
    const spec = (request.object as unknown as Pod).spec;
    const name = spec?.runtimeClassName;
    if (!spec || !name) return;
    const found =
      view.informer<RuntimeClass>(classes).get("", name) ??
      (await view.read<RuntimeClass>(classes, { namespace: "", name }, call));
    if (!found) throw refuse(request, `pod rejected: RuntimeClass "${name}" not found`);
    setOverhead(request, spec, found.overhead?.podFixed);
    setScheduling(request, spec, found.scheduling);
  },
  validate(request) {
    const spec = (request.object as unknown as Pod).spec;
    if (spec?.runtimeClassName || !spec?.overhead || Object.keys(spec.overhead).length === 0) return;
    throw refuse(request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  },
}));

function setOverhead(request: AdmissionRequest, spec: PodSpec, overhead: Record<string, string> | undefined): void {
  const own = spec.overhead as Record<string, string> | undefined;
  if (own && Object.keys(own).length > 0 && !isSameOverhead(own, overhead ?? {})) {
    throw refuse(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  }
  if (overhead) spec.overhead = { ...overhead };
}

function isSameOverhead(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => {
      const [left, right] = [a[name], b[name]];
      return (
        left !== undefined && right !== undefined && compareQuantity(parseQuantity(left), parseQuantity(right)) === 0
      );
    })
  );
}

function setScheduling(request: AdmissionRequest, spec: PodSpec, scheduling: RuntimeClass["scheduling"]): void {
  for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value) {
      throw refuse(
        request,
        "pod rejected: conflict: runtimeClass.scheduling.nodeSelector conflicts with pod.spec.nodeSelector",
      );
    }
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  const has = new Set((spec.tolerations ?? []).map((each) => JSON.stringify(each)));
  const missing = (scheduling?.tolerations ?? []).filter((each) => !has.has(JSON.stringify(each)));
  if (missing.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...structuredClone(missing)];
}
