// Which keys of a config map or secret become which files: all of them, or the listed items at the listed paths.

import { Fault } from "../kit/base/fault.ts";
import type { ConfigMap, Secret } from "../kit/kube/objects/types.ts";
import type { Content, ContentFile } from "./atomic-content.ts";

interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface Selection {
  readonly items?: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  readonly optional: boolean;
  /** `configmap "settings"`, for messages. */
  readonly what: string;
}

export function configMapData(object: ConfigMap | undefined): Map<string, Uint8Array> {
  const data = new Map<string, Uint8Array>();
  for (const [key, text] of Object.entries(object?.data ?? {})) data.set(key, Buffer.from(text));
  for (const [key, base64] of Object.entries(object?.binaryData ?? {}))
    data.set(key, Buffer.from(String(base64), "base64"));
  return data;
}

export function secretData(object: Secret | undefined): Map<string, Uint8Array> {
  return new Map(
    Object.entries(object?.data ?? {}).map(([key, base64]) => [key, Buffer.from(String(base64), "base64")]),
  );
}

export function selectKeys(data: ReadonlyMap<string, Uint8Array>, selection: Selection): Content {
  const content = new Map<string, ContentFile>();
  if (!selection.items) {
    for (const [key, bytes] of data) content.set(key, { data: bytes, mode: selection.defaultMode });
    return content;
  }
  for (const { key, path, mode } of selection.items) {
    const bytes = data.get(key);
    if (bytes) content.set(path, { data: bytes, mode: mode ?? selection.defaultMode });
    else if (!selection.optional)
      throw new Fault("not-found", `${selection.what} references non-existent config key: ${key}`);
  }
  return content;
}
