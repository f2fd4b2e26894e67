// The objects behind a pod: what volumes and environments read. The agent answers from its watches, from the API server,
// or, when that cannot be reached, from its checkpoint.

import type { Call } from "../base/call.ts";
import type { ConfigMap, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";
import type { LabelSelector } from "../kube/selector.ts";

export interface TokenWish {
  readonly pod: Pod;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

/** One by name, or those of a signer that a selector selects. */
export interface TrustBundleWish {
  readonly name?: string;
  readonly signerName?: string;
  readonly labelSelector?: LabelSelector;
}

export interface IssuedToken {
  readonly token: string;
  /** Wall time in milliseconds; the token is asked for anew after 80 % of its life. */
  readonly expiresAt: number;
  readonly issuedAt: number;
}

/** What a storage driver says of itself (CSIDriver). */
export interface CsiDriverObject {
  readonly spec?: {
    readonly attachRequired?: boolean;
    readonly podInfoOnMount?: boolean;
    readonly fsGroupPolicy?: string;
    readonly volumeLifecycleModes?: readonly string[];
    readonly requiresRepublish?: boolean;
    readonly tokenRequests?: readonly { audience?: string; expirationSeconds?: number }[];
  };
}

/** Whether a volume is attached to a node (VolumeAttachment). */
export interface VolumeAttachmentObject {
  readonly status?: {
    readonly attached?: boolean;
    readonly attachmentMetadata?: Record<string, string>;
    readonly attachError?: { message?: string };
  };
}

/** Every look-up throws Fault `not-found` when the object is not there, and `unavailable` when nobody can say. */
export interface PodObjects {
  configMap(namespace: string, name: string, call: Call): Promise<ConfigMap>;
  secret(namespace: string, name: string, call: Call): Promise<Secret>;
  persistentVolumeClaim(namespace: string, name: string, call: Call): Promise<PersistentVolumeClaim>;
  persistentVolume(name: string, call: Call): Promise<PersistentVolume>;
  csiDriver(name: string, call: Call): Promise<CsiDriverObject>;
  volumeAttachment(name: string, call: Call): Promise<VolumeAttachmentObject>;
  /** A token of the pod's service account, bound to the pod; a fresh one each time it is called. */
  token(wish: TokenWish, call: Call): Promise<IssuedToken>;
  /** The PEM bundles of trust bundles, by name or by signer and labels, joined. */
  trustBundle(wish: TrustBundleWish, call: Call): Promise<string>;
  /** This node, for the downward API's allocatable defaults. */
  node(): Node | undefined;
}

export const podObjectsKind: Kind<PodObjects> = kind("pod-objects");
