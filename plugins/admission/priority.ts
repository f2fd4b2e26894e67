// Turns a pod's priority class into its priority, and keeps at most one class the default.

import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { KubeObject, Pod } from "../kit/kube/objects/types.ts";
import { isWriteOf, step, type Tools } from "./step.ts";

interface PriorityClass extends KubeObject {
  value: number;
  globalDefault?: boolean;
  preemptionPolicy?: string;
}

const group = "scheduling.k8s.io";
const classes = { group, plural: "priorityclasses" };

/** Classes that every cluster has, also before their objects are made. */
const systemClasses: Readonly<Record<string, number>> = {
  "system-cluster-critical": 2_000_000_000,
  "system-node-critical": 2_000_001_000,
};

export const priority = step("Priority", (tools) => ({
  handles: (request) =>
    isWriteOf(request, "", "pods", "CREATE", "UPDATE") ||
    isWriteOf(request, group, "priorityclasses", "CREATE", "UPDATE"),
  async mutate(request, call) {
    if (request.resource !== "pods") return;
    if (request.operation === "UPDATE") keepPriority(request);
    else setPriority(request, await classOf(request, tools, call));
  },
  validate(request) {
    if (request.resource !== "priorityclasses" || request.object?.globalDefault !== true) return;
    const other = tools.view
      .informer<PriorityClass>(classes)
      .list()
      .find((each) => each.globalDefault && each.metadata.name !== request.object?.metadata.name);
    if (!other) return;
    throw refuse(
      request,
      `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
    );
  },
}));

interface Chosen {
  name: string;
  value: number;
  preemptionPolicy: string;
}

async function classOf(request: AdmissionRequest, { view }: Tools, call: { signal: AbortSignal }): Promise<Chosen> {
  const pod = request.object as unknown as Pod;
  const name = pod.spec?.priorityClassName ?? "";
  const all = view.informer<PriorityClass>(classes);
  if (name === "") {
    const byValue = (a: PriorityClass, b: PriorityClass) => a.value - b.value;
    const chosen = all
      .list()
      .filter((each) => each.globalDefault)
      .sort(byValue)[0];
    return chosenOf(chosen?.metadata.name ?? "", chosen?.value ?? 0, chosen?.preemptionPolicy);
  }
  const found = all.get("", name) ?? (await view.read<PriorityClass>(classes, { namespace: "", name }, call));
  const value = found?.value ?? systemClasses[name];
  if (value === undefined) throw refuse(request, `no PriorityClass with name ${name} was found`);
  return chosenOf(name, value, found?.preemptionPolicy);
}

const chosenOf = (name: string, value: number, preemptionPolicy = "PreemptLowerPriority"): Chosen => ({
  name,
  value,
  preemptionPolicy,
});

function setPriority(request: AdmissionRequest, chosen: Chosen): void {
  const spec = (request.object as unknown as Pod).spec;
  if (!spec) return;
  if (spec.priority !== undefined && spec.priority !== chosen.value) {
    throw refuse(
      request,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${chosen.value} from the given PriorityClass name`,
    );
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== chosen.preemptionPolicy) {
    throw refuse(
      request,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${chosen.preemptionPolicy} from the given PriorityClass name`,
    );
  }
  if (chosen.name !== "") spec.priorityClassName = chosen.name;
  spec.priority = chosen.value;
  spec.preemptionPolicy = chosen.preemptionPolicy as "PreemptLowerPriority" | "Never";
}

/** Whoever replaces a pod by the manifest that it was made from leaves open what was decided then. */
function keepPriority({ object, oldObject }: AdmissionRequest): void {
  const spec = (object as unknown as Pod).spec;
  const old = (oldObject as unknown as Pod).spec;
  if (!spec || !old) return;
  if (spec.priority === undefined && old.priority !== undefined) spec.priority = old.priority;
  if (spec.preemptionPolicy === undefined && old.preemptionPolicy !== undefined)
    spec.preemptionPolicy = old.preemptionPolicy;
}
