// Validation of LimitRanges: what is measured, and bounds that do not contradict each other.

import { compareQuantity, formatQuantity, type Quantity, quantityOf } from "../../../plugins/kit/kube/quantity.ts";
import { duplicate, type FieldErrors, forbidden, invalid, required } from "../../machinery/field-error.ts";
import { qualifiedName } from "../names.ts";
import {
  type Amounts,
  canOvercommit,
  validateAmount,
  validateContainerResourceName,
  validateResourceName,
} from "../resource-names.ts";

export interface LimitItem {
  type?: string;
  max?: Amounts;
  min?: Amounts;
  default?: Amounts;
  defaultRequest?: Amounts;
  maxLimitRequestRatio?: Amounts;
}

type Bound = Exclude<keyof LimitItem, "type">;
type Read = Partial<Record<Bound, Quantity>>;

const types = ["Pod", "Container", "PersistentVolumeClaim"];
const bounds: readonly Bound[] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

/** Pairs of which the first may not be above the second, what they are called, and which of them is at fault. */
const ordered: readonly [low: Bound, high: Bound, low: string, high: string, blamed: Bound][] = [
  ["min", "max", "min value", "max value", "min"],
  ["min", "defaultRequest", "min value", "default request value", "defaultRequest"],
  ["defaultRequest", "max", "default request value", "max value", "defaultRequest"],
  ["defaultRequest", "default", "default request value", "default limit value", "defaultRequest"],
  ["min", "default", "min value", "default value", "default"],
  ["default", "max", "default value", "max value", "default"],
];

export function validateLimits(items: readonly LimitItem[], field: string): FieldErrors {
  const errors: FieldErrors = [];
  const seen = new Set<string>();
  items.forEach((item, index) => {
    const at = `${field}[${index}]`;
    const { type = "" } = item;
    const problems = qualifiedName(type);
    if (problems.length === 0 && !type.includes("/") && !types.includes(type))
      problems.push("must be a standard limit type or fully qualified");
    for (const problem of problems) errors.push(invalid(`${at}.type`, type, problem));
    if (seen.has(type)) errors.push(duplicate(`${at}.type`, type));
    seen.add(type);
    if (type === "Pod")
      for (const bound of ["default", "defaultRequest"] as const)
        if (Object.keys(item[bound] ?? {}).length > 0)
          errors.push(forbidden(`${at}.${bound}`, "may not be specified when `type` is 'Pod'"));
    if (type === "PersistentVolumeClaim" && item.min?.storage === undefined && item.max?.storage === undefined)
      errors.push(
        required(`${at}.limits`, "either minimum or maximum storage value is required, but neither was provided"),
      );
    for (const [name, read] of readBounds(item, at, errors)) validateBounds(name, read, at, errors);
  });
  return errors;
}

function readBounds(item: LimitItem, at: string, errors: FieldErrors): Map<string, Read> {
  const byName = new Map<string, Read>();
  const nameProblems = types.slice(0, 2).includes(item.type ?? "")
    ? validateContainerResourceName
    : validateResourceName;
  for (const bound of bounds)
    for (const [name, value] of Object.entries(item[bound] ?? {})) {
      const field = `${at}.${bound}[${name}]`;
      errors.push(...nameProblems(name, field));
      // A ratio counts nothing: it may be any number, of whatever it is a ratio.
      const amount = validateAmount(bound === "maxLimitRequestRatio" ? "" : name, value, field, errors);
      if (amount) byName.set(name, { ...byName.get(name), [bound]: amount });
    }
  return byName;
}

function validateBounds(name: string, read: Read, at: string, errors: FieldErrors): void {
  const wrong = (bound: Bound, shown: Quantity, detail: string) =>
    errors.push(invalid(`${at}.${bound}[${name}]`, formatQuantity(shown), detail));
  for (const [lower, higher, lowText, highText, blamed] of ordered) {
    const [low, high, shown] = [read[lower], read[higher], read[blamed]];
    if (low && high && shown && compareQuantity(low, high) > 0)
      wrong(blamed, shown, `${lowText} ${formatQuantity(low)} is greater than ${highText} ${formatQuantity(high)}`);
  }
  const { min, max, maxLimitRequestRatio: ratio } = read;
  if (ratio && compareQuantity(ratio, quantityOf(1)) < 0)
    wrong("maxLimitRequestRatio", ratio, `ratio ${formatQuantity(ratio)} is less than 1`);
  if (ratio && min && max && min.nano > 0n) {
    const most = Number(max.nano) / Number(min.nano);
    if (Number(ratio.nano) / 1e9 > most)
      wrong(
        "maxLimitRequestRatio",
        ratio,
        `ratio ${formatQuantity(ratio)} is greater than max/min = ${most.toFixed(6)}`,
      );
  }
  const { default: limit, defaultRequest: request } = read;
  if (!canOvercommit(name) && limit && request && compareQuantity(limit, request) !== 0)
    wrong(
      "defaultRequest",
      request,
      `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`,
    );
}
