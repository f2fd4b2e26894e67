// PodDisruptionBudget: keeps the number of allowed disruptions in step with the pods and with what their controllers want.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ObjectMeta, OwnerReference, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import { withCondition } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, keyOf, splitKey } from "../../manager/owners.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { type Budget, budgetType } from "./objects.ts";
import { budgetStatus, msUntilForgotten, needsScale } from "./status.ts";

interface Scaled {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly replicas?: number };
}

const scaledKinds: Record<string, ResourceRef> = {
  "apps/ReplicaSet": resources.replicasets,
  "apps/Deployment": resources.deployments,
  "apps/StatefulSet": resources.statefulsets,
  "/ReplicationController": resources.replicationcontrollers,
};

export const disruptionController: ControllerFactory = ({ client, informers, events, clock }) => {
  const budgets = informers.for<Budget>(resources.poddisruptionbudgets);
  const pods = informers.for<Pod>(resources.pods);
  const scaled = new Map(Object.entries(scaledKinds).map(([kind, ref]) => [kind, informers.for<Scaled>(ref)]));

  const budgetsOf = (pod: Pod): string[] =>
    budgets
      .list(pod.metadata.namespace)
      .filter((budget) => labelSelectorOf(budget.spec?.selector).matches(pod.metadata.labels))
      .map(keyOf);

  const groupOf = (reference: OwnerReference) => reference.apiVersion.split("/").at(-2) ?? "";

  /** The declared size of what controls the pod in the end, by its uid; undefined when nothing with a size does. */
  async function sizeBehind(pod: Pod, call: Call): Promise<{ uid: string; replicas: number } | undefined> {
    const { namespace = "" } = pod.metadata;
    const direct = controllerOf(pod);
    if (!direct) return undefined;
    let reference: OwnerReference = direct;
    for (let depth = 0; depth < 3; depth++) {
      const owner: Scaled | undefined = scaled
        .get(`${groupOf(reference)}/${reference.kind}`)
        ?.get(namespace, reference.name);
      const above: OwnerReference | undefined = owner && controllerOf(owner);
      if (!owner) return scaleOf(namespace, reference, call);
      if (!above) return { uid: reference.uid, replicas: owner.spec?.replicas ?? 1 };
      reference = above;
    }
    return undefined;
  }

  /** Anything else that has a size tells it by its scale. */
  async function scaleOf(
    namespace: string,
    reference: OwnerReference,
    call: Call,
  ): Promise<{ uid: string; replicas: number } | undefined> {
    const group = groupOf(reference);
    const plural = `${reference.kind.toLowerCase()}s`;
    const version = reference.apiVersion.split("/").at(-1) ?? "v1";
    const ref = { group, version, plural, kind: reference.kind, namespaced: true };
    try {
      const scale = await client.get<Scaled>(ref, { namespace, name: reference.name, subresource: "scale" }, call);
      return { uid: reference.uid, replicas: scale.spec?.replicas ?? 0 };
    } catch (error) {
      if (isFault(error, "not-found", "unsupported", "invalid")) return undefined;
      throw error;
    }
  }

  async function expectedPods(budget: Budget, mine: readonly Pod[], call: Call): Promise<number> {
    if (!needsScale(budget)) return mine.length;
    const sizes = new Map<string, number>();
    const unmanaged: string[] = [];
    for (const pod of mine) {
      const size = await sizeBehind(pod, call);
      if (size) sizes.set(size.uid, size.replicas);
      else unmanaged.push(pod.metadata.name ?? "");
    }
    if (unmanaged.length > 0) {
      const message = `Pods selected by this PodDisruptionBudget (selector: ${labelSelectorOf(budget.spec?.selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;
      events.event({ ...budgetType, ...budget }, "Warning", "UnmanagedPods", message);
    }
    return [...sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  const sizeWakes = Object.values(scaledKinds).map((resource) => ({
    resource,
    keys: (owner: Scaled, previous: Scaled | undefined) =>
      owner.spec?.replicas === previous?.spec?.replicas
        ? []
        : budgets.list(owner.metadata.namespace).filter(needsScale).map(keyOf),
  }));

  return {
    name: "disruption",
    wakes: [
      { resource: resources.poddisruptionbudgets, keys: (budget: Budget) => [keyOf(budget)] },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...budgetsOf(pod), ...(previous ? budgetsOf(previous) : [])],
      },
      ...sizeWakes,
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const budget = budgets.get(namespace, name);
      if (!budget) return undefined;
      const selector = labelSelectorOf(budget.spec?.selector);
      const mine = pods.list(namespace).filter((pod) => selector.matches(pod.metadata.labels) && !isTerminal(pod));
      try {
        const status = budgetStatus(budget, mine, await expectedPods(budget, mine, call), clock.now());
        if (mine.length === 0) events.event({ ...budgetType, ...budget }, "Normal", "NoPods", "No matching pods found");
        await writeStatus(client, resources.poddisruptionbudgets, budget, status, call);
        return msUntilForgotten(status, clock.now());
      } catch (error) {
        // Not knowing is no leave to disrupt.
        const message = error instanceof Error ? error.message : String(error);
        const condition = { type: "DisruptionAllowed", status: "False", reason: "SyncFailed", message };
        const known = budget.status ?? { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
        const conditions = withCondition(budget.status?.conditions, condition, clock.now());
        await writeStatus(
          client,
          resources.poddisruptionbudgets,
          budget,
          { ...known, disruptionsAllowed: 0, conditions },
          call,
        );
        throw error;
      }
    },
  };
};
