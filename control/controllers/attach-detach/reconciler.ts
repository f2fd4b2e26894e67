// Attach-detach: a VolumeAttachment for each volume that pods of a node need and whose driver attaches; taken away when no pod
// needs it and the node has let go of it. The driver does the work; the node reads what is done from its own status.
//
// Order: a volume is named in `status.volumesAttached` after it is attached, and leaves that list before it is detached.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { claimsOf } from "../../../plugins/kit/kube/objects/volume-claims.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";
import {
  attachmentName,
  type CsiDriver,
  isHealthy,
  isManaged,
  isNamedByUs,
  isOutOfService,
  isShared,
  type Lookup,
  uniqueName,
  type VolumeAttachment,
  type Wanted,
  wantedOn,
} from "./desired.ts";

/** How long a node that does not answer keeps what it last said it uses. */
const longestUnmountMs = 6 * 60_000;

export const attachDetachController: ControllerFactory = (context) => {
  const { informers } = context;
  const pods = informers.for<Pod>(resources.pods);
  const attachments = informers.for<VolumeAttachment>(resources.volumeattachments);
  const attacher = new Attacher(context);
  const nodesWith = (isMeant: (pod: Pod) => boolean) =>
    pods.list().flatMap((pod) => (pod.spec?.nodeName && isMeant(pod) ? [pod.spec.nodeName] : []));
  const nodesWithClaim = (namespace = "", name = "") =>
    nodesWith((pod) => pod.metadata.namespace === namespace && claimsOf(pod).some((claim) => claim.name === name));
  return {
    name: "attachdetach-controller",
    workers: 4,
    wakes: [
      {
        resource: resources.pods,
        keys: (pod: Pod) => (pod.spec?.nodeName && claimsOf(pod).length > 0 ? [pod.spec.nodeName] : []),
      },
      {
        resource: resources.persistentvolumeclaims,
        keys: ({ metadata }: PersistentVolumeClaim) => nodesWithClaim(metadata.namespace, metadata.name),
      },
      {
        resource: resources.persistentvolumes,
        keys: ({ spec }: PersistentVolume) =>
          spec?.csi ? nodesWithClaim(spec.claimRef?.namespace, spec.claimRef?.name) : [],
      },
      {
        resource: resources.volumeattachments,
        keys: ({ spec }: VolumeAttachment) => {
          // Whoever waits for the volume to leave another node looks again.
          const { claimRef } =
            informers.for<PersistentVolume>(resources.persistentvolumes).get("", spec.source.persistentVolumeName ?? "")
              ?.spec ?? {};
          return [spec.nodeName, ...(claimRef ? nodesWithClaim(claimRef.namespace, claimRef.name) : [])];
        },
      },
      {
        resource: resources.nodes,
        keys: (node: Node, previous: Node | undefined) =>
          previous && sameForUs(node, previous) ? [] : [node.metadata.name ?? ""],
      },
      {
        resource: resources.csidrivers,
        keys: () => [
          ...nodesWith((pod) => claimsOf(pod).length > 0),
          ...attachments.list().map(({ spec }) => spec.nodeName),
        ],
      },
    ],
    reconcile: (nodeName, call) => attacher.sync(nodeName, call),
  };
};

function sameForUs(node: Node, previous: Node): boolean {
  const facts = ({ spec, status, metadata }: Node) =>
    JSON.stringify([
      metadata.uid,
      spec?.taints,
      status?.volumesInUse,
      status?.volumesAttached,
      status?.conditions?.find(({ type }) => type === "Ready")?.status,
    ]);
  return facts(node) === facts(previous);
}

class Attacher {
  readonly #context: ControllerContext;
  readonly #nodes;
  readonly #pods;
  readonly #attachments;
  readonly #lookup: Lookup;
  /** Since when an attachment waits for its node to let go, by uid. */
  readonly #waitingSince = new Map<string, number>();
  /** The last trouble told of each attachment, by uid. */
  readonly #told = new Map<string, string>();

  constructor(context: ControllerContext) {
    const { informers } = context;
    this.#context = context;
    this.#nodes = informers.for<Node>(resources.nodes);
    this.#pods = informers.for<Pod>(resources.pods);
    this.#attachments = informers.for<VolumeAttachment>(resources.volumeattachments);
    const claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
    const volumes = informers.for<PersistentVolume>(resources.persistentvolumes);
    const drivers = informers.for<CsiDriver>(resources.csidrivers);
    this.#lookup = {
      claim: (namespace, name) => claims.get(namespace, name),
      volume: (name) => volumes.get("", name),
      driver: (name) => drivers.get("", name),
    };
  }

  /** The answer is when to look again at what a silent node holds. */
  async sync(nodeName: string, call: Call): Promise<number | undefined> {
    const node = this.#nodes.get("", nodeName);
    const here = this.#attachments.list().filter((one) => one.spec.nodeName === nodeName && isNamedByUs(one));
    const podsHere = this.#pods.list().filter((pod) => pod.spec?.nodeName === nodeName);
    const wanted = wantedOn(podsHere, this.#lookup);
    const leaving: VolumeAttachment[] = [];
    let waitMs: number | undefined;
    for (const attachment of here) {
      if (wanted.has(volumeOf(attachment))) {
        this.#waitingSince.delete(attachment.metadata.uid ?? "");
        continue;
      }
      const held = node ? this.#heldForMs(attachment, node) : 0;
      if (held === 0) leaving.push(attachment);
      else waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, held);
    }
    if (node) await this.#report(node, here, leaving, wanted, call);
    for (const attachment of leaving) await this.#detach(attachment, call);
    if (node && isManaged(node)) for (const each of wanted.values()) await this.#attach(node, each, call);
    return waitMs === Number.POSITIVE_INFINITY ? undefined : waitMs;
  }

  /** Milliseconds until the volume may leave the node: 0 when it may now, infinity when only a change can tell. */
  #heldForMs(attachment: VolumeAttachment, node: Node): number {
    const { uid = "" } = attachment.metadata;
    const volume = this.#lookup.volume(volumeOf(attachment));
    const isUsed = volume !== undefined && node.status?.volumesInUse?.includes(uniqueName(volume));
    if (!isUsed || isOutOfService(node)) return 0;
    const now = this.#context.clock.monotonic();
    const since = this.#waitingSince.get(uid) ?? now;
    this.#waitingSince.set(uid, since);
    if (isHealthy(node)) return Number.POSITIVE_INFINITY;
    return Math.max(0, since + longestUnmountMs - now);
  }

  /** Keeps the node's list of what is attached; what is about to leave is taken out first. */
  async #report(
    node: Node,
    here: readonly VolumeAttachment[],
    leaving: readonly VolumeAttachment[],
    wanted: ReadonlyMap<string, Wanted>,
    call: Call,
  ): Promise<void> {
    const before = (node.status?.volumesAttached ?? []).map(({ name }) => name);
    const attached = here.flatMap((attachment) => {
      const isIn = attachment.status?.attached === true && !attachment.metadata.deletionTimestamp;
      const volume = this.#lookup.volume(volumeOf(attachment));
      return isIn && volume && !leaving.includes(attachment) ? [volume] : [];
    });
    const names = [...new Set(attached.map(uniqueName))].sort();
    if (JSON.stringify(names) === JSON.stringify([...before].sort())) return;
    const list = names.map((name) => ({ name, devicePath: "" }));
    const body = { metadata: { uid: node.metadata.uid }, status: { volumesAttached: list.length > 0 ? list : null } };
    const at = { name: node.metadata.name ?? "", subresource: "status" };
    await this.#context.client.patch(resources.nodes, at, { type: "merge", body }, call);
    for (const volume of attached.filter((each) => !before.includes(uniqueName(each)))) {
      const { name = "" } = volume.metadata;
      const message = `AttachVolume.Attach succeeded for volume "${name}" `;
      this.#tell(wanted.get(name)?.pods ?? [], "Normal", "SuccessfulAttachVolume", message);
    }
  }

  async #detach({ metadata }: VolumeAttachment, call: Call): Promise<void> {
    const { name = "", uid = "" } = metadata;
    this.#waitingSince.delete(uid);
    this.#told.delete(uid);
    if (metadata.deletionTimestamp) return;
    try {
      await this.#context.client.delete(resources.volumeattachments, { name }, call, { preconditions: { uid } });
    } catch (error) {
      if (!isFault(error, "not-found", "conflict")) throw error;
    }
  }

  async #attach(node: Node, { volume, pods }: Wanted, call: Call): Promise<void> {
    const nodeName = node.metadata.name ?? "";
    const volumeName = volume.metadata.name ?? "";
    const name = attachmentName(volume, nodeName);
    const known = this.#attachments.get("", name);
    if (known) return this.#tellTrouble(known, volumeName, pods);
    const elsewhere = this.#attachments.list().filter((each) => volumeOf(each) === volumeName);
    if (elsewhere.length > 0 && !isShared(volume)) {
      const holders = this.#holders(elsewhere, pods);
      const why =
        holders.length > 0
          ? `Volume is already used by pod(s) ${holders.join(", ")}`
          : "Volume is already exclusively attached to one node and can't be attached to another";
      return this.#tell(pods, "Warning", "FailedAttachVolume", `Multi-Attach error for volume "${volumeName}" ${why}`);
    }
    const attachment = {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name },
      spec: { attacher: volume.spec?.csi?.driver ?? "", nodeName, source: { persistentVolumeName: volumeName } },
    };
    try {
      await this.#context.client.create(resources.volumeattachments, attachment, call);
    } catch (error) {
      if (!isFault(error, "already-exists")) throw error;
    }
  }

  /** Names of pods of the same namespace that keep the volume on another node. */
  #holders(elsewhere: readonly VolumeAttachment[], waiting: readonly Pod[]): string[] {
    const namespace = waiting[0]?.metadata.namespace;
    return elsewhere.flatMap(({ spec }) => {
      const there = this.#pods.list(namespace).filter((pod) => pod.spec?.nodeName === spec.nodeName);
      const pods = wantedOn(there, this.#lookup).get(spec.source.persistentVolumeName ?? "")?.pods ?? [];
      return pods.map((pod) => pod.metadata.name ?? "");
    });
  }

  #tellTrouble({ metadata, status }: VolumeAttachment, volumeName: string, pods: readonly Pod[]): void {
    const message = status?.attached ? undefined : status?.attachError?.message;
    const { uid = "" } = metadata;
    const trouble = `${message} ${status?.attachError?.time}`;
    if (!message || this.#told.get(uid) === trouble) return;
    this.#told.set(uid, trouble);
    this.#tell(
      pods,
      "Warning",
      "FailedAttachVolume",
      `AttachVolume.Attach failed for volume "${volumeName}" : ${message}`,
    );
  }

  #tell(pods: readonly Pod[], type: "Normal" | "Warning", reason: string, message: string): void {
    for (const { metadata } of pods)
      this.#context.events.event({ apiVersion: "v1", kind: "Pod", metadata }, type, reason, message);
  }
}

const volumeOf = ({ spec }: VolumeAttachment): string => spec.source.persistentVolumeName ?? "";
