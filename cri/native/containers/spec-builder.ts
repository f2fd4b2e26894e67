// Builds the OCI spec of one container from what CRI asks, what the image says and what the host allows. Pure: everything it needs
// to know is handed in.

import { type ContainerConfig, SecurityProfile_ProfileType } from "../../api/gen/runtime.js";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ImageConfig } from "../images/manifest.ts";
import { capabilitySets } from "../../api/capabilities.ts";
import { planMounts } from "./container-mounts.ts";
import { toOciResources } from "./container-resources.ts";
import { deviceAt, type HostFacts } from "./host-facts.ts";
import type { ContainerIdentity } from "./image-user.ts";
import type { OciDevice, OciDeviceRule, OciIdMapping, OciSpec } from "./oci-spec.ts";
import { seccompFor } from "./seccomp.ts";

export interface SpecInput {
  readonly config: ContainerConfig;
  readonly image: ImageConfig;
  readonly identity: ContainerIdentity;
  readonly host: HostFacts;
  readonly rootfs: string;
  readonly cgroup: string;
  readonly hostname: string;
  /** Paths of namespaces to join; a kind that is absent is the host's, or the container's own where `own` names it. */
  readonly join: Readonly<Partial<Record<"network" | "ipc" | "uts" | "pid" | "user", string>>>;
  readonly own: readonly string[];
  readonly idMappings?: { readonly uids: OciIdMapping[]; readonly gids: OciIdMapping[] };
  readonly sandboxFiles: Readonly<Record<string, string>>;
  readonly shmPath: string;
}

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function buildSpec(input: SpecInput): OciSpec {
  const { config, host } = input;
  const security = config.linux?.securityContext;
  const isPrivileged = security?.privileged ?? false;
  const capabilities = capabilitySets(security?.capabilities, isPrivileged, host.capabilities);
  const plan = planMounts({
    wanted: config.mounts,
    isPrivileged,
    isRootReadOnly: security?.readonlyRootfs ?? false,
    cgroupVersion: host.cgroupVersion,
    sandboxFiles: input.sandboxFiles,
    shmPath: input.shmPath,
    ownsNetwork: input.join.network !== undefined,
    hasUserNamespace: input.join.user !== undefined,
  });
  const seccomp = seccompFor(security?.seccomp, isPrivileged, capabilities.bounding);
  const devices = devicesFor(input, isPrivileged);
  const resources = toOciResources(config.linux?.resources, host);
  return {
    ociVersion: "1.0.2",
    process: processFor(input, capabilities),
    root: { path: input.rootfs, readonly: security?.readonlyRootfs ?? false },
    mounts: plan.mounts,
    annotations: { "io.kubernetes.cri.container-name": config.metadata?.name ?? "" },
    linux: {
      namespaces: namespacesFor(input),
      ...(input.idMappings ? { uidMappings: input.idMappings.uids, gidMappings: input.idMappings.gids } : {}),
      cgroupsPath: input.cgroup,
      devices: devices.nodes,
      resources: { ...resources, devices: devices.rules },
      ...(plan.rootPropagation ? { rootfsPropagation: plan.rootPropagation } : {}),
      ...(seccomp ? { seccomp } : {}),
      ...(isPrivileged
        ? {}
        : { maskedPaths: security?.maskedPaths ?? [], readonlyPaths: security?.readonlyPaths ?? [] }),
    },
  };
}

function namespacesFor(input: SpecInput): { type: string; path?: string }[] {
  const joined = Object.entries(input.join).map(([type, path]) => ({ type, path }));
  return [{ type: "mount" }, ...input.own.map((type) => ({ type })), ...joined];
}

function processFor(input: SpecInput, capabilities: { bounding: string[]; ambient: string[] }): OciSpec["process"] {
  const { config, identity, host, image } = input;
  const security = config.linux?.securityContext;
  const score = Number(config.linux?.resources?.oomScoreAdj ?? 0n);
  return {
    terminal: config.tty,
    user: { uid: identity.uid, gid: identity.gid, additionalGids: identity.groups },
    args: commandOf(config, image),
    env: environmentOf(input),
    cwd: config.workingDir || image.config.WorkingDir || "/",
    capabilities: {
      bounding: capabilities.bounding,
      effective: capabilities.bounding,
      permitted: capabilities.bounding,
      inheritable: capabilities.ambient,
      ambient: capabilities.ambient,
    },
    rlimits: [{ type: "RLIMIT_NOFILE", soft: host.maxOpenFiles, hard: host.maxOpenFiles }],
    noNewPrivileges: security?.noNewPrivs ?? false,
    ...appArmorProfile(input),
    oomScoreAdj: Math.max(score, host.lowestOomScoreAdj),
  };
}

function commandOf(config: ContainerConfig, image: ImageConfig): string[] {
  const entry = config.command.length > 0 ? config.command : (image.config.Entrypoint ?? []);
  const isOverridden = config.command.length > 0 || config.args.length > 0;
  const args = isOverridden ? config.args : (image.config.Cmd ?? []);
  const command = [...entry, ...args];
  if (command.length === 0)
    throw new Fault("invalid", "Cannot create container: neither it nor its image names a command");
  return command;
}

/** The image's variables, then CRI's over them; HOME and PATH where nobody set them. */
function environmentOf(input: SpecInput): string[] {
  const variables = new Map<string, string>();
  const add = (text: string) => variables.set(text.split("=", 1)[0] as string, text);
  add(defaultPath);
  add(`HOSTNAME=${input.hostname}`);
  if (input.config.tty) add("TERM=xterm");
  for (const text of input.image.config.Env ?? []) add(text);
  for (const { key, value } of input.config.envs) add(`${key}=${value}`);
  if (!variables.has("HOME")) add(`HOME=${input.identity.home}`);
  return [...variables.values()];
}

/** The one it names; the default one where it asks for that or for nothing, unless it is privileged. */
function appArmorProfile({ config, host }: SpecInput): { apparmorProfile?: string } {
  const security = config.linux?.securityContext;
  const wanted = security?.apparmor;
  if (wanted?.profileType === SecurityProfile_ProfileType.Localhost) {
    const profile = wanted.localhostRef.replace(/^localhost\//, "");
    if (!host.appArmor)
      throw new Fault("unsupported", `Cannot use AppArmor profile "${profile}": this host has no AppArmor`);
    if (!host.appArmor.isLoaded(profile))
      throw new Fault("invalid", `Cannot use AppArmor profile "${profile}": it is not loaded on this host`);
    return { apparmorProfile: profile };
  }
  const isConfined = wanted ? wanted.profileType === SecurityProfile_ProfileType.RuntimeDefault : !security?.privileged;
  const profile = isConfined ? host.appArmor?.defaultProfile : undefined;
  return profile ? { apparmorProfile: profile } : {};
}

function devicesFor(input: SpecInput, isPrivileged: boolean): { nodes: OciDevice[]; rules: OciDeviceRule[] } {
  const nodes: OciDevice[] = [];
  const rules: OciDeviceRule[] = [{ allow: isPrivileged, access: "rwm" }];
  if (isPrivileged) nodes.push(...input.host.devices());
  for (const { hostPath, containerPath, permissions } of input.config.devices) {
    const device = deviceAt(hostPath, containerPath || hostPath);
    if (!device)
      throw new Fault("invalid", `Cannot give device "${hostPath}" to the container: it is not a device of this host`);
    nodes.push(device);
    rules.push({
      allow: true,
      type: device.type,
      major: device.major,
      minor: device.minor,
      access: permissions || "rwm",
    });
  }
  return { nodes, rules };
}
