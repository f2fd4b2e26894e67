// OCI and Docker manifests, indexes and image configs: parsed once from untrusted bytes, with what we use checked.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import { isDigest } from "./reference.ts";

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  platform?: Platform;
}

export interface Platform {
  os: string;
  architecture: string;
  variant?: string;
}

export interface Manifest {
  config: Descriptor;
  layers: Descriptor[];
}

export interface ImageConfig extends Platform {
  created?: string;
  rootfs: { diffIds: string[] };
  config: {
    User?: string;
    Env?: string[];
    Entrypoint?: string[];
    Cmd?: string[];
    WorkingDir?: string;
    StopSignal?: string;
    Labels?: Record<string, string>;
    Volumes?: Record<string, object>;
  };
}

export const mediaTypes = {
  ociIndex: "application/vnd.oci.image.index.v1+json",
  ociManifest: "application/vnd.oci.image.manifest.v1+json",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
};

/** Manifests and configs are held in memory; none that is honest comes near this. */
export const maxDocumentBytes = 4 * 1024 * 1024;
const maxLayers = 512;

type Json = Record<string, unknown>;

function asObject(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Fault("invalid", `Cannot read ${what}: it is not a JSON object`);
  }
  return value as Json;
}

function parseJson(bytes: Uint8Array, what: string): Json {
  try {
    return asObject(JSON.parse(Buffer.from(bytes).toString("utf8")), what);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid", `Cannot read ${what}: it is not JSON`, { cause });
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function texts(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : undefined;
}

function toPlatform(value: unknown): Platform | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const raw = value as Json;
  const variant = text(raw.variant);
  return {
    os: text(raw.os) ?? "linux",
    architecture: text(raw.architecture) ?? "",
    ...(variant ? { variant } : {}),
  };
}

function toDescriptor(value: unknown, what: string): Descriptor {
  const raw = asObject(value, what);
  const digest = text(raw.digest);
  if (!digest || !isDigest(digest))
    throw new Fault("invalid", `Cannot read ${what}: digest ${String(raw.digest)} is not sha256`);
  if (typeof raw.size !== "number" || !Number.isSafeInteger(raw.size) || raw.size < 0) {
    throw new Fault("invalid", `Cannot read ${what}: size of ${digest} is not a number of bytes`);
  }
  const platform = toPlatform(raw.platform);
  return { mediaType: text(raw.mediaType) ?? "", digest, size: raw.size, ...(platform ? { platform } : {}) };
}

/** What the bytes are: an index of several manifests, or one manifest. */
export function parseManifest(bytes: Uint8Array, what: string): { index: Descriptor[] } | { manifest: Manifest } {
  const raw = parseJson(bytes, what);
  if (Array.isArray(raw.manifests)) {
    return { index: raw.manifests.slice(0, maxLayers).map((entry) => toDescriptor(entry, `${what} index`)) };
  }
  if (raw.schemaVersion === 1) {
    throw new Fault("unsupported", `Cannot use ${what}: Docker schema 1 manifests are obsolete; push the image again`);
  }
  if (!Array.isArray(raw.layers))
    throw new Fault("invalid", `Cannot read ${what}: it has neither layers nor manifests`);
  if (raw.layers.length > maxLayers)
    throw new Fault("invalid", `Cannot use ${what}: ${raw.layers.length} layers are more than ${maxLayers}`);
  const config = toDescriptor(raw.config, `config of ${what}`);
  if (config.size > maxDocumentBytes)
    throw new Fault("invalid", `Cannot use ${what}: its config has ${config.size} bytes`);
  return { manifest: { config, layers: raw.layers.map((layer) => toDescriptor(layer, `layer of ${what}`)) } };
}

export function parseImageConfig(bytes: Uint8Array, what: string): ImageConfig {
  const raw = parseJson(bytes, what);
  const rootfs = asObject(raw.rootfs ?? {}, `rootfs of ${what}`);
  const diffIds = texts(rootfs.diff_ids) ?? [];
  const bad = diffIds.find((id) => !isDigest(id));
  if (bad !== undefined) throw new Fault("invalid", `Cannot use ${what}: diff id ${bad} is not sha256`);
  const config = asObject(raw.config ?? {}, `settings of ${what}`);
  const settings: ImageConfig["config"] = {};
  for (const key of ["User", "WorkingDir", "StopSignal"] as const) {
    const value = text(config[key]);
    if (value !== undefined) settings[key] = value;
  }
  for (const key of ["Env", "Entrypoint", "Cmd"] as const) {
    const value = texts(config[key]);
    if (value) settings[key] = value;
  }
  if (config.Labels && typeof config.Labels === "object") {
    const labels = Object.entries(config.Labels).filter((label) => typeof label[1] === "string") as [string, string][];
    settings.Labels = Object.fromEntries(labels);
  }
  if (config.Volumes && typeof config.Volumes === "object") settings.Volumes = config.Volumes as Record<string, object>;
  const created = text(raw.created);
  return {
    ...(toPlatform(raw) ?? { os: "linux", architecture: "" }),
    ...(created ? { created } : {}),
    rootfs: { diffIds },
    config: settings,
  };
}
