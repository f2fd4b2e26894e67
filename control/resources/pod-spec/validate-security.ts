// Validation of security contexts, of pods and of containers.

import type { Container, PodSpec } from "../../../plugins/kit/objects/types.ts";
import { duplicate, type FieldErrors, invalid, notSupported, required } from "../field-error.ts";

type PodContext = NonNullable<PodSpec["securityContext"]>;
type ContainerContext = NonNullable<Container["securityContext"]>;

const largestId = 2 ** 31 - 1;
const sysctlName = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9]$/;
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
      errors.push(invalid(field, name, `must have at most 253 characters and match regex ${sysctlName.source}`));
    else if (names.has(name)) errors.push(duplicate(field, name));
    names.add(name);
  });
  validateSeccomp(context.seccompProfile, `${at}.seccompProfile`, errors);
}

export function validateContainerSecurity(
  context: ContainerContext | undefined,
  at: string,
  errors: FieldErrors,
): void {
  if (!context) return;
  for (const name of ["runAsUser", "runAsGroup"] as const) validateId(context[name], `${at}.${name}`, errors);
  if (context.procMount && !["Default", "Unmasked"].includes(context.procMount))
    errors.push(notSupported(`${at}.procMount`, context.procMount, ["Default", "Unmasked"]));
  validateSeccomp(context.seccompProfile, `${at}.seccompProfile`, errors);
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
  if (!type) errors.push(required(`${at}.type`));
  else if (!seccompTypes.includes(type)) errors.push(notSupported(`${at}.type`, type, seccompTypes));
  else if (type === "Localhost" && !localhostProfile)
    errors.push(required(`${at}.localhostProfile`, "must be set when seccomp type is Localhost"));
  else if (type !== "Localhost" && localhostProfile !== undefined)
    errors.push(invalid(`${at}.localhostProfile`, localhostProfile, "can only be set when seccomp type is Localhost"));
  else if (localhostProfile?.startsWith("/"))
    errors.push(invalid(`${at}.localhostProfile`, localhostProfile, "must be a relative path"));
  else if (localhostProfile?.split("/").includes(".."))
    errors.push(invalid(`${at}.localhostProfile`, localhostProfile, "must not contain '..'"));
}
