// CreateContainer: root file system, OCI spec and a process that waits to be started. What failed half-way is taken down again.

import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ContainerEventType, type CreateContainerRequest, NamespaceMode } from "../../api/gen/runtime.js";
import { checkRunAs } from "../../api/request-check.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ImageRecord } from "../images/image-store.ts";
import { libc } from "../kernel/libc.ts";
import { type Native, newId, nowNs } from "../native.ts";
import { hostnameOf, openUserNamespace, ownNamespaces } from "../sandboxes/sandbox-namespaces.ts";
import { hasUserNamespace, namespaceModes, type SandboxRecord } from "../sandboxes/sandbox-record.ts";
import { withCdiDevices } from "./cdi/cdi-devices.ts";
import { launch } from "./conmon.ts";
import { discardContainer } from "./container-end.ts";
import type { ContainerRecord } from "./container-record.ts";
import { mountRootfs } from "./container-rootfs.ts";
import { keepForbidden, prepareMounts, releaseVolumes } from "./container-volumes.ts";
import { resolveUser } from "./image-user.ts";
import { buildSpec, type SpecInput } from "./spec-builder.ts";
import { stopSignalOf } from "./stop-signal.ts";

export async function createContainer(native: Native, request: CreateContainerRequest): Promise<string> {
  const { config } = request;
  if (!config?.metadata) throw new Fault("invalid", "Cannot create container: its config has no metadata");
  checkRunAs(config.linux?.securityContext);
  const sandbox = native.sandboxes.get(request.podSandboxId);
  const name = config.metadata.name;
  if (sandbox.phase !== "ready")
    throw new Fault("conflict", `Cannot create container "${name}": sandbox "${sandbox.id}" is not ready`);
  const image = native.images.store.get(config.image?.image ?? "");
  const twin = native.containers
    .list()
    .find(
      ({ sandboxId, config: { metadata } }) =>
        sandboxId === sandbox.id && metadata?.name === name && metadata.attempt === config.metadata?.attempt,
    );
  if (twin)
    throw new Fault(
      "already-exists",
      `Cannot create container "${name}": attempt ${config.metadata.attempt} is "${twin.id}"`,
    );
  const id = newId();
  const record: ContainerRecord = {
    id,
    sandboxId: sandbox.id,
    config,
    imageId: image.id,
    imageRef: image.digests[0] ?? image.id,
    layers: image.layers,
    identity: { uid: 0, gid: 0, groups: [], home: "/" },
    cgroup: `${sandbox.config.linux?.cgroupParent || `${native.paths.defaultCgroup}/${sandbox.id}`}/${id}`,
    logPath: config.logPath ? join(sandbox.config.logDirectory, config.logPath) : "",
    stopSignal: stopSignalOf(config.stopSignal, image.config.config.StopSignal),
    createdAt: nowNs(native.clock),
    phase: "making",
    startedAt: 0n,
    finishedAt: 0n,
    exitCode: 0,
    reason: "",
    message: "",
    resources: config.linux?.resources,
  };
  // Known before anything is made, so that a crash from here on leaves nothing unaccounted for.
  native.containers.save(record);
  let made: ContainerRecord;
  try {
    made = await make(native, record, sandbox, image);
  } catch (error) {
    await discardContainer(native, record);
    throw error;
  }
  native.events.emit({ id, sandboxId: sandbox.id, type: ContainerEventType.CONTAINER_CREATED_EVENT });
  return made.id;
}

async function make(
  native: Native,
  record: ContainerRecord,
  sandbox: SandboxRecord,
  image: ImageRecord,
): Promise<ContainerRecord> {
  const { id } = record;
  const folder = native.paths.container(id);
  // A setuid file that a container makes must not be in reach of the host's users; a user namespace makes it harmless.
  mkdirSync(folder, { recursive: true, mode: hasUserNamespace(sandbox.config) ? 0o711 : 0o700 });
  const mounts = withUserNamespace(native, sandbox, (userFd) => {
    mountRoot(native, record, sandbox, userFd);
    return prepareMounts(native, record, sandbox, userFd);
  });
  const rootfs = native.paths.rootfs(id);
  const security = record.config.linux?.securityContext;
  const number = (value: { value: bigint } | undefined) => (value === undefined ? undefined : Number(value.value));
  const runAsUser = number(security?.runAsUser);
  const runAsGroup = number(security?.runAsGroup);
  const identity = resolveUser(rootfs, {
    ...(runAsUser === undefined ? {} : { runAsUser }),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    runAsUsername: security?.runAsUsername ?? "",
    imageUser: image.config.config.User ?? "",
    supplementalGroups: (security?.supplementalGroups ?? []).map(Number),
    policy: security?.supplementalGroupsPolicy ?? 0,
  });
  const plain = buildSpec({
    config: { ...record.config, mounts },
    image: image.config,
    identity,
    host: native.host,
    rootfs,
    cgroup: record.cgroup,
    hostname: hostnameOf(sandbox.config),
    ...namespacesOf(native, record, sandbox),
    sandboxFiles: sandboxFiles(native, sandbox),
    shmPath:
      namespaceModes(sandbox.config).ipc === NamespaceMode.NODE
        ? "/dev/shm"
        : join(native.paths.sandbox(sandbox.id), "shm"),
  });
  const names = record.config.CDIDevices.map(({ name }) => name);
  const full = withCdiDevices(plain, names, native.cdiFolders);
  const spec = hasUserNamespace(sandbox.config) ? { ...full, mounts: keepForbidden(full.mounts) } : full;
  writeFileSync(join(folder, "config.json"), JSON.stringify(spec), { mode: 0o600 });
  const made: ContainerRecord = { ...record, identity };
  if (spec.hooks?.poststop) made.hasLastHook = true;
  const launched = await native.launches.run(() => launch(native, made));
  // The container has mounts of its own by now, whether it could be made or not.
  releaseVolumes(folder);
  if ("failure" in launched) made.startFailure = launched.failure;
  else Object.assign(made, launched);
  made.phase = "created";
  native.containers.save(made);
  return made;
}

/** The descriptor of the pod's user namespace while the work needs it; undefined for a pod that shares the host's users. */
function withUserNamespace<T>(native: Native, sandbox: SandboxRecord, work: (userFd: number | undefined) => T): T {
  if (!hasUserNamespace(sandbox.config)) return work(undefined);
  const fd = openUserNamespace(native.paths.namespaces(sandbox.id));
  try {
    return work(fd);
  } finally {
    libc.close(fd);
  }
}

function mountRoot(native: Native, record: ContainerRecord, sandbox: SandboxRecord, userFd: number | undefined): void {
  try {
    mountLayers(native, record, sandbox, userFd);
  } catch (error) {
    native.startConditions.mountFailed();
    throw error;
  }
}

function mountLayers(
  native: Native,
  record: ContainerRecord,
  sandbox: SandboxRecord,
  userFd: number | undefined,
): void {
  const folder = native.paths.container(record.id);
  const layers = record.layers.map((diffId) => native.images.store.layers.path(diffId));
  if (userFd === undefined) return mountRootfs({ folder, layers });
  requirePassage(folder);
  const { user } = namespaceModes(sandbox.config);
  const rootUid = user?.uids.find(({ containerId }) => containerId === 0)?.hostId ?? 0;
  const rootGid = user?.gids.find(({ containerId }) => containerId === 0)?.hostId ?? 0;
  mountRootfs({ folder, layers, user: { fd: userFd, rootUid, rootGid } });
}

/** The root of a user namespace is nobody on the host: it reaches its files only through folders that let everyone pass. */
function requirePassage(folder: string): void {
  for (let at = folder; at !== "/"; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) !== 0) continue;
    throw new Fault("invalid", `Cannot use a user namespace: "${at}" does not let other users pass (chmod o+x)`);
  }
}

function sandboxFiles(native: Native, sandbox: SandboxRecord): Record<string, string> {
  const folder = native.paths.sandbox(sandbox.id);
  return {
    "/etc/resolv.conf": join(folder, "resolv.conf"),
    "/etc/hosts": join(folder, "hosts"),
    "/etc/hostname": join(folder, "hostname"),
  };
}

function namespacesOf(
  native: Native,
  record: ContainerRecord,
  sandbox: SandboxRecord,
): Pick<SpecInput, "join" | "own" | "idMappings"> {
  const folder = native.paths.namespaces(sandbox.id);
  const kinds = ownNamespaces(sandbox.config);
  const found: Partial<Record<"network" | "ipc" | "uts" | "pid" | "user", string>> = {};
  const own: string[] = [];
  if (kinds.includes("net")) found.network = join(folder, "net");
  if (kinds.includes("ipc")) found.ipc = join(folder, "ipc");
  if (kinds.includes("uts")) found.uts = join(folder, "uts");
  const options = record.config.linux?.securityContext?.namespaceOptions;
  const mode = options?.pid ?? namespaceModes(sandbox.config).pid;
  if (mode === NamespaceMode.CONTAINER) own.push("pid");
  if (mode === NamespaceMode.POD) {
    if (!sandbox.holder) own.push("pid");
    else found.pid = join(folder, "pid");
  }
  if (mode === NamespaceMode.TARGET) {
    const target = native.containers.get(options?.targetId ?? "");
    if (target.phase !== "running" || !target.process) {
      throw new Fault("conflict", `Cannot join the processes of container "${target.id}": it does not run`);
    }
    found.pid = `/proc/${target.process.pid}/ns/pid`;
  }
  // With version 2 a container sees its own group as the root of all.
  if (native.host.cgroupVersion === 2 && !record.config.linux?.securityContext?.privileged) own.push("cgroup");
  if (!hasUserNamespace(sandbox.config)) return { join: found, own };
  found.user = join(folder, "user");
  const { user } = namespaceModes(sandbox.config);
  const toOci = (mappings: NonNullable<typeof user>["uids"]) =>
    mappings.map(({ containerId, hostId, length }) => ({ containerID: containerId, hostID: hostId, size: length }));
  return { join: found, own, idMappings: { uids: toOci(user?.uids ?? []), gids: toOci(user?.gids ?? []) } };
}
