// ReplicaSet and ReplicationController: as many pods of one template as declared, no more and no fewer. They differ only in how
// the object spells its selector and whether `fullyLabeledReplicas` wants a template.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, ObjectMeta, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { type LabelSelectorMatcher, labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerContext, ControllerFactory, Reconciler } from "../../manager/contract.ts";
import { controllerOf, keyOf, splitKey } from "../../manager/owners.ts";
import { slowStart } from "../../manager/slow-start.ts";
import { claim } from "../pods/claim.ts";
import { deletionOrder } from "../pods/deletion-order.ts";
import { PodControl, type PodTemplate, podFromTemplate } from "../pods/pod-control.ts";
import { isActive, isReady, msUntilAvailable } from "../pods/pod-facts.ts";
import { replicaStatus, type ReplicaStatus } from "./status.ts";

export interface ReplicaOwner {
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly template?: PodTemplate;
    readonly selector?: unknown;
  };
  readonly status?: ReplicaStatus;
}

interface ReplicaKind {
  readonly name: string;
  readonly resource: ResourceRef;
  readonly type: { apiVersion: string; kind: string };
  selectorOf(owner: ReplicaOwner): LabelSelectorMatcher;
}

/** One round never creates or deletes more than this, so that a mistake can be corrected. */
const burst = 500;

export const replicaSetController: ControllerFactory = (context) =>
  replicaReconciler(context, {
    name: "replicaset",
    resource: resources.replicasets,
    type: { apiVersion: "apps/v1", kind: "ReplicaSet" },
    selectorOf: (owner) => labelSelectorOf(owner.spec?.selector as object | undefined),
  });

export const replicationController: ControllerFactory = (context) =>
  replicaReconciler(context, {
    name: "replication-controller",
    resource: resources.replicationcontrollers,
    type: { apiVersion: "v1", kind: "ReplicationController" },
    selectorOf: (owner) => {
      const labels = owner.spec?.selector as Record<string, string> | undefined;
      return labelSelectorOf(labels && Object.keys(labels).length > 0 ? { matchLabels: labels } : undefined);
    },
  });

function replicaReconciler(context: ControllerContext, kind: ReplicaKind): Reconciler {
  const { client, informers, clock } = context;
  const owners = informers.for<ReplicaOwner>(kind.resource);
  const pods = informers.for<Pod>(resources.pods);
  const control = new PodControl(context);

  /** A pod wakes its controller; an orphan wakes everyone who might want it. */
  const ownersOf = (pod: Pod): string[] => {
    const reference = controllerOf(pod);
    const namespace = pod.metadata.namespace ?? "";
    if (reference) return reference.kind === kind.type.kind ? [`${namespace}/${reference.name}`] : [];
    if (pod.metadata.deletionTimestamp) return [];
    return owners
      .list(namespace)
      .filter((owner) => kind.selectorOf(owner).matches(pod.metadata.labels))
      .map(keyOf);
  };

  async function scale(owner: ReplicaOwner, mine: readonly Pod[], call: Call): Promise<unknown> {
    const wanted = owner.spec?.replicas ?? 1;
    const podOwner = { object: owner, type: kind.type };
    if (mine.length < wanted) {
      const template = owner.spec?.template ?? {};
      const result = await slowStart(Math.min(burst, wanted - mine.length), async () => {
        await control.create(podOwner, podFromTemplate(podOwner, template), call);
      });
      return result.error;
    }
    if (mine.length > wanted) {
      const perNode = new Map<string, number>();
      for (const pod of mine) perNode.set(pod.spec?.nodeName ?? "", (perNode.get(pod.spec?.nodeName ?? "") ?? 0) + 1);
      const order = deletionOrder(mine, (node) => (node ? (perNode.get(node) ?? 0) : 0), clock.now());
      const victims = order.slice(0, Math.min(burst, mine.length - wanted));
      const results = await Promise.allSettled(victims.map((pod) => control.delete(podOwner, pod, call)));
      return results.find((result) => result.status === "rejected")?.reason;
    }
    return undefined;
  }

  async function writeStatus(owner: ReplicaOwner, status: ReplicaStatus, call: Call): Promise<void> {
    if (JSON.stringify(owner.status ?? {}) === JSON.stringify(status)) return;
    try {
      await client.update(kind.resource, { ...kind.type, ...owner, status } as unknown as KubeObject, call, {
        subresource: "status",
      });
    } catch (error) {
      // Gone or changed meanwhile: the change itself wakes us again.
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  return {
    name: kind.name,
    workers: 5,
    wakes: [
      { resource: kind.resource, keys: (owner: ReplicaOwner) => [keyOf(owner)] },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...ownersOf(pod), ...(previous ? ownersOf(previous) : [])],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const owner = owners.get(namespace, name);
      if (!owner) return undefined;
      const selector = kind.selectorOf(owner);
      const active = pods.list(namespace).filter(isActive);
      const mayAdopt = async (adoptCall: Call) => {
        const fresh = await client.get<ReplicaOwner>(kind.resource, { namespace, name }, adoptCall);
        return fresh.metadata.uid === owner.metadata.uid && !fresh.metadata.deletionTimestamp;
      };
      const mine = await claim(
        active,
        { client, resource: resources.pods, owner, ownerType: kind.type, selector, mayAdopt },
        call,
      );
      const failure = owner.metadata.deletionTimestamp ? undefined : await scale(owner, mine, call);

      const minReadySeconds = owner.spec?.minReadySeconds ?? 0;
      // Our own writes are in the informer by now: count what is there after them.
      const counted = pods
        .list(namespace)
        .filter((pod) => isActive(pod) && controllerOf(pod)?.uid === owner.metadata.uid);
      const waits = counted.map((pod) => msUntilAvailable(pod, minReadySeconds, clock.now()));
      const counts = {
        replicas: counted.length,
        fullyLabeled: counted.filter((pod) => hasLabels(pod, owner.spec?.template?.metadata?.labels)).length,
        ready: counted.filter(isReady).length,
        available: waits.filter((wait) => wait === 0).length,
      };
      const direction = mine.length < (owner.spec?.replicas ?? 1) ? "create" : "delete";
      await writeStatus(
        owner,
        replicaStatus(
          owner,
          counts,
          failure ? { direction, message: toFault(failure, direction).message } : undefined,
          clock.now(),
        ),
        call,
      );
      if (failure) throw failure;
      const pending = waits.filter((wait) => wait !== undefined && wait > 0) as number[];
      return pending.length > 0 ? Math.min(...pending) : undefined;
    },
  };
}

function hasLabels(pod: Pod, labels: Record<string, string> | undefined): boolean {
  return Object.entries(labels ?? {}).every(([key, value]) => pod.metadata.labels?.[key] === value);
}
