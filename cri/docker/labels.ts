// What is remembered of a sandbox or container: labels on it, in Docker's own keeping, so that nothing can get out of step with it and a
// restart needs nothing else. CRI's config is there whole, as its wire bytes.

import { createHash } from "node:crypto";
import { ContainerConfig, PodSandboxConfig } from "../api/gen/runtime.js";

export const labelNames = {
  /** Which Skiff it belongs to: several may share one daemon. */
  instance: "io.skiff.instance",
  kind: "io.skiff.kind",
  config: "io.skiff.config",
  /** Nanoseconds since 1970: Docker's list has only seconds. */
  createdAt: "io.skiff.created-at",
  sandboxId: "io.skiff.sandbox",
  logPath: "io.skiff.log-path",
  imageRef: "io.skiff.image-ref",
  runtimeHandler: "io.skiff.runtime-handler",
} as const;

export type Kind = "sandbox" | "container";

type Labels = Readonly<Record<string, string>>;

/** Two instances on one daemon have different folders, and so different names. */
export function instanceName(root: string): string {
  return createHash("sha256").update(root).digest("hex").slice(0, 12);
}

/** Above the groups of pods that bring none. */
export function instanceCgroup(instance: string): string {
  return `/skiff-docker-${instance}`;
}

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
}

export interface ContainerRecord {
  readonly id: string;
  readonly config: ContainerConfig;
  readonly sandboxId: string;
  readonly createdAt: bigint;
  readonly logPath: string;
  /** A digest reference where there is one, else the image's id. */
  readonly imageRef: string;
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

export function sandboxLabels(instance: string, record: Omit<SandboxRecord, "id">): Record<string, string> {
  return {
    ...shownLabels(record.config.labels),
    [labelNames.instance]: instance,
    [labelNames.kind]: "sandbox" satisfies Kind,
    [labelNames.config]: encode(PodSandboxConfig.encode(record.config).finish()),
    [labelNames.createdAt]: String(record.createdAt),
    [labelNames.runtimeHandler]: record.runtimeHandler,
  };
}

export function containerLabels(instance: string, record: Omit<ContainerRecord, "id">): Record<string, string> {
  return {
    ...shownLabels(record.config.labels),
    [labelNames.instance]: instance,
    [labelNames.kind]: "container" satisfies Kind,
    [labelNames.config]: encode(ContainerConfig.encode(record.config).finish()),
    [labelNames.createdAt]: String(record.createdAt),
    [labelNames.sandboxId]: record.sandboxId,
    [labelNames.logPath]: record.logPath,
    [labelNames.imageRef]: record.imageRef,
  };
}

/** The pod's own labels are shown too, for `docker ps --filter label=…`; ours win. */
function shownLabels(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => !name.startsWith("io.skiff.")));
}

export function sandboxRecord(id: string, labels: Labels): SandboxRecord {
  return {
    id,
    config: PodSandboxConfig.decode(Buffer.from(labels[labelNames.config] ?? "", "base64")),
    runtimeHandler: labels[labelNames.runtimeHandler] ?? "",
    createdAt: BigInt(labels[labelNames.createdAt] ?? 0),
  };
}

export function containerRecord(id: string, labels: Labels): ContainerRecord {
  return {
    id,
    config: ContainerConfig.decode(Buffer.from(labels[labelNames.config] ?? "", "base64")),
    sandboxId: labels[labelNames.sandboxId] ?? "",
    createdAt: BigInt(labels[labelNames.createdAt] ?? 0),
    logPath: labels[labelNames.logPath] ?? "",
    imageRef: labels[labelNames.imageRef] ?? "",
  };
}
