// Which address families a Service gets: what it asks for, held against what the cluster has.

import type { Service } from "../../../plugins/kit/kube/objects/types.ts";
import { duplicate, type FieldErrors, invalid, notSupported } from "../../machinery/field-error.ts";

type Spec = NonNullable<Service["spec"]>;
type Family = "IPv4" | "IPv6";

const policies = ["SingleStack", "PreferDualStack", "RequireDualStack"];
const families = ["IPv4", "IPv6"];

/** Fills in `ipFamilies` and `ipFamilyPolicy`; `configured` are the cluster's families, the default one first. */
export function settleFamilies(spec: Spec, configured: readonly Family[]): FieldErrors {
  const isHeadless = spec.clusterIP === "None";
  const addresses = isHeadless ? [] : (spec.clusterIPs ?? []).filter((address) => address !== "");
  // Whoever writes the endpoints of such a service knows its families; the cluster's ranges do not matter.
  const isAnyones = isHeadless && Object.keys(spec.selector ?? {}).length === 0;
  const wanted = [...(spec.ipFamilies ?? [])];
  if (spec.ipFamilyPolicy === undefined)
    spec.ipFamilyPolicy = isAnyones || addresses.length > 1 || wanted.length > 1 ? "RequireDualStack" : "SingleStack";
  const errors = checkAsked(spec, wanted, addresses);
  if (errors.length > 0) return errors;
  addresses.forEach((address, index) => (wanted[index] ??= familyOf(address)));
  if (wanted.length === 0) wanted.push(configured[0] ?? "IPv4");
  const isDual = configured.length > 1;
  if (!isAnyones) {
    if (spec.ipFamilyPolicy === "RequireDualStack" && !isDual)
      errors.push(
        invalid("spec.ipFamilyPolicy", spec.ipFamilyPolicy, "this cluster is not configured for dual-stack services"),
      );
    wanted.forEach((family, index) => {
      if (!configured.includes(family as Family))
        errors.push(invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster"));
    });
  }
  if (spec.ipFamilyPolicy !== "SingleStack" && wanted.length === 1 && (isDual || isAnyones))
    wanted.push(wanted[0] === "IPv4" ? "IPv6" : "IPv4");
  spec.ipFamilies = wanted;
  return errors;
}

function checkAsked(spec: Spec, wanted: readonly string[], addresses: readonly string[]): FieldErrors {
  const errors: FieldErrors = [];
  const policy = spec.ipFamilyPolicy ?? "";
  if (!policies.includes(policy)) errors.push(notSupported("spec.ipFamilyPolicy", policy, policies));
  wanted.forEach((family, index) => {
    if (!families.includes(family)) errors.push(notSupported(`spec.ipFamilies[${index}]`, family, families));
    else if (wanted.indexOf(family) !== index) errors.push(duplicate(`spec.ipFamilies[${index}]`, family));
  });
  addresses.forEach((address, index) => {
    const family = wanted[index];
    if (family !== undefined && families.includes(family) && family !== familyOf(address))
      errors.push(
        invalid(
          `spec.clusterIPs[${index}]`,
          address,
          `expected an ${family} value as indicated by \`ipFamilies[${index}]\``,
        ),
      );
  });
  if (policy === "SingleStack" && wanted.length > 1)
    errors.push(
      invalid(
        "spec.ipFamilyPolicy",
        policy,
        "must be RequireDualStack or PreferDualStack when multiple `ipFamilies` are specified",
      ),
    );
  if (policy === "SingleStack" && addresses.length > 1)
    errors.push(
      invalid(
        "spec.ipFamilyPolicy",
        policy,
        "must be RequireDualStack or PreferDualStack when multiple `clusterIPs` are specified",
      ),
    );
  if (addresses.length === 2 && familyOf(addresses[0] ?? "") === familyOf(addresses[1] ?? ""))
    errors.push(invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family"));
  return errors;
}

function familyOf(address: string): Family {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** On an update: what was given and not repeated stays, and a second family that is no longer wanted goes. */
export function keepFamilies(spec: Spec, before: Spec): void {
  if (!spec.ipFamilyPolicy && before.ipFamilyPolicy) spec.ipFamilyPolicy = before.ipFamilyPolicy;
  if (!spec.ipFamilies?.length && before.ipFamilies) spec.ipFamilies = before.ipFamilies;
  if (spec.ipFamilyPolicy !== "SingleStack" || before.ipFamilyPolicy === "SingleStack") return;
  const isSame = (a: readonly string[] | undefined, b: readonly string[] | undefined) => String(a) === String(b);
  if (isSame(spec.ipFamilies, before.ipFamilies)) spec.ipFamilies = spec.ipFamilies?.slice(0, 1) ?? [];
  if (isSame(spec.clusterIPs, before.clusterIPs)) spec.clusterIPs = spec.clusterIPs?.slice(0, 1) ?? [];
}
