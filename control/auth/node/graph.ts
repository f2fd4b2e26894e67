// What each node is related to: its pods, kept up to date by events, and what these refer to.

import type { Informer } from "../../../plugins/kit/kube/informer.ts";
import type { ObjectMeta, PersistentVolume, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { podReferences, volumeSecretKeys } from "./pod-references.ts";

export interface NodeViews {
  readonly pods: Informer<Pod>;
  readonly persistentVolumes: Informer<PersistentVolume>;
  readonly volumeAttachments: Informer<{ metadata: ObjectMeta; spec?: { nodeName?: string } }>;
}

export class NodeGraph {
  readonly #views: NodeViews;
  readonly #podsByNode = new Map<string, Map<string, Pod>>();

  constructor(views: NodeViews) {
    this.#views = views;
    views.pods.onEvent(({ type, object, previous }) => {
      if (previous) this.#remove(previous);
      if (type === "delete") this.#remove(object);
      else this.#add(object);
    });
  }

  hasPod(node: string, namespace: string, name: string): boolean {
    return this.#podsByNode.get(node)?.has(`${namespace}/${name}`) === true;
  }

  usesSecret(node: string, namespace: string, name: string): boolean {
    if (this.#somePod(node, namespace, (references) => references.secrets.has(name))) return true;
    const key = `${namespace}/${name}`;
    return this.#views.persistentVolumes.list().some((volume) => {
      const claim = volume.spec?.claimRef;
      return (
        claim && volumeSecretKeys(volume).includes(key) && this.usesClaim(node, claim.namespace ?? "", claim.name ?? "")
      );
    });
  }

  usesConfigMap(node: string, namespace: string, name: string): boolean {
    return this.#somePod(node, namespace, (references) => references.configMaps.has(name));
  }

  usesClaim(node: string, namespace: string, name: string): boolean {
    return this.#somePod(node, namespace, (references) => references.claims.has(name));
  }

  usesResourceClaim(node: string, namespace: string, name: string): boolean {
    return this.#somePod(node, namespace, (references) => references.resourceClaims.has(name));
  }

  usesServiceAccount(node: string, namespace: string, name: string): boolean {
    return this.#somePod(node, namespace, (references) => references.serviceAccount === name);
  }

  usesVolume(node: string, name: string): boolean {
    const claim = this.#views.persistentVolumes.get("", name)?.spec?.claimRef;
    return claim !== undefined && this.usesClaim(node, claim.namespace ?? "", claim.name ?? "");
  }

  hasAttachment(node: string, name: string): boolean {
    return this.#views.volumeAttachments.get("", name)?.spec?.nodeName === node;
  }

  #somePod(node: string, namespace: string, holds: (references: ReturnType<typeof podReferences>) => boolean): boolean {
    for (const pod of this.#podsByNode.get(node)?.values() ?? [])
      if (pod.metadata.namespace === namespace && holds(podReferences(pod))) return true;
    return false;
  }

  #add(pod: Pod): void {
    const node = pod.spec?.nodeName;
    if (!node) return;
    let pods = this.#podsByNode.get(node);
    if (!pods) {
      pods = new Map();
      this.#podsByNode.set(node, pods);
    }
    pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
  }

  #remove(pod: Pod): void {
    const node = pod.spec?.nodeName;
    const pods = node ? this.#podsByNode.get(node) : undefined;
    if (!node || !pods) return;
    pods.delete(`${pod.metadata.namespace}/${pod.metadata.name}`);
    if (pods.size === 0) this.#podsByNode.delete(node);
  }
}
