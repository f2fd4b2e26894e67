// Validation of what a pod says of its operating system: each has fields that the other does not know.

import type { Container, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dnsSubdomain } from "../names.ts";

type WindowsOptions = NonNullable<NonNullable<PodSpec["securityContext"]>["windowsOptions"]>;

const kinds = ["initContainers", "containers", "ephemeralContainers"] as const;
const ofLinux = {
  pod: ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"],
  podContext: [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
  ],
  containerContext: [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
  ],
} as const;

export function validateOs(spec: PodSpec, field: string, errors: FieldErrors): void {
  if (!spec.os) return;
  const { name } = spec.os;
  if (!name) errors.push(required(`${field}.os.name`, "cannot be empty"));
  else if (name === "linux") banWindows(spec, field, errors);
  else if (name === "windows") banLinux(spec, field, errors);
  else errors.push(notSupported(`${field}.os`, name, ["linux", "windows"]));
}

function eachContainer(spec: PodSpec, field: string, visit: (container: Container, at: string) => void): void {
  for (const kind of kinds)
    (spec[kind] ?? []).forEach((container, index) => visit(container as Container, `${field}.${kind}[${index}]`));
}

function banWindows(spec: PodSpec, field: string, errors: FieldErrors): void {
  const ban = ({ securityContext }: Pick<Container, "securityContext"> | PodSpec, at: string) => {
    if (securityContext?.windowsOptions)
      errors.push(forbidden(`${at}.securityContext.windowsOptions`, "windows options cannot be set for a linux pod"));
  };
  ban(spec, field);
  eachContainer(spec, field, ban);
}

function banLinux(spec: PodSpec, field: string, errors: FieldErrors): void {
  const ban = (value: object | undefined, names: readonly string[], at: string) => {
    for (const name of names)
      if (isSet((value as Record<string, unknown> | undefined)?.[name], name))
        errors.push(forbidden(`${at}.${name}`, "cannot be set for a windows pod"));
  };
  ban(spec, ofLinux.pod, field);
  ban(spec.securityContext, ofLinux.podContext, `${field}.securityContext`);
  eachContainer(spec, field, ({ securityContext }, at) =>
    ban(securityContext, ofLinux.containerContext, `${at}.securityContext`),
  );
}

/** Even a false or an empty value is set, except of those that upstream does not tell from absent ones. */
function isSet(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (name === "hostPID" || name === "hostIPC") return value === true;
  return name !== "sysctls" || (value as unknown[]).length > 0;
}

/** Containers that are processes of the Windows machine itself: all of a pod are, or none is. */
export function validateHostProcess(spec: PodSpec, field: string, errors: FieldErrors): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess ?? undefined;
  let containers = 0;
  let hostProcesses = 0;
  eachContainer(spec, field, ({ securityContext }, at) => {
    const own = securityContext?.windowsOptions?.hostProcess ?? undefined;
    if (ofPod !== undefined && own !== undefined && own !== ofPod)
      errors.push(
        invalid(
          `${at}.securityContext.windowsOptions.hostProcess`,
          own,
          `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
        ),
      );
    containers++;
    if (own ?? ofPod) hostProcesses++;
  });
  if (hostProcesses === 0) return;
  if (hostProcesses !== containers)
    errors.push(
      invalid(
        field,
        "",
        "If pod contains any hostProcess containers then all containers must be HostProcess containers",
      ),
    );
  if (!spec.hostNetwork)
    errors.push(
      invalid(`${field}.hostNetwork`, false, "hostNetwork must be true if pod contains any hostProcess containers"),
    );
}

const credentialKib = 64;
const longestDomain = 255;
const longestUser = 104;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\u0000-\u001f\u007f]/;
const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

export function validateWindowsOptions(
  options: WindowsOptions | undefined | null,
  at: string,
  errors: FieldErrors,
): void {
  if (!options) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName: user } = options;
  if (name != null)
    for (const problem of dnsSubdomain(name)) errors.push(invalid(`${at}.gmsaCredentialSpecName`, name, problem));
  const field = `${at}.gmsaCredentialSpec`;
  if (credential === "") errors.push(invalid(field, credential, "gmsaCredentialSpec cannot be an empty string"));
  else if (credential != null && Buffer.byteLength(credential) > credentialKib * 1024)
    errors.push(invalid(field, credential, `gmsaCredentialSpec size must be under ${credentialKib} KiB`));
  if (user != null)
    for (const problem of userProblems(user)) errors.push(invalid(`${at}.runAsUserName`, user, problem));
}

/** `user` or `domain\user`. */
function userProblems(text: string): string[] {
  if (text === "") return ["runAsUserName cannot be an empty string"];
  if (control.test(text)) return ["runAsUserName cannot contain control characters"];
  const parts = text.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const user = parts.at(-1) ?? "";
  const domain = parts.length === 2 ? parts[0] : undefined;
  const problems: string[] = [];
  if (domain !== undefined && Buffer.byteLength(domain) > longestDomain)
    problems.push(`runAsUserName's Domain length must be under ${longestDomain + 1} characters`);
  if (domain !== undefined && !netBiosDomain.test(domain) && !dnsDomain.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === "") problems.push("runAsUserName's User cannot be empty");
  else if (Buffer.byteLength(user) > longestUser)
    problems.push(`runAsUserName's User length must not be longer than ${longestUser} characters`);
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    problems.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  return problems;
}
