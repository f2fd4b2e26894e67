// Validation of the downward API: which fields and resources of a pod its variables and volumes may name.

import type { Container, Volume } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { qualifiedName } from "../names.ts";
import { validateFilePath } from "../paths.ts";

type Source = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;
type FieldRef = NonNullable<Source["fieldRef"]>;
type ResourceRef = NonNullable<Source["resourceFieldRef"]>;
type File = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>[number];

const ofVariables = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
const ofVolumes = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/** Fields that a pod can tell at all. */
const known = new Set([
  ...ofVariables,
  ...ofVolumes,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
  "spec.host",
]);

const ofContainers = ["cpu", "memory", "ephemeral-storage"].flatMap((name) => [`limits.${name}`, `requests.${name}`]);
const sizes = ["1", ..."kMGTPE".split("").map((unit) => `1${unit}`), ..."KMGTPE".split("").map((unit) => `1${unit}i`)];

/** `metadata.labels['app']` names one label. */
function splitSubscript(fieldPath: string): { path: string; key: string | undefined } {
  const opens = fieldPath.indexOf("['");
  if (opens < 1 || !fieldPath.endsWith("']")) return { path: fieldPath, key: undefined };
  return { path: fieldPath.slice(0, opens), key: fieldPath.slice(opens + 2, -2) };
}

function validateFieldRef(
  { apiVersion, fieldPath }: FieldRef,
  allowed: readonly string[],
  at: string,
  errors: FieldErrors,
): void {
  if (!fieldPath) {
    errors.push(required(`${at}.fieldPath`));
    return;
  }
  const wrong = (why: string) =>
    errors.push(invalid(`${at}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`));
  const { path, key } = splitSubscript(fieldPath);
  if (apiVersion !== "v1") wrong(`unsupported pod version: ${apiVersion}`);
  else if (key !== undefined && path !== "metadata.annotations" && path !== "metadata.labels")
    wrong(`field label does not support subscript: ${fieldPath}`);
  else if (!known.has(path)) wrong(`field label not supported: ${fieldPath}`);
  else if (key !== undefined)
    for (const problem of qualifiedName(path === "metadata.annotations" ? key.toLowerCase() : key))
      errors.push(invalid(at, key, problem));
  else if (!allowed.includes(path === "spec.host" ? "spec.nodeName" : path))
    errors.push(notSupported(`${at}.fieldPath`, path, allowed));
}

function validateResourceRef(
  { containerName, resource, divisor }: ResourceRef,
  needsContainer: boolean,
  at: string,
  errors: FieldErrors,
): void {
  const isHugePages = /^(limits|requests)\.hugepages-/.test(resource ?? "");
  if (needsContainer && !containerName) errors.push(required(`${at}.containerName`));
  else if (!resource) errors.push(required(`${at}.resource`));
  else if (!ofContainers.includes(resource) && !isHugePages)
    errors.push(notSupported(`${at}.resource`, resource, ofContainers));
  const [, measured = ""] = (resource ?? "").split(".");
  const unit = String(divisor ?? "0");
  if (unit === "0") return;
  if (measured === "cpu") {
    if (!["1m", "1"].includes(unit))
      errors.push(
        invalid(`${at}.divisor`, resource, "only divisor's values 1m and 1 are supported with the cpu resource"),
      );
  } else if ((ofContainers.includes(resource) || isHugePages) && !sizes.includes(unit)) {
    const what = measured === "ephemeral-storage" ? "local ephemeral storage" : isHugePages ? "hugepages" : measured;
    errors.push(
      invalid(
        `${at}.divisor`,
        resource,
        `only divisor's values ${sizes.join(", ")} are supported with the ${what} resource`,
      ),
    );
  }
}

/** Of a variable: `at` is its valueFrom. */
export function validateDownwardVariable(from: Source, at: string, errors: FieldErrors): void {
  if (from.fieldRef) validateFieldRef(from.fieldRef, ofVariables, `${at}.fieldRef`, errors);
  if (from.resourceFieldRef) validateResourceRef(from.resourceFieldRef, false, `${at}.resourceFieldRef`, errors);
}

/** Of a volume; upstream's paths name the volume's source, not the item. */
export function validateDownwardFile(file: File, at: string, errors: FieldErrors): void {
  if (!file.path) errors.push(required(`${at}.path`));
  errors.push(...validateFilePath(file.path ?? "", `${at}.path`));
  if (file.fieldRef) {
    validateFieldRef(file.fieldRef, ofVolumes, `${at}.fieldRef`, errors);
    if (file.resourceFieldRef)
      errors.push(invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
  } else if (file.resourceFieldRef) validateResourceRef(file.resourceFieldRef, true, `${at}.resourceFieldRef`, errors);
  else errors.push(required(at, "one of fieldRef and resourceFieldRef is required"));
  validateMode(file.mode, `${at}.mode`, errors);
}

export function validateMode(mode: number | undefined | null, field: string, errors: FieldErrors): void {
  if (mode !== undefined && mode !== null && (mode < 0 || mode > 0o777))
    errors.push(invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive"));
}
