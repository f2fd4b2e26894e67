// Security contexts of pods and containers as the runtime takes them: users, groups, capabilities, profiles and namespaces.

import {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceMode,
  NamespaceOption,
  SecurityProfile,
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
  type UserNamespace,
} from "../../cri/api/gen/runtime.js";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import type { IdRange } from "../model/id-range.ts";
import { type AgentPod, podFormat } from "../model/agent-pod.ts";

// What an ordinary container must not see or change of the kernel.
const maskedPaths = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/** The user that the image itself asks for. */
interface ImageUser {
  readonly uid?: bigint;
  readonly username: string;
}

export interface SecurityFacts {
  readonly imageUser: ImageUser;
  readonly volumeGroups: readonly number[];
  readonly hasAppArmor: boolean;
  /** Containers without a profile get the runtime's own rather than none. */
  readonly seccompDefault: boolean;
  /** Folder that `Localhost` profiles are relative to. */
  readonly seccompDir: string;
  /** Id of the container whose processes an ephemeral container wants to see. */
  readonly targetId?: string;
  /** The host's ids for a pod with users of its own. */
  readonly ownUsers?: IdRange;
}

export function containerSecurity(
  pod: AgentPod,
  container: Container,
  facts: SecurityFacts,
): LinuxContainerSecurityContext {
  const podContext = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const runAsUser = own.runAsUser ?? podContext.runAsUser;
  const runAsGroup = own.runAsGroup ?? podContext.runAsGroup;
  checkNonRoot(pod, container, runAsUser, own.runAsNonRoot ?? podContext.runAsNonRoot ?? false, facts.imageUser);
  const isUnmasked = own.procMount === "Unmasked";
  const selinux = own.seLinuxOptions ?? podContext.seLinuxOptions;
  const appArmor = appArmorOf(pod, container, facts);
  const user = userOf(runAsUser, facts.imageUser);
  return LinuxContainerSecurityContext.create({
    capabilities: {
      addCapabilities: own.capabilities?.add ?? [],
      dropCapabilities: own.capabilities?.drop ?? [],
    },
    privileged: own.privileged ?? false,
    namespaceOptions: namespacesOf(pod, facts),
    ...(selinux ? { selinuxOptions: selinux } : {}),
    ...user,
    ...(runAsGroup === undefined ? {} : { runAsGroup: { value: BigInt(runAsGroup) } }),
    readonlyRootfs: own.readOnlyRootFilesystem ?? false,
    supplementalGroups: groupsOf(pod, facts.volumeGroups),
    supplementalGroupsPolicy: groupsPolicyOf(pod),
    noNewPrivs: own.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : maskedPaths,
    readonlyPaths: isUnmasked ? [] : readonlyPaths,
    seccomp: seccompOf(own.seccompProfile ?? podContext.seccompProfile, facts),
    ...(appArmor ? { apparmor: appArmor } : {}),
  });
}

export function sandboxSecurity(
  pod: AgentPod,
  facts: Omit<SecurityFacts, "imageUser" | "targetId">,
): LinuxSandboxSecurityContext {
  const context = pod.spec.securityContext ?? {};
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return LinuxSandboxSecurityContext.create({
    namespaceOptions: namespacesOf(pod, facts),
    ...(context.seLinuxOptions ? { selinuxOptions: context.seLinuxOptions } : {}),
    ...(context.runAsUser === undefined ? {} : { runAsUser: { value: BigInt(context.runAsUser) } }),
    ...(context.runAsUser === undefined || context.runAsGroup === undefined
      ? {}
      : { runAsGroup: { value: BigInt(context.runAsGroup) } }),
    supplementalGroups: groupsOf(pod, facts.volumeGroups),
    supplementalGroupsPolicy: groupsPolicyOf(pod),
    privileged: containers.some((container) => container.securityContext?.privileged),
    // The sandbox itself runs nothing of the user's; the runtime's own profile always fits it.
    seccomp: SecurityProfile.create({ profileType: ProfileType.RuntimeDefault }),
  });
}

function namespacesOf(
  pod: AgentPod,
  { targetId, ownUsers }: Pick<SecurityFacts, "targetId" | "ownUsers">,
): NamespaceOption {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec;
  const pid = hostPID ? NamespaceMode.NODE : shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return NamespaceOption.create({
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: targetId && pid === NamespaceMode.CONTAINER ? NamespaceMode.TARGET : pid,
    targetId: targetId ?? "",
    ...(ownUsers ? { usernsOptions: userNamespaceOf(ownUsers) } : {}),
  });
}

export function userNamespaceOf({ hostId, length }: IdRange): UserNamespace {
  const mapping = { hostId, containerId: 0, length };
  return { mode: NamespaceMode.POD, uids: [mapping], gids: [mapping] };
}

function userOf(
  runAsUser: number | undefined,
  image: ImageUser,
): { runAsUser?: { value: bigint }; runAsUsername?: string } {
  if (runAsUser !== undefined) return { runAsUser: { value: BigInt(runAsUser) } };
  if (image.uid !== undefined) return { runAsUser: { value: image.uid } };
  return image.username ? { runAsUsername: image.username } : {};
}

function groupsOf(pod: AgentPod, volumeGroups: readonly number[]): bigint[] {
  const { fsGroup, supplementalGroups } = pod.spec.securityContext ?? {};
  const groups = [...(fsGroup === undefined ? [] : [fsGroup]), ...(supplementalGroups ?? []), ...volumeGroups];
  return [...new Set(groups)].map(BigInt);
}

function groupsPolicyOf(pod: AgentPod): SupplementalGroupsPolicy {
  return pod.spec.securityContext?.supplementalGroupsPolicy === "Strict"
    ? SupplementalGroupsPolicy.Strict
    : SupplementalGroupsPolicy.Merge;
}

function seccompOf(
  profile: { type: string; localhostProfile?: string } | undefined,
  facts: Pick<SecurityFacts, "seccompDefault" | "seccompDir">,
): SecurityProfile {
  const type = profile?.type ?? (facts.seccompDefault ? "RuntimeDefault" : "Unconfined");
  if (type === "Localhost") {
    const localhostRef = `${facts.seccompDir}/${profile?.localhostProfile ?? ""}`;
    return SecurityProfile.create({ profileType: ProfileType.Localhost, localhostRef });
  }
  const profileType = type === "Unconfined" ? ProfileType.Unconfined : ProfileType.RuntimeDefault;
  return SecurityProfile.create({ profileType });
}

/** The container's profile, else the pod's, else the old annotation's; nothing where the host has no AppArmor. */
function appArmorOf(pod: AgentPod, container: Container, facts: SecurityFacts): SecurityProfile | undefined {
  if (!facts.hasAppArmor) return undefined;
  const annotation = pod.metadata.annotations?.[`container.apparmor.security.beta.kubernetes.io/${container.name}`];
  const profile =
    container.securityContext?.appArmorProfile ??
    pod.spec.securityContext?.appArmorProfile ??
    fromAnnotation(annotation);
  if (!profile) return undefined;
  if (profile.type === "Localhost") {
    const localhostRef = profile.localhostProfile ?? "";
    return SecurityProfile.create({ profileType: ProfileType.Localhost, localhostRef });
  }
  const profileType = profile.type === "Unconfined" ? ProfileType.Unconfined : ProfileType.RuntimeDefault;
  return SecurityProfile.create({ profileType });
}

function fromAnnotation(text: string | undefined): { type: string; localhostProfile?: string } | undefined {
  if (text === undefined) return undefined;
  if (text.startsWith("localhost/")) return { type: "Localhost", localhostProfile: text.slice("localhost/".length) };
  return { type: text === "unconfined" ? "Unconfined" : "RuntimeDefault" };
}

function checkNonRoot(
  pod: AgentPod,
  container: Container,
  runAsUser: number | undefined,
  mustNotBeRoot: boolean,
  image: ImageUser,
): void {
  if (!mustNotBeRoot) return;
  const where = `(pod: "${podFormat(pod)}", container: ${container.name})`;
  if (runAsUser === 0) throw new Fault("invalid", `container's runAsUser breaks non-root policy ${where}`);
  if (runAsUser !== undefined) return;
  if (image.uid === 0n || (image.uid === undefined && image.username === "")) {
    throw new Fault("invalid", `container has runAsNonRoot and image will run as root ${where}`);
  }
  if (image.uid === undefined) {
    throw new Fault(
      "invalid",
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`,
    );
  }
}
