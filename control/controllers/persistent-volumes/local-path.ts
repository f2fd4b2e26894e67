// The local-path provisioner: a directory on the node that the scheduler chose, as a hostPath volume that only that node
// reaches. When the claim is gone the node is asked to remove the directory, and the volume's object goes after it.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import {
  isLocalPath,
  localPathProvisioner,
  localPathRoot,
  localPathVolume,
  removalOf,
} from "../../../plugins/kit/kube/objects/local-path.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import {
  volumeAnnotations as annotations,
  classOf,
  type StorageClass,
} from "../../../plugins/kit/kube/objects/volume-claims.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { annotated, typed } from "./bind.ts";

const finalizer = "skiff.io/local-path";
const removalAsked = "skiff.io/removal-asked";
const hostname = "kubernetes.io/hostname";

/** The node whose disk the volume is on. */
export function nodeOf(volume: PersistentVolume, nodes: readonly Node[]): Node | undefined {
  const [term] = volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const host = term?.matchExpressions?.find(({ key }) => key === hostname)?.values?.[0];
  return nodes.find((node) => node.metadata.labels?.[hostname] === host);
}

export const localPathController: ControllerFactory = (context) => {
  const volumes = context.informers.for<PersistentVolume>(resources.persistentvolumes);
  const provisioner = new LocalPath(context);
  return {
    name: "local-path-provisioner",
    wakes: [
      {
        resource: resources.persistentvolumeclaims,
        keys: (claim: PersistentVolumeClaim) =>
          claim.metadata.annotations?.[annotations.storageProvisioner] === localPathProvisioner &&
          !claim.spec?.volumeName
            ? [`claim:${keyOf(claim)}`]
            : [],
      },
      {
        resource: resources.persistentvolumes,
        keys: (volume: PersistentVolume) => (isLocalPath(volume) ? [`volume:${volume.metadata.name}`] : []),
      },
      {
        resource: resources.nodes,
        keys: (node: Node, previous: Node | undefined) =>
          previous && sameAnnotations(node, previous)
            ? []
            : volumes
                .list()
                .filter((volume) => isLocalPath(volume) && volume.metadata.deletionTimestamp)
                .map((volume) => `volume:${volume.metadata.name}`),
      },
    ],
    async reconcile(key, call) {
      const rest = key.slice(key.indexOf(":") + 1);
      if (key.startsWith("volume:")) await provisioner.reclaim(rest, call);
      else await provisioner.provision(splitKey(rest), call);
      return undefined;
    },
  };
};

const sameAnnotations = (a: Node, b: Node) =>
  JSON.stringify(a.metadata.annotations) === JSON.stringify(b.metadata.annotations);

class LocalPath {
  readonly #context: ControllerContext;
  readonly #claims;
  readonly #volumes;
  readonly #classes;
  readonly #nodes;

  constructor(context: ControllerContext) {
    const { informers } = context;
    this.#context = context;
    this.#claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
    this.#volumes = informers.for<PersistentVolume>(resources.persistentvolumes);
    this.#classes = informers.for<StorageClass>(resources.storageclasses);
    this.#nodes = informers.for<Node>(resources.nodes);
  }

  async provision({ namespace, name }: { namespace: string; name: string }, call: Call): Promise<void> {
    const claim = this.#claims.get(namespace, name);
    const storageClass = claim && this.#classes.get("", classOf(claim));
    if (!claim || !storageClass || claim.metadata.deletionTimestamp || claim.spec?.volumeName) return;
    const { client, events } = this.#context;
    const refuse = (message: string) => events.event(claim, "Warning", "ProvisioningFailed", message);
    if (claim.spec?.volumeMode === "Block") return refuse("local-path volumes are directories, not block devices");
    const nodeName = claim.metadata.annotations?.[annotations.selectedNode];
    if (!nodeName) return refuse("local-path volumes need volumeBindingMode WaitForFirstConsumer");
    const node = this.#nodes.get("", nodeName);
    const root = node?.metadata.annotations?.[localPathRoot];
    if (!node || !root) {
      refuse(node ? `node "${nodeName}" does not say where its volumes lie` : `node "${nodeName}" is gone`);
      // Without the choice the scheduler makes another.
      const { [annotations.selectedNode]: _, ...others } = claim.metadata.annotations ?? {};
      const ref = resources.persistentvolumeclaims;
      await client.update(ref, typed(ref, { ...claim, metadata: { ...claim.metadata, annotations: others } }), call);
      return;
    }
    const volume = volumeFor(claim, storageClass, node, root);
    try {
      await client.create(resources.persistentvolumes, volume, call);
    } catch (error) {
      if (isFault(error, "already-exists")) return;
      throw error;
    }
    const message = `Successfully provisioned volume ${volume.metadata.name}`;
    events.event(claim, "Normal", "ProvisioningSucceeded", message);
  }

  async reclaim(name: string, call: Call): Promise<void> {
    const volume = this.#volumes.get("", name);
    if (!volume || !isLocalPath(volume)) return;
    const { client } = this.#context;
    const isDeleting = volume.spec?.persistentVolumeReclaimPolicy === "Delete";
    if (!volume.metadata.deletionTimestamp) {
      if (!isDeleting || volume.status?.phase !== "Released") return;
      const { uid = "" } = volume.metadata;
      await client.delete(resources.persistentvolumes, { name }, call, { preconditions: { uid } });
      return;
    }
    const isHeld = volume.metadata.finalizers?.some((each) => each !== finalizer);
    if (isHeld || !volume.metadata.finalizers?.includes(finalizer)) return;
    // Only what was given back is removed: an object deleted by hand under a policy of Retain leaves the data.
    if (isDeleting && volume.status?.phase === "Released" && !(await this.#isRemoved(volume, call))) return;
    const ref = resources.persistentvolumes;
    const metadata = { ...volume.metadata, finalizers: [] };
    await client.update(ref, typed(ref, { ...volume, metadata }), call);
  }

  /** Asks the node once; it takes the wish back when the directory is gone. A node that is gone took its disk with it. */
  async #isRemoved(volume: PersistentVolume, call: Call): Promise<boolean> {
    const name = volume.metadata.name ?? "";
    const node = nodeOf(volume, this.#nodes.list());
    if (!node) return true;
    if (volume.metadata.annotations?.[removalAsked]) return node.metadata.annotations?.[removalOf(name)] === undefined;
    const { client } = this.#context;
    const wish = { metadata: { annotations: { [removalOf(name)]: "asked" } } };
    await client.patch(resources.nodes, { name: node.metadata.name ?? "" }, { type: "merge", body: wish }, call);
    const ref = resources.persistentvolumes;
    const metadata = annotated(volume.metadata, { [removalAsked]: "true" });
    await client.update(ref, typed(ref, { ...volume, metadata }), call);
    return false;
  }
}

function volumeFor(claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node, root: string) {
  const name = localPathVolume(claim.metadata.uid ?? "");
  const { namespace = "", name: claimName = "", uid = "" } = claim.metadata;
  const host = node.metadata.labels?.[hostname] ?? node.metadata.name ?? "";
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, finalizers: [finalizer], annotations: { [annotations.provisionedBy]: localPathProvisioner } },
    spec: {
      accessModes: claim.spec?.accessModes ?? [],
      capacity: { storage: claim.spec?.resources?.requests?.storage ?? "1Gi" },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name: claimName, uid },
      hostPath: { path: `${root}/${name}`, type: "DirectoryOrCreate" },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: "In", values: [host] }] }] },
      },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
      storageClassName: storageClass.metadata.name,
      volumeMode: "Filesystem",
    },
  };
}
