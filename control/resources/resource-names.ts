// Names and amounts of what containers ask for: which names there are, which may be promised twice, which come in whole numbers.

import { isFault } from "../../plugins/kit/base/fault.ts";
import { compareQuantity, parseQuantity, type Quantity } from "../../plugins/kit/kube/quantity.ts";
import { type FieldErrors, forbidden, invalid, required } from "../machinery/field-error.ts";
import { qualifiedName } from "./names.ts";

export type Amounts = Record<string, string | number>;

const ofContainers = new Set(["cpu", "memory", "ephemeral-storage"]);
const counted = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);
const standard = new Set([
  ...ofContainers,
  ...counted,
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  "storage",
  "requests.storage",
]);

const isHugePages = (name: string) => name.startsWith("hugepages-");
const isNative = (name: string) => !name.includes("/") || name.includes("kubernetes.io/");
const isExtended = (name: string) =>
  !isNative(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;
/** More of it may be limited than is there; devices and huge pages exist once. */
export const canOvercommit = (name: string) => isNative(name) && !isHugePages(name);

/** Names without a prefix that quotas know. */
export const isQuotaResource = (name: string) =>
  (standard.has(name) && name !== "storage") || /^(requests\.)?hugepages-/.test(name);

/** Names that count something or measure a resource, in quotas and elsewhere. */
export function validateResourceName(name: string, field: string): FieldErrors {
  const problems = qualifiedName(name);
  if (problems.length === 0 && !name.includes("/") && !standard.has(name) && !/^(requests\.)?hugepages-/.test(name))
    problems.push("must be a standard resource type or fully qualified");
  return problems.map((problem) => invalid(field, name, problem));
}

export function validateContainerResourceName(name: string, field: string): FieldErrors {
  const errors = validateResourceName(name, field);
  if (!name.includes("/")) {
    if (!ofContainers.has(name) && !isHugePages(name))
      errors.push(invalid(field, name, "must be a standard resource for containers"));
  } else if (!isNative(name) && !isExtended(name))
    errors.push(invalid(field, name, "doesn't follow extended resource name standard"));
  return errors;
}

/** The amount, or undefined with the reason among the errors. */
export function validateAmount(
  name: string,
  value: string | number,
  field: string,
  errors: FieldErrors,
): Quantity | undefined {
  try {
    const quantity = parseQuantity(value);
    if (quantity.nano < 0n) errors.push(invalid(field, String(value), "must be greater than or equal to 0"));
    if ((counted.has(name) || isExtended(name)) && quantity.nano % 1_000_000_000n !== 0n)
      errors.push(invalid(field, String(value), "must be an integer"));
    return quantity;
  } catch (error) {
    if (!isFault(error)) throw error;
    errors.push(
      invalid(
        field,
        value,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      ),
    );
    return undefined;
  }
}

function isWholePages(name: string, amount: Quantity): boolean {
  try {
    const size = parseQuantity(name.slice("hugepages-".length));
    return size.nano > 0n && size.nano % 1_000_000_000n === 0n && amount.nano % size.nano === 0n;
  } catch (error) {
    if (!isFault(error)) throw error;
    return false;
  }
}

function readAmounts(amounts: Amounts | undefined, field: string, errors: FieldErrors): Map<string, Quantity> {
  const read = new Map<string, Quantity>();
  for (const [name, value] of Object.entries(amounts ?? {})) {
    const at = `${field}[${name}]`;
    errors.push(...validateContainerResourceName(name, at));
    const amount = validateAmount(name, value, at, errors);
    if (!amount) continue;
    read.set(name, amount);
    if (isHugePages(name) && !isWholePages(name, amount))
      errors.push(invalid(at, String(value), `${value} is not positive integer multiple of ${name}`));
  }
  return read;
}

/** Requests and limits of a container, or the limits alone that an overhead is. */
export function validateRequirements(
  { limits, requests }: { limits?: Amounts; requests?: Amounts },
  field: string,
  errors: FieldErrors,
): void {
  const limited = readAmounts(limits, `${field}.limits`, errors);
  const requested = readAmounts(requests, `${field}.requests`, errors);
  for (const [name, amount] of requested) {
    const limit = limited.get(name);
    const says = `${name} limit of ${String(limits?.[name])}`;
    const shown = String(requests?.[name]);
    if (!limit) {
      if (!canOvercommit(name))
        errors.push(required(`${field}.limits`, "Limit must be set for non overcommitable resources"));
    } else if (!canOvercommit(name) && compareQuantity(amount, limit) !== 0)
      errors.push(invalid(`${field}.requests`, shown, `must be equal to ${says}`));
    else if (compareQuantity(amount, limit) > 0)
      errors.push(invalid(`${field}.requests`, shown, `must be less than or equal to ${says}`));
  }
  const names = [...limited.keys(), ...requested.keys()];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory"))
    errors.push(forbidden(field, "HugePages require cpu or memory"));
}
