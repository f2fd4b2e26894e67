// Node lifecycle: a node whose heartbeat stops is marked unknown, its pods no longer serve, and, as fast as its zone allows, it
// gets the taint by which its pods are moved away.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Lease, Node, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { timestamp } from "../../manager/conditions.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { writeStatus } from "../../manager/write-status.ts";
import { isReady } from "../pods/pod-facts.ts";
import { taintsFor, unknownConditions, wantedTaint } from "./conditions.ts";
import { paceOf, readiness, zoneOf } from "./zones.ts";

const usualGraceMs = 50_000;
/** A node that never said anything has longer. */
const startGraceMs = 60_000;
const leaseNamespace = "kube-node-lease";
/** While a zone may not lose nodes, how often to ask again. */
const askAgainMs = 5_000;

export const nodeLifecycleController =
  (graceMs = usualGraceMs): ControllerFactory =>
  ({ client, informers, events, clock }) => {
    const nodes = informers.for<Node>(resources.nodes);
    const leases = informers.for<Lease>(resources.leases);
    const pods = informers.for<Pod>(resources.pods);
    /** The last sign of life of each node and when we saw it, by our own clock: the node's may be wrong. */
    const seen = new Map<string, { sign: string; at: number }>();
    /** The nodes that we know of, by name. */
    const registered = new Map<string, Node["metadata"]>();
    /** When the next node of a zone may be tainted. */
    const nextInZone = new Map<string, number>();

    function silenceMs(node: Node): number {
      const name = node.metadata.name ?? "";
      const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
      const heartbeat = ready?.status === "Unknown" ? "" : (ready?.lastHeartbeatTime ?? "");
      const sign = `${leases.get(leaseNamespace, name)?.spec?.renewTime ?? ""} ${heartbeat}`;
      const known = seen.get(name);
      if (!known || (known.sign !== sign && sign.trim() !== "")) seen.set(name, { sign, at: clock.monotonic() });
      return clock.monotonic() - (seen.get(name)?.at ?? 0);
    }

    function tell(metadata: Node["metadata"], reason: string, what: string): void {
      const message = `Node ${metadata.name} event: ${what}`;
      events.event({ apiVersion: "v1", kind: "Node", metadata }, "Normal", reason, message);
    }

    function register(node: Node): void {
      const { name = "", uid } = node.metadata;
      const known = registered.get(name);
      if (known && known.uid !== uid) unregister(name);
      if (!known || known.uid !== uid) tell(node.metadata, "RegisteredNode", `Registered Node ${name} in Controller`);
      registered.set(name, node.metadata);
    }

    function unregister(name: string): void {
      const known = registered.get(name);
      if (known) tell(known, "RemovingNode", `Removing Node ${name} from Controller`);
      registered.delete(name);
      seen.delete(name);
    }

    async function markUnknown(node: Node, call: Call): Promise<void> {
      const conditions = unknownConditions(node, clock.now());
      if (!conditions) return;
      await writeStatus(client, resources.nodes, node, { ...node.status, conditions }, call);
      const name = node.metadata.name ?? "";
      events.event(node, "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
    }

    /** Nobody on the node can say so any more: its pods are not ready. */
    async function markPods(node: Node, call: Call): Promise<void> {
      for (const pod of pods.list()) {
        if (pod.spec?.nodeName !== node.metadata.name || !isReady(pod)) continue;
        const { namespace = "", name = "", uid } = pod.metadata;
        const condition = { type: "Ready", status: "False", lastTransitionTime: timestamp(clock.now()) };
        const body = { metadata: { uid }, status: { conditions: [condition] } };
        try {
          await client.patch(
            resources.pods,
            { namespace, name, subresource: "status" },
            { type: "strategic", body },
            call,
          );
        } catch (error) {
          if (!isFault(error, "not-found", "conflict")) throw error;
        }
        const message = "Node is not ready";
        events.event({ apiVersion: "v1", kind: "Pod", metadata: pod.metadata }, "Warning", "NodeNotReady", message);
      }
    }

    /** The answer is how long to wait for the zone, when it must. */
    async function setTaint(node: Node, call: Call): Promise<number | undefined> {
      const key = wantedTaint(node);
      const zone = zoneOf(node);
      const pace = key === undefined ? 0 : paceOf(zone, nodes.list());
      const taints = taintsFor(node, pace === "lift" ? undefined : key, clock.now());
      if (taints && key !== undefined && pace !== "lift") {
        if (pace === "halt") return askAgainMs;
        const waitMs = (nextInZone.get(zone) ?? 0) - clock.monotonic();
        if (waitMs > 0) return waitMs;
        nextInZone.set(zone, clock.monotonic() + pace);
      }
      if (taints) {
        const { uid, resourceVersion, name = "" } = node.metadata;
        const body = { metadata: { uid, resourceVersion }, spec: { taints: taints.length > 0 ? taints : null } };
        try {
          await client.patch(resources.nodes, { name }, { type: "merge", body }, call);
        } catch (error) {
          if (!isFault(error, "not-found", "conflict")) throw error;
        }
      }
      return typeof pace === "number" ? undefined : askAgainMs;
    }

    /** The node itself; and all that are not ready when the answer of one changes, since it may change what becomes of them. */
    function concerned(node: Node, previous: Node | undefined): string[] {
      const isSame = previous !== undefined && readiness(previous) === readiness(node);
      const unready = isSame ? [] : nodes.list().filter((each) => readiness(each) !== "True");
      return [node, ...unready].map(({ metadata }) => metadata.name ?? "");
    }

    return {
      name: "node-lifecycle",
      wakes: [
        { resource: resources.nodes, keys: concerned },
        {
          resource: resources.leases,
          keys: ({ metadata }: Lease) => (metadata.namespace === leaseNamespace ? [metadata.name ?? ""] : []),
        },
      ],
      async reconcile(name, call) {
        const node = nodes.get("", name);
        if (!node) {
          unregister(name);
          return undefined;
        }
        register(node);
        const silentMs = silenceMs(node);
        const allowedMs = readiness(node) === undefined ? startGraceMs : graceMs;
        if (silentMs >= allowedMs) await markUnknown(node, call);
        const now = nodes.get("", name);
        if (!now) return undefined;
        if (readiness(now) !== undefined && readiness(now) !== "True") await markPods(now, call);
        const waitMs = await setTaint(now, call);
        const silenceLeftMs = silentMs >= allowedMs ? undefined : allowedMs - silentMs;
        const waits = [waitMs, silenceLeftMs].filter((wait) => wait !== undefined);
        return waits.length > 0 ? Math.max(1, Math.min(...waits)) : undefined;
      },
    };
  };
