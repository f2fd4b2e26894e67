// VolumeBinding: the pod's claims must be bound to volumes that the node reaches, or be such that they can be bound there.
// With the decision for a node the volumes are taken, so that the next pod chooses others; before the pod is bound that is made
// true: a volume is reserved for its claim, or one is made for the chosen node.

import type { Call } from "../kit/base/call.ts";
import { checkSettings, integer, optional, withDefault } from "../kit/base/config-check.ts";
import { Fault } from "../kit/base/fault.ts";
import { resources } from "../kit/kube/objects/resources.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../kit/kube/objects/types.ts";
import { chooseVolumes, type PodClaims, podClaims } from "../kit/scheduling/volume-choice.ts";
import {
  volumeAnnotations as annotations,
  claimsOf,
  isReachable,
  type StorageClass,
} from "../kit/kube/objects/volume-claims.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import {
  type BindTools,
  type FilterPlugin,
  filterKind,
  Rejection,
  type ReserveView,
  skip,
} from "../kit/contracts/scheduling.ts";
import { hasStorageFor } from "./storage-capacity.ts";

const conflict = { reasons: ["node(s) had volume node affinity conflict"], final: true };
const missing = {
  reasons: ["node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"],
  final: true,
};
const none = { reasons: ["node(s) didn't find available persistent volumes to bind"], final: true };
const full = { reasons: ["node(s) did not have enough free storage"], final: true };
const pollMs = 20;

interface State extends PodClaims {
  readonly hasRoom: (claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node) => boolean;
}

/** What the claims that waited for this pod get is taken at once: others see the volumes as theirs, and the claims as meant for the node. */
function take(pod: Pod, node: Node, cluster: ReserveView): void {
  const state = podClaims(pod, cluster);
  if (state === skip || state instanceof Rejection || state.waiting.length === 0) return;
  const chosen = chooseVolumes(state, node, () => true);
  if (typeof chosen === "string") return;
  for (const [index, { claim }] of state.waiting.entries()) {
    const volume = chosen[index];
    if (volume && !volume.spec?.claimRef?.uid) cluster.assume("persistentvolumes", reserved(volume, claim));
    if (claim.metadata.annotations?.[annotations.selectedNode] !== node.metadata.name)
      cluster.assume("persistentvolumeclaims", selected(claim, node));
  }
}

function reserved(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace = "", name = "", uid = "" } = claim.metadata;
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
  const own = { [annotations.boundByController]: "yes" };
  const metadata = { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...own } };
  return { ...volume, metadata, spec: { ...volume.spec, claimRef } };
}

function selected(claim: PersistentVolumeClaim, node: Node): PersistentVolumeClaim {
  const own = { [annotations.selectedNode]: node.metadata.name ?? "" };
  return { ...claim, metadata: { ...claim.metadata, annotations: { ...claim.metadata.annotations, ...own } } };
}

async function bindVolumes(pod: Pod, node: Node, tools: BindTools, patienceMs: number, call: Call): Promise<void> {
  const { client, assumed } = tools;
  for (const volume of assumed<PersistentVolume>("persistentvolumes"))
    await client.update(resources.persistentvolumes, { ...volume, apiVersion: "v1", kind: "PersistentVolume" }, call);
  for (const { metadata } of assumed<PersistentVolumeClaim>("persistentvolumeclaims")) {
    const { namespace = "", name = "", uid } = metadata;
    const body = { metadata: { uid, annotations: { [annotations.selectedNode]: node.metadata.name } } };
    await client.patch(resources.persistentvolumeclaims, { namespace, name }, { type: "merge", body }, call);
  }
  await untilBound(pod, node, tools, patienceMs, call);
}

async function untilBound(
  pod: Pod,
  node: Node,
  { cluster, clock }: BindTools,
  patienceMs: number,
  call: Call,
): Promise<void> {
  const { namespace = "", name = "", uid } = pod.metadata;
  const ends = clock.monotonic() + patienceMs;
  for (;;) {
    const state = podClaims(pod, cluster);
    if (state === skip) return;
    if (state instanceof Rejection) {
      // A claim that names its volume but is not marked yet is just being bound.
      if (!state.reason.startsWith("pod has unbound")) throw new Fault("conflict", state.reason);
    } else {
      if (state.waiting.length === 0) return;
      const isGivenUp = state.waiting.some(
        ({ claim }) => claim.metadata.annotations?.[annotations.selectedNode] !== node.metadata.name,
      );
      if (isGivenUp) throw new Fault("conflict", "Cannot bind volumes: the provisioner asks for another node");
    }
    if (cluster.get<Pod>("pods", namespace, name)?.metadata.uid !== uid)
      throw new Fault("not-found", "Cannot bind volumes: the pod is gone");
    if (clock.monotonic() > ends) throw new Fault("unavailable", "Cannot bind volumes: timed out waiting for claims");
    await clock.sleep(pollMs, call);
  }
}

const filterOf = (patienceMs: number): FilterPlugin => ({
  name: "VolumeBinding",
  retryOn: [
    "PersistentVolumeClaim/*",
    "PersistentVolume/*",
    "StorageClass/*",
    "CSINode/*",
    "CSIDriver/*",
    "CSIStorageCapacity/*",
    "Node/Add",
    "Node/Update",
  ],
  withArguments(raw, where) {
    // The shape is the score's.
    const shape = { bindTimeoutSeconds: withDefault(integer({ min: 0 }), 600), shape: optional((given) => given) };
    return filterOf(checkSettings(raw, shape, where).bindTimeoutSeconds * 1000);
  },
  prepare(pod, cluster): State | Rejection | typeof skip {
    const state = podClaims(pod, cluster);
    if (state === skip || state instanceof Rejection) return state;
    return { ...state, hasRoom: (claim, storageClass, node) => hasStorageFor(claim, storageClass, node, cluster) };
  },
  filter(_pod, { node }, prepared) {
    const state = prepared as State;
    for (const volume of state.bound) {
      if (!volume) return missing;
      if (!isReachable(volume, node)) return conflict;
    }
    const chosen = chooseVolumes(state, node, state.hasRoom);
    return chosen === "none" ? none : chosen === "full" ? full : undefined;
  },
  reserve(pod, node, cluster) {
    if (claimsOf(pod).length > 0) take(pod, node, cluster);
  },
  beforeBind: (pod, node, tools, call) =>
    claimsOf(pod).length === 0 ? undefined : bindVolumes(pod, node, tools, patienceMs, call),
});

export const volumeBinding: Plugin<FilterPlugin> = {
  kind: filterKind,
  name: "VolumeBinding",
  open: () => filterOf(10 * 60_000),
};
