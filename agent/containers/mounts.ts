// The mounts of a container: its volumes, the hosts file and the termination message file.

import { Mount, MountPropagation } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container, VolumeMount } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { MountedVolume, SubPathRequest } from "../model/mounted-volume.ts";
import { expand } from "../../plugins/kit/kube/objects/expansion.ts";
import { isRecursiveReadOnly } from "./recursive-read-only.ts";

const propagations: Record<string, MountPropagation> = {
  None: MountPropagation.PROPAGATION_PRIVATE,
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

export interface MountFacts {
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  readonly environment: ReadonlyMap<string, string>;
  /** The pod's hosts file; undefined when the container brings its own. */
  readonly hostsFile: string | undefined;
  /** The file that takes the termination message; undefined without a path for it. */
  readonly messageFile: string | undefined;
  /** The runtime can make what lies below a read-only mount read-only, too. */
  readonly hasRecursiveReadOnly: boolean;
}

/** Makes a host path of a sub path that no symbolic link leads out of its volume. */
type SubPathBinder = (request: SubPathRequest, call: Call) => Promise<string>;

export async function mountsOf(
  pod: AgentPod,
  container: Container,
  facts: MountFacts,
  bindSubPath: SubPathBinder,
  call: Call,
): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    mounts.push(await volumeMount(pod, container, mount, index, facts, bindSubPath, call));
  }
  if (facts.hostsFile && !mounts.some((mount) => mount.containerPath === "/etc/hosts")) {
    mounts.push(Mount.create({ containerPath: "/etc/hosts", hostPath: facts.hostsFile }));
  }
  if (facts.messageFile) {
    const containerPath = container.terminationMessagePath ?? "/dev/termination-log";
    mounts.push(Mount.create({ containerPath, hostPath: facts.messageFile }));
  }
  return mounts;
}

async function volumeMount(
  pod: AgentPod,
  container: Container,
  mount: VolumeMount,
  index: number,
  facts: MountFacts,
  bindSubPath: SubPathBinder,
  call: Call,
): Promise<Mount> {
  const volume = facts.volumes.get(mount.name);
  if (!volume) {
    throw new Fault("invalid", `cannot find volume "${mount.name}" to mount into container "${container.name}"`);
  }
  const readOnly = (mount.readOnly ?? false) || (volume.readOnly ?? false);
  const subPath = mount.subPathExpr ? expandAll(mount.subPathExpr, facts.environment) : (mount.subPath ?? "");
  const common = {
    containerPath: mount.mountPath.startsWith("/") ? mount.mountPath : `/${mount.mountPath}`,
    readonly: readOnly,
    propagation: propagations[mount.mountPropagation ?? "None"] ?? MountPropagation.PROPAGATION_PRIVATE,
    recursiveReadOnly: isRecursiveReadOnly(mount, facts.hasRecursiveReadOnly),
  };
  if (volume.image) return Mount.create({ ...common, image: { image: volume.image.reference }, imageSubPath: subPath });
  const hostPath = subPath
    ? await bindSubPath({ pod, containerName: container.name, index, volume, subPath, readOnly }, call)
    : volume.hostPath;
  return Mount.create({ ...common, hostPath });
}

/** Unlike elsewhere, a variable that is not there is an error here. */
function expandAll(text: string, environment: ReadonlyMap<string, string>): string {
  return expand(text, (name) => {
    const value = environment.get(name);
    if (value === undefined) throw new Fault("invalid", `missing value for "${name}" in subPathExpr "${text}"`);
    return value;
  });
}
