// Deployment: keeps one replica set per template and moves pods from the old ones to the newest as the strategy allows.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, keyOf, splitKey } from "../../manager/owners.ts";
import { claim } from "../pods/claim.ts";
import { isNamespaceGoing } from "../pods/pod-control.ts";
import { isActive } from "../pods/pod-facts.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import { isRolling, revisionOf } from "./limits.ts";
import { annotations, type Deployment, type DeploymentStatus, type ReplicaSet, replicasOf, sum } from "./objects.ts";
import { isScaling, planRolling, planScale, type Step } from "./plan.ts";
import { deploymentType, ReplicaSets } from "./replica-sets.ts";
import { computeStatus, hasDeadline, isComplete, setCondition } from "./status.ts";
import { findOfTemplate } from "./template.ts";

export const deploymentController: ControllerFactory = (context) => {
  const { client, informers, clock } = context;
  const deployments = informers.for<Deployment>(resources.deployments);
  const replicaSets = informers.for<ReplicaSet>(resources.replicasets);
  const pods = informers.for<Pod>(resources.pods);
  const control = new ReplicaSets(context);

  const ownersOfSet = (set: ReplicaSet): string[] => {
    const reference = controllerOf(set);
    const namespace = set.metadata.namespace ?? "";
    if (reference) return reference.kind === "Deployment" ? [`${namespace}/${reference.name}`] : [];
    return deployments
      .list(namespace)
      .filter((deployment) => labelSelectorOf(deployment.spec.selector).matches(set.metadata.labels))
      .map(keyOf);
  };

  /** New pods wait for old ones to leave, so a pod's end wakes its deployment. */
  const ownersOfPod = (pod: Pod): string[] => {
    const set = controllerOf(pod);
    if (set?.kind !== "ReplicaSet") return [];
    const found = replicaSets.get(pod.metadata.namespace ?? "", set.name);
    return found ? ownersOfSet(found) : [];
  };

  async function follow(
    deployment: Deployment,
    steps: readonly Step[],
    newSet: ReplicaSet | undefined,
    oldSets: readonly ReplicaSet[],
    call: Call,
  ) {
    const bySet = new Map(steps.map((step) => [step.set, step.replicas]));
    for (const set of newSet ? [...oldSets, newSet] : oldSets) {
      if (bySet.has(set) || replicasOf(set) > 0 || set === newSet) {
        await control.resize(deployment, set, bySet.get(set) ?? replicasOf(set), call);
      }
    }
  }

  function runsOldPods(oldSets: readonly ReplicaSet[], namespace: string): boolean {
    const uids = new Set(oldSets.map((set) => set.metadata.uid));
    return pods.list(namespace).some((pod) => uids.has(controllerOf(pod)?.uid ?? "") && !isTerminal(pod));
  }

  /**
   * Pods beyond what their sets ask for, which nobody has deleted yet. Unbounded while a set has not acted on its newest size: it may
   * still be making pods for the one before.
   */
  function leavingPods(sets: readonly ReplicaSet[], namespace: string): number {
    if (!sets.every(hasActed)) return Number.POSITIVE_INFINITY;
    const running = new Map(sets.map((set) => [set.metadata.uid, 0]));
    for (const pod of pods.list(namespace)) {
      const uid = controllerOf(pod)?.uid;
      const count = running.get(uid);
      if (count !== undefined && isActive(pod)) running.set(uid, count + 1);
    }
    return sum(sets, (set) => Math.max(0, (running.get(set.metadata.uid) ?? 0) - replicasOf(set)));
  }

  async function rollOut(
    deployment: Deployment,
    known: ReplicaSet | undefined,
    oldSets: readonly ReplicaSet[],
    leaving: number,
    call: Call,
  ): Promise<ReplicaSet | undefined> {
    if (!isRolling(deployment)) {
      const shrink = oldSets.filter((set) => replicasOf(set) > 0).map((set) => ({ set, replicas: 0 }));
      await follow(deployment, shrink, undefined, oldSets, call);
      if (runsOldPods(oldSets, deployment.metadata.namespace ?? "")) return known;
    }
    const newSet = known ?? (await makeNewSet(deployment, oldSets, leaving, call));
    if (!newSet) return undefined;
    await setRevision(deployment, await control.refresh(deployment, newSet, oldSets, call), call);
    const steps = isRolling(deployment)
      ? planRolling(deployment, newSet, oldSets, leaving)
      : [{ set: newSet, replicas: deployment.spec.replicas ?? 1 }];
    // Our refresh gave the set a new version: size the one that the informer holds now.
    const fresh = replicaSets.get(newSet.metadata.namespace ?? "", newSet.metadata.name ?? "") ?? newSet;
    const renewed = steps.map((step) => (step.set === newSet ? { ...step, set: fresh } : step));
    await follow(deployment, renewed, fresh, oldSets, call);
    return replicaSets.get(newSet.metadata.namespace ?? "", newSet.metadata.name ?? "") ?? fresh;
  }

  async function makeNewSet(
    deployment: Deployment,
    oldSets: readonly ReplicaSet[],
    leaving: number,
    call: Call,
  ): Promise<ReplicaSet | undefined> {
    const made = await control.create(deployment, oldSets, leaving, call).catch(async (error: unknown) => {
      await tellRefusal(deployment, error, call);
      throw error;
    });
    if (made !== "collision") return made;
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    await writeStatus(deployment, { ...deployment.status, collisionCount }, call);
    return undefined;
  }

  /** Nothing will come of it while the set itself cannot be made. In a namespace that is going nobody needs to know. */
  async function tellRefusal(deployment: Deployment, error: unknown, call: Call): Promise<void> {
    if (!isFault(error) || isNamespaceGoing(error)) return;
    const reason = "ReplicaSetCreateError";
    const message = `Failed to create new replica set ${JSON.stringify(control.nameFor(deployment))}: ${error.message}`;
    context.events.event({ ...deploymentType, ...deployment }, "Warning", reason, message);
    if (!hasDeadline(deployment)) return;
    const condition = { type: "Progressing", status: "False", reason, message };
    const conditions = setCondition(deployment.status?.conditions ?? [], condition, clock.now());
    await writeStatus(deployment, { ...deployment.status, conditions }, call);
  }

  async function setRevision(deployment: Deployment, revision: bigint, call: Call): Promise<void> {
    if (revisionOf(deployment) === revision) return;
    const metadata = {
      ...deployment.metadata,
      annotations: { ...deployment.metadata.annotations, [annotations.revision]: String(revision) },
    };
    await client.update(
      resources.deployments,
      { ...deploymentType, ...deployment, metadata } as unknown as KubeObject,
      call,
    );
  }

  async function writeStatus(deployment: Deployment, status: DeploymentStatus, call: Call): Promise<void> {
    const { namespace = "", name = "" } = deployment.metadata;
    // The revision may have been written a moment ago: status goes onto the newest version.
    const newest = deployments.get(namespace, name) ?? deployment;
    if (JSON.stringify(newest.status ?? {}) === JSON.stringify(status)) return;
    const object = { ...deploymentType, ...newest, status } as unknown as KubeObject;
    try {
      await client.update(resources.deployments, object, call, { subresource: "status" });
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  function withPause(deployment: Deployment, status: DeploymentStatus): DeploymentStatus {
    if (!hasDeadline(deployment)) return status;
    const known = status.conditions?.find((condition) => condition.type === "Progressing");
    const isMarked = known?.reason === "DeploymentPaused";
    if (known?.reason === "ProgressDeadlineExceeded" || isMarked === Boolean(deployment.spec.paused)) return status;
    const next = deployment.spec.paused
      ? { type: "Progressing", status: "Unknown", reason: "DeploymentPaused", message: "Deployment is paused" }
      : { type: "Progressing", status: "Unknown", reason: "DeploymentResumed", message: "Deployment is resumed" };
    return { ...status, conditions: setCondition(status.conditions ?? [], next, clock.now()) };
  }

  return {
    name: "deployment",
    workers: 5,
    wakes: [
      { resource: resources.deployments, keys: (deployment: Deployment) => [keyOf(deployment)] },
      {
        resource: resources.replicasets,
        keys: (set: ReplicaSet, previous: ReplicaSet | undefined) => [
          ...ownersOfSet(set),
          ...(previous ? ownersOfSet(previous) : []),
        ],
      },
      {
        resource: resources.pods,
        keys: (pod: Pod) => (isTerminal(pod) || pod.metadata.deletionTimestamp ? ownersOfPod(pod) : []),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const deployment = deployments.get(namespace, name);
      if (!deployment) return undefined;
      const selector = labelSelectorOf(deployment.spec.selector);
      if (selector.isEverything) {
        const message = "This deployment is selecting all pods. A non-empty selector is required.";
        context.events.event({ ...deploymentType, ...deployment }, "Warning", "SelectingAll", message);
        return undefined;
      }
      const mine = await claim(
        replicaSets.list(namespace),
        { client, resource: resources.replicasets, owner: deployment, ownerType: deploymentType, selector },
        call,
      );
      const known = findOfTemplate(deployment.spec.template, mine);
      let newSet = known;
      const oldSets = mine.filter((set) => set !== newSet);
      if (!deployment.metadata.deletionTimestamp) {
        const leaving = leavingPods(mine, namespace);
        if (deployment.spec.paused || isScaling(deployment, mine)) {
          const steps = planScale(deployment, newSet, oldSets, leaving);
          if (steps) await follow(deployment, steps, newSet, oldSets, call);
        } else {
          newSet = await rollOut(deployment, newSet, oldSets, leaving, call);
        }
      }
      const fresh = (set: ReplicaSet) => replicaSets.get(namespace, set.metadata.name ?? "") ?? set;
      const sets = {
        newest: newSet && fresh(newSet),
        isMade: newSet !== undefined && known === undefined,
        old: oldSets.map(fresh),
      };
      const status = withPause(deployment, computeStatus(deployment, sets, clock.now()));
      await writeStatus(deployment, status, call);
      if (isComplete(deployment, status)) await control.cleanUp(deployment, oldSets.map(fresh), call);
      return msUntilDeadline(deployment, status, clock.now());
    },
  };
};

function hasActed({ metadata, status }: ReplicaSet): boolean {
  return metadata.deletionTimestamp !== undefined || (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
}

/** When to look again only to notice that the progress deadline has passed. */
function msUntilDeadline(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const progressing = status.conditions?.find((condition) => condition.type === "Progressing");
  if (!hasDeadline(deployment) || !progressing || deployment.spec.paused || progressing.status === "False")
    return undefined;
  if (progressing.reason === "NewReplicaSetAvailable") return undefined;
  const deadline = Date.parse(progressing.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000;
  return Math.max(0, deadline - now) + 1000;
}
