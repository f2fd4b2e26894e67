// StatefulSet: pods with names and volumes of their own, made, changed and taken away in order.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, isControlledBy, keyOf, splitKey } from "../../manager/owners.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { claim } from "../pods/claim.ts";
import { isNamespaceGoing } from "../pods/pod-control.ts";
import { type ControllerRevision, hashLabel, Revisions } from "../revisions/revisions.ts";
import { Claims } from "./claims.ts";
import {
  missingIdentity,
  ordinalOf,
  podName,
  podOf,
  revisionOf,
  type StatefulSet,
  statefulSetType,
} from "./objects.ts";
import { planSet } from "./plan.ts";
import { statusOf } from "./status.ts";

export const statefulSetController: ControllerFactory = (context) => {
  const { client, informers, events, clock } = context;
  const sets = informers.for<StatefulSet>(resources.statefulsets);
  const pods = informers.for<Pod>(resources.pods);
  const stored = informers.for<ControllerRevision>(resources.controllerrevisions);
  const revisions = new Revisions(client, (namespace) => stored.list(namespace), statefulSetType, hashLabel);
  const claims = new Claims(context);

  const keysOf = (pod: Pod): string[] => {
    const namespace = pod.metadata.namespace ?? "";
    const reference = controllerOf(pod);
    if (reference) return reference.kind === "StatefulSet" ? [`${namespace}/${reference.name}`] : [];
    return sets
      .list(namespace)
      .filter(
        (set) => ordinalOf(set, pod) !== undefined && labelSelectorOf(set.spec.selector).matches(pod.metadata.labels),
      )
      .map(keyOf);
  };

  async function create(set: StatefulSet, ordinal: number, revision: ControllerRevision, call: Call): Promise<void> {
    const { namespace = "", name } = set.metadata;
    await claims.ensure(set, ordinal, call);
    const what = `create Pod ${podName(set, ordinal)} in StatefulSet ${name}`;
    try {
      await client.create(resources.pods, podOf(set, ordinal, revision), call, { namespace });
      events.event({ ...statefulSetType, ...set }, "Normal", "SuccessfulCreate", `${what} successful`);
    } catch (error) {
      const fault = toFault(error, "create pod");
      // A pod of that name that is not ours: what becomes of it wakes us.
      if (!isNamespaceGoing(fault))
        events.event(
          { ...statefulSetType, ...set },
          "Warning",
          "FailedCreate",
          `${what} failed error: ${fault.message}`,
        );
      throw fault;
    }
  }

  async function remove(set: StatefulSet, pod: Pod, call: Call): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata;
    const what = `delete Pod ${name} in StatefulSet ${set.metadata.name}`;
    try {
      await client.delete(resources.pods, { namespace, name }, call, { preconditions: { uid } });
      events.event({ ...statefulSetType, ...set }, "Normal", "SuccessfulDelete", `${what} successful`);
    } catch (error) {
      if (isFault(error, "not-found", "conflict")) return;
      const { message } = toFault(error, "delete pod");
      events.event({ ...statefulSetType, ...set }, "Warning", "FailedDelete", `${what} failed error: ${message}`);
      throw error;
    }
  }

  /** Services find a pod by these labels: what somebody changed is put right. */
  async function repairIdentity(set: StatefulSet, pod: Pod, call: Call): Promise<void> {
    const labels = missingIdentity(set, pod);
    if (!labels || pod.metadata.deletionTimestamp) return;
    const { namespace = "", name = "", uid } = pod.metadata;
    const body = { metadata: { uid, labels } };
    try {
      await client.patch(resources.pods, { namespace, name }, { type: "strategic", body }, call);
      const message = `update Pod ${name} in StatefulSet ${set.metadata.name} successful`;
      events.event({ ...statefulSetType, ...set }, "Normal", "SuccessfulUpdate", message);
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  async function claimed(set: StatefulSet, call: Call): Promise<Pod[]> {
    const { namespace = "", name = "", uid } = set.metadata;
    const candidates = pods
      .list(namespace)
      .filter((pod) => isControlledBy(pod, set) || ordinalOf(set, pod) !== undefined);
    const mayAdopt = async (adoptCall: Call) =>
      (await client.get<StatefulSet>(resources.statefulsets, { namespace, name }, adoptCall)).metadata.uid === uid;
    const selector = labelSelectorOf(set.spec.selector);
    const ownerType = statefulSetType;
    return claim(candidates, { client, resource: resources.pods, owner: set, ownerType, selector, mayAdopt }, call);
  }

  return {
    name: "statefulset",
    workers: 5,
    wakes: [
      { resource: resources.statefulsets, keys: (set: StatefulSet) => [keyOf(set)] },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...keysOf(pod), ...(previous ? keysOf(previous) : [])],
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const set = sets.get(namespace, name);
      if (!set) return undefined;
      const selector = labelSelectorOf(set.spec.selector);
      if (selector.isEverything) {
        const message = "This StatefulSet is selecting all pods. A non-empty selector is required.";
        events.event({ ...statefulSetType, ...set }, "Warning", "SelectingAll", message);
        return undefined;
      }
      const mine = await claimed(set, call);
      if (set.metadata.deletionTimestamp) return undefined;
      const history = await revisions.sync(set, call);
      if (history === "collision") {
        const collisionCount = (set.status?.collisionCount ?? 0) + 1;
        await writeStatus(client, resources.statefulsets, set, { ...set.status, collisionCount }, call);
        return undefined;
      }
      const update = history.newest;
      const byName = (wanted: string | undefined) => history.all.find((one) => one.metadata.name === wanted);
      const current = byName(set.status?.currentRevision) ?? update;
      await claims.own(set, mine, call);
      for (const pod of mine) await repairIdentity(set, pod, call);
      const plan = planSet(set, mine, update.metadata.name ?? "", clock.now());
      let failure: unknown;
      try {
        for (const pod of plan.remove) await remove(set, pod, call);
        for (const one of plan.create)
          await create(set, one.ordinal, one.revision === "current" ? current : update, call);
      } catch (error) {
        failure = error;
      }
      const now = pods.list(namespace).filter((pod) => isControlledBy(pod, set));
      const names = { current: current.metadata.name ?? "", update: update.metadata.name ?? "" };
      const status = statusOf(set, now, names, clock.now());
      await writeStatus(client, resources.statefulsets, set, status, call);
      const live = new Set([status.currentRevision, status.updateRevision, ...now.map(revisionOf)]);
      await revisions.truncate(set, history, (revision) => live.has(revision.metadata.name), call);
      if (failure) throw failure;
      return plan.waitMs;
    },
  };
};
