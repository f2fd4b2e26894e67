// Validation of security contexts, of pods and of containers.

import type { Container, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { duplicate, type FieldErrors, invalid, notSupported, required, tooLong } from "../../machinery/field-error.ts";
import { validateDescendingPath } from "../paths.ts";
import { validateWindowsOptions } from "./validate-windows.ts";

type PodContext = NonNullable<PodSpec["securityContext"]>;
type AppArmorProfile = NonNullable<PodContext["appArmorProfile"]>;
type ContainerContext = NonNullable<Container["securityContext"]>;

const largestId = 2 ** 31 - 1;
const sysctlSegment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const sysctlPattern = `^(${sysctlSegment}[\\./])*${sysctlSegment}$`;
const sysctlName = new RegExp(sysctlPattern);
const profileBytes = 4095;
const seccompTypes = ["Localhost", "RuntimeDefault", "Unconfined"];

export function validatePodSecurity(context: PodContext | undefined, at: string, errors: FieldErrors): void {
  if (!context) return;
  for (const name of ["runAsUser", "runAsGroup", "fsGroup"] as const)
    validateId(context[name], `${at}.${name}`, errors);
  (context.supplementalGroups ?? []).forEach((group, index) =>
    validateId(group, `${at}.supplementalGroups[${index}]`, errors),
  );
  const policy = context.fsGroupChangePolicy;
  if (policy && !["Always", "OnRootMismatch"].includes(policy))
    errors.push(notSupported(`${at}.fsGroupChangePolicy`, policy, ["Always", "OnRootMismatch"]));
  const names = new Set<string>();
  (context.sysctls ?? []).forEach(({ name }, index) => {
    const field = `${at}.sysctls[${index}].name`;
    if (!name) errors.push(required(field));
    else if (name.length > 253 || !sysctlName.test(name))
      errors.push(invalid(field, name, `must have at most 253 characters and match regex ${sysctlPattern}`));
    else if (names.has(name)) errors.push(duplicate(field, name));
    names.add(name);
  });
  validateSeccomp(context.seccompProfile, `${at}.seccompProfile`, errors);
  validateWindowsOptions(context.windowsOptions, `${at}.windowsOptions`, errors);
  validateAppArmor(context.appArmorProfile, `${at}.appArmorProfile`, errors);
  for (const [name, allowed] of [
    ["supplementalGroupsPolicy", ["Merge", "Strict"]],
    ["seLinuxChangePolicy", ["MountOption", "Recursive"]],
  ] as const) {
    const value = (context as Record<string, unknown>)[name];
    if (value && !(allowed as readonly unknown[]).includes(value))
      errors.push(notSupported(`${at}.${name}`, value, allowed));
  }
}

export function validateContainerSecurity(
  context: ContainerContext | undefined,
  hostUsers: boolean,
  at: string,
  errors: FieldErrors,
): void {
  if (!context) return;
  for (const name of ["runAsUser", "runAsGroup"] as const) validateId(context[name], `${at}.${name}`, errors);
  if (context.procMount && !["Default", "Unmasked"].includes(context.procMount))
    errors.push(notSupported(`${at}.procMount`, context.procMount, ["Default", "Unmasked"]));
  if (hostUsers && context.procMount === "Unmasked")
    errors.push(invalid(`${at}.procMount`, context.procMount, "`hostUsers` must be false to use `Unmasked`"));
  validateSeccomp(context.seccompProfile, `${at}.seccompProfile`, errors);
  validateAppArmor(context.appArmorProfile, `${at}.appArmorProfile`, errors);
  validateWindowsOptions(context.windowsOptions, `${at}.windowsOptions`, errors);
  if (context.allowPrivilegeEscalation !== false) return;
  if (context.privileged)
    errors.push(invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  if ((context.capabilities?.add ?? []).includes("CAP_SYS_ADMIN"))
    errors.push(
      invalid(at, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"),
    );
}

function validateId(id: number | undefined | null, field: string, errors: FieldErrors): void {
  if (id !== undefined && id !== null && (id < 0 || id > largestId))
    errors.push(invalid(field, id, `must be between 0 and ${largestId}, inclusive`));
}

function validateSeccomp(profile: PodContext["seccompProfile"], at: string, errors: FieldErrors): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  if (!type) errors.push(required(`${at}.type`, "type is required when seccompProfile is set"));
  else if (!seccompTypes.includes(type)) errors.push(notSupported(`${at}.type`, type, seccompTypes));
  const field = `${at}.localhostProfile`;
  if (type !== "Localhost") {
    if (localhostProfile != null)
      errors.push(invalid(field, profile, "can only be set when seccomp type is Localhost"));
  } else if (localhostProfile == null) errors.push(required(field, "must be set when seccomp type is Localhost"));
  else errors.push(...validateDescendingPath(localhostProfile, field));
}

function validateAppArmor(profile: AppArmorProfile | undefined | null, at: string, errors: FieldErrors): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  const field = `${at}.localhostProfile`;
  if (!type) errors.push(required(`${at}.type`, "type is required when appArmorProfile is set"));
  else if (!seccompTypes.includes(type)) errors.push(notSupported(`${at}.type`, type, seccompTypes));
  else if (type !== "Localhost") {
    if (localhostProfile != null)
      errors.push(invalid(field, localhostProfile, "can only be set when AppArmor type is Localhost"));
  } else if (!localhostProfile) errors.push(required(field, "must be set when AppArmor type is Localhost"));
  else if (localhostProfile.trim() !== localhostProfile)
    errors.push(invalid(field, localhostProfile, "must not be padded with whitespace"));
  else if (Buffer.byteLength(localhostProfile) > profileBytes) errors.push(tooLong(field, profileBytes));
}
