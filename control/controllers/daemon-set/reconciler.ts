// DaemonSet: one pod on every node that fits, replaced node by node when its template changes.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerOf, isControlledBy, keyOf, splitKey } from "../../manager/owners.ts";
import { slowStart } from "../../manager/slow-start.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { claim } from "../pods/claim.ts";
import { PodControl } from "../pods/pod-control.ts";
import { msUntilAvailable } from "../pods/pod-facts.ts";
import { type ControllerRevision, hashOf, revisionLabel, Revisions } from "../revisions/revisions.ts";
import { type DaemonSet, daemonSetType } from "./objects.ts";
import { nodeOf, podFor } from "./placement.ts";
import { planDaemons } from "./plan.ts";
import { statusOf } from "./status.ts";

const firstDelayMs = 1000;
const longestDelayMs = 15 * 60_000;
const burst = 250;

export const daemonSetController: ControllerFactory = (context) => {
  const { client, informers, events, clock } = context;
  const sets = informers.for<DaemonSet>(resources.daemonsets);
  const pods = informers.for<Pod>(resources.pods);
  const nodes = informers.for<Node>(resources.nodes);
  const stored = informers.for<ControllerRevision>(resources.controllerrevisions);
  const revisions = new Revisions(client, (namespace) => stored.list(namespace), daemonSetType, revisionLabel);
  const control = new PodControl(context);
  /** How often a daemon failed on a node in a row, and when it may be replaced; by set, revision and node. */
  const failures = new Map<string, { count: number; notBefore: number }>();

  const keysOf = (pod: Pod): string[] => {
    const namespace = pod.metadata.namespace ?? "";
    const reference = controllerOf(pod);
    if (reference) return reference.kind === "DaemonSet" ? [`${namespace}/${reference.name}`] : [];
    return sets
      .list(namespace)
      .filter((set) => labelSelectorOf(set.spec.selector).matches(pod.metadata.labels))
      .map(keyOf);
  };

  /** Heartbeats change nothing that daemons are placed by. */
  const wakesAll = (node: Node, previous: Node | undefined) =>
    !previous ||
    !nodes.get("", node.metadata.name ?? "") ||
    JSON.stringify([node.metadata.labels, node.spec]) !== JSON.stringify([previous.metadata.labels, previous.spec]);

  /** Removes the failed ones whose time has come; the answer is when the next one's comes. */
  async function removeFailed(set: DaemonSet, failed: readonly Pod[], call: Call): Promise<number | undefined> {
    const waits: number[] = [];
    for (const pod of failed) {
      const key = `${set.metadata.uid}/${pod.metadata.labels?.[revisionLabel]}/${nodeOf(pod)}`;
      const known = failures.get(key);
      const now = clock.now();
      if (known && known.notBefore > now) {
        waits.push(known.notBefore - now);
        continue;
      }
      const message = `Found failed daemon pod ${pod.metadata.namespace}/${pod.metadata.name} on node ${nodeOf(pod)}, will try to kill it`;
      events.event({ ...daemonSetType, ...set }, "Warning", "FailedDaemonPod", message);
      const delay = Math.min(firstDelayMs * 2 ** (known?.count ?? 0), longestDelayMs);
      failures.set(key, { count: (known?.count ?? 0) + 1, notBefore: now + delay });
      await control.delete({ object: set, type: daemonSetType }, pod, call);
    }
    return waits.length > 0 ? Math.min(...waits) : undefined;
  }

  function forget(uid: string): void {
    for (const key of failures.keys()) if (key.startsWith(`${uid}/`)) failures.delete(key);
  }

  return {
    name: "daemonset",
    workers: 2,
    wakes: [
      {
        resource: resources.daemonsets,
        keys: (set: DaemonSet) => {
          if (!sets.get(set.metadata.namespace ?? "", set.metadata.name ?? "")) forget(set.metadata.uid ?? "");
          return [keyOf(set)];
        },
      },
      {
        resource: resources.pods,
        keys: (pod: Pod, previous: Pod | undefined) => [...keysOf(pod), ...(previous ? keysOf(previous) : [])],
      },
      {
        resource: resources.nodes,
        keys: (node: Node, previous: Node | undefined) => (wakesAll(node, previous) ? sets.list().map(keyOf) : []),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const set = sets.get(namespace, name);
      if (!set) return undefined;
      const selector = labelSelectorOf(set.spec.selector);
      if (selector.isEverything) {
        const message = "This daemon set is selecting all pods. A non-empty selector is required.";
        events.event({ ...daemonSetType, ...set }, "Warning", "SelectingAll", message);
        return undefined;
      }
      const mine = await claim(
        pods.list(namespace),
        { client, resource: resources.pods, owner: set, ownerType: daemonSetType, selector },
        call,
      );
      if (set.metadata.deletionTimestamp) return undefined;
      const history = await revisions.sync(set, call);
      if (history === "collision") {
        const collisionCount = (set.status?.collisionCount ?? 0) + 1;
        await writeStatus(client, resources.daemonsets, set, { ...set.status, collisionCount }, call);
        return undefined;
      }
      const hash = hashOf(history.newest);
      const facts = { set, nodes: nodes.list(), hash, now: clock.now() };
      const plan = planDaemons({ ...facts, pods: mine });
      const owner = { object: set, type: daemonSetType };
      for (const pod of plan.remove) await control.delete(owner, pod, call);
      const waitMs = await removeFailed(set, plan.failed, call);
      const made = await slowStart(Math.min(burst, plan.create.length), async (at) => {
        await control.create(owner, podFor(set, plan.create[at] ?? "", hash), call);
      });
      const now = pods.list(namespace).filter((pod) => isControlledBy(pod, set));
      await writeStatus(client, resources.daemonsets, set, statusOf({ ...facts, pods: now }), call);
      const live = new Set(now.map((pod) => pod.metadata.labels?.[revisionLabel]));
      await revisions.truncate(set, history, (revision) => live.has(hashOf(revision)), call);
      if (made.error) throw made.error;
      const waits = now
        .map((pod) => msUntilAvailable(pod, set.spec.minReadySeconds ?? 0, clock.now()))
        .concat(waitMs)
        .filter((wait) => wait !== undefined && wait > 0) as number[];
      return waits.length > 0 ? Math.min(...waits) : undefined;
    },
  };
};
