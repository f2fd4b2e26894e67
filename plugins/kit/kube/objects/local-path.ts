// Local-path volumes: what control plane and node tell each other about directories, by annotations on the node's object.
// The node says where its volumes lie; the control plane asks for a volume's removal or for another size; the node takes the wish
// back when done.

import type { Node, PersistentVolume } from "./types.ts";
import { volumeAnnotations } from "./volume-claims.ts";

export const localPathProvisioner = "skiff.io/local-path";
export const localPathRoot = "skiff.io/local-path-root";
const removalPrefix = "remove.local-path.skiff.io/";
const resizePrefix = "resize.local-path.skiff.io/";
const volumeName = /^pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const localPathVolume = (claimUid: string): string => `pvc-${claimUid}`;
export const removalOf = (volume: string): string => `${removalPrefix}${volume}`;
export const resizeOf = (volume: string): string => `${resizePrefix}${volume}`;

export function isLocalPath(volume: PersistentVolume): boolean {
  return volume.metadata.annotations?.[volumeAnnotations.provisionedBy] === localPathProvisioner;
}

/** The volumes whose directories the node is asked to remove. Anything that is not a name we give is not listed. */
export function removalsAsked(node: Node): string[] {
  return wishes(node, removalPrefix).map(([name]) => name);
}

/** The volumes that shall hold another number of bytes. */
export function resizesAsked(node: Node): { readonly name: string; readonly bytes: number }[] {
  return wishes(node, resizePrefix)
    .map(([name, text]) => ({ name, bytes: Number(text) }))
    .filter(({ bytes }) => Number.isSafeInteger(bytes) && bytes > 0);
}

function wishes(node: Node, prefix: string): [name: string, value: string][] {
  return Object.entries(node.metadata.annotations ?? {})
    .filter(([key]) => key.startsWith(prefix))
    .map(([key, value]): [string, string] => [key.slice(prefix.length), value])
    .filter(([name]) => volumeName.test(name));
}
