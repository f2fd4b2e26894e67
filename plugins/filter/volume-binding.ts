// VolumeBinding: the pod's claims must be bound to volumes that the node reaches, or be such that they can be bound there.
// Before the pod is bound, claims that waited for it are: a volume is reserved, or one is made for the chosen node.

import type { Call } from "../kit/call.ts";
import { Fault } from "../kit/fault.ts";
import { resources } from "../kit/objects/resources.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../kit/objects/types.ts";
import {
  volumeAnnotations as annotations,
  bestVolume,
  claimsOf,
  classOf,
  isFullyBound,
  isReachable,
  isTopologyAllowed,
  isWaiting,
  noProvisioner,
  type StorageClass,
} from "../kit/objects/volume-claims.ts";
import type { Plugin } from "../kit/plugin.ts";
import { hasStorageFor } from "./storage-capacity.ts";
import { type BindTools, type ClusterView, type FilterPlugin, filterKind, Rejection, skip } from "../kit/scheduling.ts";

const conflict = { reasons: ["node(s) had volume node affinity conflict"], final: true };
const missing = {
  reasons: ["node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"],
  final: true,
};
const none = { reasons: ["node(s) didn't find available persistent volumes to bind"], final: true };
const full = { reasons: ["node(s) did not have enough free storage"], final: true };
const pollMs = 20;
const patienceMs = 10 * 60_000;

interface State {
  readonly bound: readonly (PersistentVolume | undefined)[];
  readonly waiting: readonly { readonly claim: PersistentVolumeClaim; readonly storageClass: StorageClass }[];
  readonly volumes: readonly PersistentVolume[];
  readonly hasRoom: (claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node) => boolean;
}

function prepare(pod: Pod, cluster: Pick<ClusterView, "list" | "get">): State | Rejection | typeof skip {
  const names = claimsOf(pod);
  if (names.length === 0) return skip;
  const namespace = pod.metadata.namespace ?? "";
  const bound: (PersistentVolume | undefined)[] = [];
  const waiting: { claim: PersistentVolumeClaim; storageClass: StorageClass }[] = [];
  for (const { name, isEphemeral } of names) {
    const claim = cluster.get<PersistentVolumeClaim>("persistentvolumeclaims", namespace, name);
    const refusal = unusable(pod, name, isEphemeral, claim);
    if (refusal || !claim) return new Rejection(refusal ?? "");
    if (isFullyBound(claim)) {
      bound.push(cluster.get<PersistentVolume>("persistentvolumes", "", claim.spec?.volumeName ?? ""));
      continue;
    }
    const storageClass = cluster.get<StorageClass>("storageclasses", "", classOf(claim));
    if (claim.spec?.volumeName || !storageClass || !isWaiting(storageClass))
      return new Rejection("pod has unbound immediate PersistentVolumeClaims");
    waiting.push({ claim, storageClass });
  }
  return {
    bound,
    waiting,
    volumes: waiting.length > 0 ? cluster.list<PersistentVolume>("persistentvolumes") : [],
    hasRoom: (claim, storageClass, node) => hasStorageFor(claim, storageClass, node, cluster),
  };
}

function unusable(
  pod: Pod,
  name: string,
  isEphemeral: boolean,
  claim: PersistentVolumeClaim | undefined,
): string | undefined {
  if (!claim) {
    return isEphemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
      : `persistentvolumeclaim "${name}" not found`;
  }
  if (claim.status?.phase === "Lost")
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName}"`;
  if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
  const isOwn = claim.metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === pod.metadata.uid);
  if (isEphemeral && !isOwn) {
    const { namespace } = pod.metadata;
    return `PVC "${namespace}/${name}" was not created for pod "${namespace}/${pod.metadata.name}" (pod is not owner)`;
  }
  return undefined;
}

/** The volume for each waiting claim on this node, undefined where one is to be made; or why there is no way. */
function choose({ waiting, volumes, hasRoom }: State, node: Node): (PersistentVolume | undefined)[] | "none" | "full" {
  const chosen: (PersistentVolume | undefined)[] = [];
  for (const { claim, storageClass } of waiting) {
    const selected = claim.metadata.annotations?.[annotations.selectedNode];
    if (selected !== undefined && selected !== node.metadata.name) return "none";
    const volume = bestVolume(claim, volumes, (each) => isReachable(each, node) && !chosen.includes(each));
    const canMake = storageClass.provisioner !== noProvisioner && isTopologyAllowed(storageClass, node);
    if (!volume && !canMake) return "none";
    if (!volume && !hasRoom(claim, storageClass, node)) return "full";
    chosen.push(volume);
  }
  return chosen;
}

async function bindVolumes(pod: Pod, node: Node, tools: BindTools, call: Call): Promise<void> {
  const state = prepare(pod, tools.cluster);
  if (state === skip) return;
  if (state instanceof Rejection) throw new Fault("conflict", `Cannot bind volumes: ${state.reason}`);
  if (state.waiting.length === 0) return;
  const chosen = choose(state, node);
  if (typeof chosen === "string") throw new Fault("conflict", "Cannot bind volumes: they were taken meanwhile");
  for (const [index, { claim }] of state.waiting.entries()) {
    const volume = chosen[index];
    if (volume) await reserve(volume, claim, tools, call);
    await select(claim, node, tools, call);
  }
  await untilBound(pod, node, tools, call);
}

async function reserve(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  { client }: BindTools,
  call: Call,
): Promise<void> {
  if (volume.spec?.claimRef?.uid) return;
  const { namespace = "", name = "", uid = "" } = claim.metadata;
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
  const own = { [annotations.boundByController]: "yes" };
  const metadata = { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...own } };
  const next = { ...volume, apiVersion: "v1", kind: "PersistentVolume", metadata, spec: { ...volume.spec, claimRef } };
  await client.update(resources.persistentvolumes, next, call);
}

async function select(claim: PersistentVolumeClaim, node: Node, { client }: BindTools, call: Call): Promise<void> {
  if (claim.metadata.annotations?.[annotations.selectedNode] === node.metadata.name) return;
  const { namespace = "", name = "", uid } = claim.metadata;
  const body = { metadata: { uid, annotations: { [annotations.selectedNode]: node.metadata.name } } };
  await client.patch(resources.persistentvolumeclaims, { namespace, name }, { type: "merge", body }, call);
}

async function untilBound(pod: Pod, node: Node, { cluster, clock }: BindTools, call: Call): Promise<void> {
  const { namespace = "", name = "", uid } = pod.metadata;
  const ends = clock.monotonic() + patienceMs;
  for (;;) {
    const state = prepare(pod, cluster);
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

const filter: FilterPlugin = {
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
  prepare,
  filter(_pod, { node }, prepared) {
    const state = prepared as State;
    for (const volume of state.bound) {
      if (!volume) return missing;
      if (!isReachable(volume, node)) return conflict;
    }
    const chosen = choose(state, node);
    return chosen === "none" ? none : chosen === "full" ? full : undefined;
  },
  beforeBind: (pod, node, tools, call) =>
    claimsOf(pod).length === 0 ? undefined : bindVolumes(pod, node, tools, call),
};

export const volumeBinding: Plugin<FilterPlugin> = { kind: filterKind, name: "VolumeBinding", open: () => filter };
