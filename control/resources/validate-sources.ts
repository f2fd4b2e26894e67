// Validation of volume sources that only their drivers look into, in pods and in persistent volumes.

import { type FieldErrors, invalid, notSupported, required } from "../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain } from "./names.ts";
import { shownSource } from "./volume-sources.ts";

type Source = Readonly<Record<string, unknown>>;

interface Place {
  readonly at: string;
  /** A source of a persistent volume, where secrets have a namespace. */
  readonly isPersistent: boolean;
  readonly errors: FieldErrors;
}

/** What they must say at least. */
const mustSay: Readonly<Record<string, readonly string[]>> = {
  awsElasticBlockStore: ["volumeID"],
  azureDisk: ["diskName", "diskURI"],
  azureFile: ["secretName", "shareName"],
  cephfs: ["monitors"],
  cinder: ["volumeID"],
  ephemeral: ["volumeClaimTemplate"],
  flexVolume: ["driver"],
  gcePersistentDisk: ["pdName"],
  gitRepo: ["repository"],
  glusterfs: ["endpoints", "path"],
  image: ["reference"],
  iscsi: ["targetPortal", "iqn"],
  photonPersistentDisk: ["pdID"],
  portworxVolume: ["volumeID"],
  quobyte: ["volume"],
  rbd: ["monitors", "image"],
  scaleIO: ["gateway", "system", "volumeName"],
  vsphereVolume: ["volumePath"],
};

export function validateDriverSource(name: string, source: Source, parent: string, place: Omit<Place, "at">): void {
  const at = `${parent}.${shownSource(name)}`;
  for (const field of mustSay[name] ?? []) if (isMissing(source[field])) place.errors.push(required(`${at}.${field}`));
  more[name]?.(source, { ...place, at });
}

const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

const more: Readonly<Record<string, (source: Source, place: Place) => void>> = {
  awsElasticBlockStore: validatePartition,
  azureDisk: validateAzureDisk,
  azureFile({ secretNamespace }, { at, isPersistent, errors }) {
    if (isPersistent && secretNamespace === "") errors.push(required(`${at}.secretNamespace`));
  },
  cinder: validateSecret,
  fc: validateFibreChannel,
  flexVolume({ options }, { at, errors }) {
    for (const key of Object.keys((options as object | null) ?? {}))
      if (/(^|\.)(kubernetes|k8s)\.io$/i.test(key.split("/")[0] ?? ""))
        errors.push(invalid(`${at}.options[${key}]`, key, "kubernetes.io and k8s.io namespaces are reserved"));
  },
  flocker({ datasetName, datasetUUID }, { at, errors }) {
    if (!datasetName && !datasetUUID) errors.push(required(at, "one of datasetName and datasetUUID is required"));
    if (datasetName && datasetUUID)
      errors.push(invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously"));
    if (String(datasetName ?? "").includes("/"))
      errors.push(invalid(`${at}.datasetName`, datasetName, "must not contain '/'"));
  },
  gcePersistentDisk: validatePartition,
  glusterfs({ endpointsNamespace: namespace }, { at, isPersistent, errors }) {
    if (!isPersistent || typeof namespace !== "string") return;
    const field = `${at}.endpointsNamespace`;
    const problems =
      namespace === "" ? ["if the endpointnamespace is set, it must be a valid namespace name"] : dnsLabel(namespace);
    for (const problem of problems) errors.push(invalid(field, namespace, problem));
  },
  iscsi: validateIscsi,
  quobyte: validateQuobyte,
  storageos({ volumeName, volumeNamespace, ...rest }, place) {
    const { at, errors } = place;
    if (!volumeName) errors.push(required(`${at}.volumeName`));
    for (const [field, value] of Object.entries({ volumeName, volumeNamespace }))
      if (value) for (const problem of dnsLabel(String(value))) errors.push(invalid(`${at}.${field}`, value, problem));
    validateSecret(rest, place);
  },
};

function validatePartition({ partition }: Source, { at, errors }: Place): void {
  if (typeof partition === "number" && (partition < 0 || partition > 255))
    errors.push(invalid(`${at}.partition`, partition, "must be between 1 and 255, inclusive"));
}

function validateLun(lun: unknown, { at, errors }: Place): void {
  if (typeof lun === "number" && (lun < 0 || lun > 255))
    errors.push(invalid(`${at}.lun`, lun, "must be between 0 and 255, inclusive"));
}

function validateSecret({ secretRef }: Source, { at, isPersistent, errors }: Place): void {
  if (!secretRef) return;
  const { name, namespace } = secretRef as Source;
  if (!name) errors.push(required(`${at}.secretRef.name`));
  if (isPersistent && !namespace) errors.push(required(`${at}.secretRef.namespace`));
}

/** A reference to a secret of a named namespace. */
export function validateSecretReference(reference: unknown, at: string, errors: FieldErrors): void {
  if (!reference) return;
  const { name, namespace } = reference as Source;
  if (!name) errors.push(required(`${at}.name`));
  else for (const problem of dnsSubdomain(String(name))) errors.push(invalid(`${at}.name`, name, problem));
  if (!namespace) errors.push(required(`${at}.namespace`));
  else for (const problem of dnsLabel(String(namespace))) errors.push(invalid(`${at}.namespace`, namespace, problem));
}

const cachingModes = ["None", "ReadOnly", "ReadWrite"];
const diskKinds = ["Dedicated", "Managed", "Shared"];
const managedUri = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const blobUri = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

function validateAzureDisk({ cachingMode, kind, diskURI }: Source, { at, errors }: Place): void {
  if (typeof cachingMode === "string" && !cachingModes.includes(cachingMode))
    errors.push(notSupported(`${at}.cachingMode`, cachingMode, cachingModes));
  if (typeof kind !== "string") return;
  if (!diskKinds.includes(kind)) errors.push(notSupported(`${at}.kind`, kind, diskKinds));
  const uri = String(diskURI ?? "");
  if (kind === "Managed" && !uri.startsWith("/subscriptions/"))
    errors.push(notSupported(`${at}.diskURI`, uri, [managedUri]));
  if (kind !== "Managed" && !uri.startsWith("https://")) errors.push(notSupported(`${at}.diskURI`, uri, [blobUri]));
}

function validateFibreChannel(source: Source, place: Place): void {
  const { at, errors } = place;
  const targets = (source.targetWWNs ?? []) as string[];
  const hasWwids = !isMissing(source.wwids);
  if (targets.length === 0 && !hasWwids)
    errors.push(required(`${at}.targetWWNs`, "must specify either targetWWNs or wwids, but not both"));
  if (targets.length === 0) return;
  if (hasWwids)
    errors.push(invalid(`${at}.targetWWNs`, targets, "targetWWNs and wwids can not be specified simultaneously"));
  if (typeof source.lun !== "number") errors.push(required(`${at}.lun`, "lun is required if targetWWNs is specified"));
  else validateLun(source.lun, place);
}

const initiators: readonly (readonly [prefix: string, form: RegExp])[] = [
  ["iqn", /iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$/],
  ["eui", /^eui.[A-Za-z0-9]{16}$/],
  ["naa", /^naa.[A-Za-z0-9]{32}$/],
];

function validateIscsi(source: Source, place: Place): void {
  const { at, isPersistent, errors } = place;
  const check = (value: unknown, field: string) => {
    if (typeof value !== "string") return;
    const form = initiators.find(([prefix]) => value.startsWith(prefix))?.[1];
    if (!form)
      errors.push(
        invalid(field, value, `must be valid format${isPersistent ? "" : " starting with iqn, eui, or naa"}`),
      );
    else if (!form.test(value)) errors.push(invalid(field, value, "must be valid format"));
  };
  if (source.iqn) check(source.iqn, `${at}.iqn`);
  validateLun(source.lun, place);
  if ((source.chapAuthDiscovery || source.chapAuthSession) && !source.secretRef)
    errors.push(required(`${at}.secretRef`));
  if (isPersistent && source.secretRef && !(source.secretRef as Source).name)
    errors.push(required(`${at}.secretRef.name`));
  check(source.initiatorName, `${at}.initiatorname`);
}

function validateQuobyte({ registry, tenant }: Source, { at, errors }: Place): void {
  const pairs = "must be a host:port pair or multiple pairs separated by commas";
  if (!registry) errors.push(required(`${at}.registry`, pairs));
  else if (String(tenant ?? "").length >= 65)
    errors.push(required(`${at}.tenant`, "must be a UUID and may not exceed a length of 64 characters"));
  else
    for (const pair of String(registry).split(","))
      if (!/^([^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair)) errors.push(invalid(`${at}.registry`, registry, pairs));
}
