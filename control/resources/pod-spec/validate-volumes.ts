// Validation of volumes: names, one source each, and what each source must say.

import { validateDriverSource } from "../validate-sources.ts";
import { otherSources, podSources } from "../volume-sources.ts";
import type { Volume } from "../../../plugins/kit/kube/objects/types.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { validateClaimSpec, validateDriverName } from "../core/claim-spec.ts";
import { dnsLabel, dnsSubdomain } from "../names.ts";
import { validateAnnotations, validateLabels } from "../object-meta.ts";
import { validateFilePath, validateNoBacksteps } from "../paths.ts";
import { validateDownwardFile, validateMode } from "./validate-downward.ts";

export const hostPathTypes = [
  "",
  "DirectoryOrCreate",
  "Directory",
  "FileOrCreate",
  "File",
  "Socket",
  "CharDevice",
  "BlockDevice",
];

/** Adds what is wrong, and returns by name what mounts may use. */
export function validateVolumes(volumes: readonly Volume[], field: string, errors: FieldErrors): Map<string, Volume> {
  const named = new Map<string, Volume>();
  volumes.forEach((volume, index) => {
    const at = `${field}[${index}]`;
    const before = errors.length;
    if (!volume.name) errors.push(required(`${at}.name`));
    else for (const problem of dnsLabel(volume.name)) errors.push(invalid(`${at}.name`, volume.name, problem));
    if (named.has(volume.name)) errors.push(duplicate(`${at}.name`, volume.name));
    const { first, others } = otherSources(volume as unknown as Record<string, unknown>, podSources);
    if (first === undefined) errors.push(required(at, "must specify a volume type"));
    else validateSource({ name: volume.name, [first]: volume[first as keyof Volume] } as Volume, at, errors);
    for (const other of others) errors.push(forbidden(`${at}.${other}`, "may not specify more than 1 volume type"));
    // What is wrong is not there to be mounted.
    if (errors.length === before) named.set(volume.name, volume);
  });
  return named;
}

function validateRare(volume: Volume, at: string, errors: FieldErrors): void {
  const sources = volume as unknown as Record<string, Record<string, unknown> | undefined>;
  for (const [name, source] of Object.entries(sources))
    if (source && name !== "name") validateDriverSource(name, source, at, { isPersistent: false, errors });
  if (String(volume.emptyDir?.sizeLimit ?? "").startsWith("-"))
    errors.push(forbidden(`${at}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity"));
  const pullPolicy = sources.image?.pullPolicy;
  if (pullPolicy && !["Always", "IfNotPresent", "Never"].includes(String(pullPolicy)))
    errors.push(notSupported(`${at}.image.pullPolicy`, pullPolicy, ["Always", "IfNotPresent", "Never"]));
}

function validateSource(volume: Volume, at: string, errors: FieldErrors): void {
  validateRare(volume, at, errors);
  if (volume.hostPath) {
    const { path, type } = volume.hostPath;
    if (!path) errors.push(required(`${at}.hostPath.path`));
    else errors.push(...validateNoBacksteps(path, `${at}.hostPath.path`));
    if (type && !hostPathTypes.includes(type)) errors.push(notSupported(`${at}.hostPath.type`, type, hostPathTypes));
  }
  if (volume.secret && !volume.secret.secretName) errors.push(required(`${at}.secret.secretName`));
  if (volume.configMap && !volume.configMap.name) errors.push(required(`${at}.configMap.name`));
  for (const [name, source] of [
    ["secret", volume.secret],
    ["configMap", volume.configMap],
  ] as const) {
    if (!source) continue;
    validateMode(source.defaultMode, `${at}.${name}.defaultMode`, errors);
    (source.items ?? []).forEach((item, index) => validateItem(item, `${at}.${name}.items[${index}]`, errors));
  }
  if (volume.persistentVolumeClaim && !volume.persistentVolumeClaim.claimName)
    errors.push(required(`${at}.persistentVolumeClaim.claimName`));
  if (volume.nfs) {
    if (!volume.nfs.server) errors.push(required(`${at}.nfs.server`));
    if (!volume.nfs.path) errors.push(required(`${at}.nfs.path`));
    else if (!volume.nfs.path.startsWith("/"))
      errors.push(invalid(`${at}.nfs.path`, volume.nfs.path, "must be an absolute path"));
  }
  if (volume.csi) errors.push(...validateDriverName(volume.csi.driver, `${at}.csi.driver`));
  const secret = volume.csi?.nodePublishSecretRef;
  if (secret && !secret.name) errors.push(required(`${at}.csi.nodePublishSecretRef.name`));
  // So upstream names it.
  else if (secret)
    for (const problem of dnsSubdomain(secret.name ?? "")) errors.push(invalid(`${at}.csi.name`, secret.name, problem));
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template) {
    validateTemplateMeta(template.metadata, `${at}.ephemeral.volumeClaimTemplate.metadata`, errors);
    errors.push(
      ...validateClaimSpec(
        (template.spec ?? {}) as unknown as Record<string, unknown>,
        `${at}.ephemeral.volumeClaimTemplate.spec`,
      ),
    );
  }
  validateMode(volume.downwardAPI?.defaultMode, `${at}.downwardAPI.defaultMode`, errors);
  for (const item of volume.downwardAPI?.items ?? []) validateDownwardFile(item, `${at}.downwardAPI`, errors);
  validateProjected(volume.projected, `${at}.projected`, errors);
}

/** Only labels and annotations may be said of a claim that is still to be made. */
function validateTemplateMeta(metadata: object | undefined, at: string, errors: FieldErrors): void {
  const { labels, annotations, ...others } = (metadata ?? {}) as Record<string, Record<string, string> | undefined>;
  errors.push(...validateLabels(labels, `${at}.labels`), ...validateAnnotations(annotations, `${at}.annotations`));
  for (const [name, value] of Object.entries(others))
    if (!isZero(value)) errors.push(forbidden(`${at}.${name === "uid" ? "uID" : name}`, "cannot be set"));
}

const isZero = (value: unknown): boolean => value === undefined || value === null || value === "" || value === 0;

function validateProjected(projected: Volume["projected"], at: string, errors: FieldErrors): void {
  const paths = new Set<string>();
  const take = (path: string | undefined, shown: string | undefined) => {
    if (path && paths.has(path)) errors.push(invalid(at, shown, "conflicting duplicate paths"));
    if (path) paths.add(path);
  };
  validateMode(projected?.defaultMode, `${at}.defaultMode`, errors);
  (projected?.sources ?? []).forEach((source, index) => {
    const field = `${at}.sources[${index}]`;
    for (const kind of ["secret", "configMap"] as const) {
      const from = source[kind];
      if (!from) continue;
      if (!from.name) errors.push(required(`${field}.${kind}.name`));
      (from.items ?? []).forEach((item, itemIndex) => {
        validateItem(item, `${field}.${kind}.items[${itemIndex}]`, errors);
        take(item.path, from.name);
      });
    }
    for (const item of source.downwardAPI?.items ?? []) {
      validateDownwardFile(item, `${field}.downwardAPI`, errors);
      take(item.path, item.path);
    }
    validateToken(source.serviceAccountToken, at, `${field}.serviceAccountToken.expirationSeconds`, errors);
    const kinds = Object.keys(source).filter((key) => (source as Record<string, unknown>)[key] != null);
    if (kinds.length > 1) errors.push(forbidden(field, "may not specify more than 1 volume type per source"));
  });
}

type Token = NonNullable<NonNullable<NonNullable<Volume["projected"]>["sources"]>[number]["serviceAccountToken"]>;

/** The path of a token's path is the volume's, as upstream has it. */
function validateToken(token: Token | undefined, at: string, seconds: string, errors: FieldErrors): void {
  if (!token) return;
  const { expirationSeconds = 3600, path } = token;
  if (expirationSeconds < 600)
    errors.push(invalid(seconds, expirationSeconds, "may not specify a duration less than 10 minutes"));
  if (expirationSeconds > 2 ** 32)
    errors.push(invalid(seconds, expirationSeconds, "may not specify a duration larger than 2^32 seconds"));
  if (!path) errors.push(required(`${at}.path`));
  else errors.push(...validateFilePath(path, `${at}.path`));
}

function validateItem(item: { key: string; path: string; mode?: number }, at: string, errors: FieldErrors): void {
  if (!item.key) errors.push(required(`${at}.key`));
  if (!item.path) errors.push(required(`${at}.path`));
  errors.push(...validateFilePath(item.path ?? "", `${at}.path`));
  validateMode(item.mode, `${at}.mode`, errors);
}
