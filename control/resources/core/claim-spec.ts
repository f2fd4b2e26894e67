// The specification of a PersistentVolumeClaim, which also stands in StatefulSets and ephemeral volumes.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { parseQuantity } from "../../../plugins/kit/kube/quantity.ts";
import { type FieldErrors, invalid, notSupported, required, tooLong } from "../../machinery/field-error.ts";
import { type LabelSelector, validateLabelSelector } from "../label-selector.ts";
import { dnsLabel, dnsSubdomain } from "../names.ts";

const accessModes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

export function defaultClaimSpec(spec: Record<string, unknown>): void {
  spec.volumeMode ??= "Filesystem";
}

/** The two ways to name a source say the same; a source without a group is told to have none. */
export function alignSources(spec: Record<string, unknown>): void {
  const whole = (source: unknown) => source && { apiGroup: null, ...(source as object) };
  // Other namespaces stay behind their gate; what an old client may not name is dropped.
  if ((spec.dataSourceRef as Source | undefined)?.namespace) delete spec.dataSourceRef;
  if (!spec.dataSourceRef && spec.dataSource && !isClaimOrSnapshot(spec.dataSource as Source)) delete spec.dataSource;
  if (spec.dataSource) spec.dataSource = whole(spec.dataSource);
  if (spec.dataSourceRef) spec.dataSourceRef = whole(spec.dataSourceRef);
  if (!spec.dataSourceRef && spec.dataSource) spec.dataSourceRef = spec.dataSource;
  else if (spec.dataSourceRef && !spec.dataSource) {
    const { namespace: _namespace, ...source } = spec.dataSourceRef as Source;
    spec.dataSource = source;
  }
}

const isClaimOrSnapshot = ({ kind, apiGroup }: Source): boolean =>
  kind === "PersistentVolumeClaim" ? !apiGroup : kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io";

export function validateClaimSpec(spec: Record<string, unknown>, field: string): FieldErrors {
  const errors: FieldErrors = [];
  errors.push(...validateAccessModes(spec.accessModes as string[] | undefined, `${field}.accessModes`));
  errors.push(...validateLabelSelector(spec.selector as LabelSelector | undefined, `${field}.selector`));
  const requests = (spec.resources as { requests?: Record<string, unknown> } | undefined)?.requests;
  if (requests?.storage === undefined) errors.push(required(`${field}.resources[storage]`));
  else errors.push(...validatePositive(requests.storage, `${field}.resources[storage]`));
  errors.push(...validateClass(spec, field));
  const sources = ["dataSource", "dataSourceRef"] as const;
  for (const name of sources) {
    const source = spec[name] as Source | undefined;
    if (source) errors.push(...validateDataSource(source, `${field}.${name}`));
  }
  const [plain, reference] = sources.map((name) => spec[name] as Source | undefined);
  if (plain && reference?.namespace)
    errors.push(
      invalid(field, `${field}.dataSource`, "may not be specified when dataSourceRef.namespace is specified"),
    );
  else if (plain && reference && idOf(plain) !== idOf(reference))
    errors.push(invalid(field, `${field}.dataSource`, "must match dataSourceRef"));
  return errors;
}

interface Source {
  apiGroup?: string | null;
  kind?: string;
  name?: string;
  namespace?: string;
}

const idOf = ({ apiGroup, kind, name }: Source) => `${apiGroup ?? ""}/${kind}/${name}`;

function validateDataSource({ apiGroup, kind, name, namespace }: Source, at: string): FieldErrors {
  const errors: FieldErrors = [];
  if (!name) errors.push(required(`${at}.name`));
  if (!kind) errors.push(required(`${at}.kind`));
  if (!apiGroup && kind !== "PersistentVolumeClaim")
    errors.push(invalid(at, kind ?? "", "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  if (apiGroup) for (const problem of dnsSubdomain(apiGroup)) errors.push(invalid(`${at}.apiGroup`, apiGroup, problem));
  if (namespace) for (const problem of dnsLabel(namespace)) errors.push(invalid(`${at}.namespace`, namespace, problem));
  return errors;
}

/** Of claims and of volumes. */
export function validateClass(spec: Record<string, unknown>, field: string): FieldErrors {
  const { storageClassName, volumeMode } = spec as { storageClassName?: string; volumeMode?: string };
  const errors = storageClassName
    ? dnsSubdomain(storageClassName).map((problem) => invalid(`${field}.storageClassName`, storageClassName, problem))
    : [];
  if (volumeMode !== undefined && !["Block", "Filesystem"].includes(volumeMode))
    errors.push(notSupported(`${field}.volumeMode`, volumeMode, ["Block", "Filesystem"]));
  return errors;
}

export function validateAccessModes(
  modes: string[] | undefined,
  field: string,
  whenNone = "at least 1 access mode is required",
): FieldErrors {
  if (!modes || modes.length === 0) return [required(field, whenNone)];
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(field, mode, accessModes));
  const isOthers = modes.some((mode) => mode !== "ReadWriteOncePod" && accessModes.includes(mode));
  if (isOthers && modes.includes("ReadWriteOncePod"))
    errors.push({
      type: "FieldValueForbidden",
      field,
      message: "Forbidden: may not use ReadWriteOncePod with other access modes",
    });
  return errors;
}

export function validatePositive(value: unknown, field: string): FieldErrors {
  try {
    if (parseQuantity(value as string | number).nano > 0n) return [];
    return [invalid(field, value, "must be greater than zero")];
  } catch (error) {
    if (!isFault(error)) throw error;
    return [
      invalid(
        field,
        value,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      ),
    ];
  }
}

/** Names of CSI drivers, wherever they stand. */
export function validateDriverName(name: string | undefined, field: string): FieldErrors {
  if (!name) return [required(field)];
  const errors = dnsSubdomain(name.toLowerCase()).map((problem) => invalid(field, name, problem));
  return name.length > 63 ? [tooLong(field, 63), ...errors] : errors;
}
