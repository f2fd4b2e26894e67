// Groups for pods that bring none of their own, so that they can be measured as one; named as the daemon's cgroup driver has it.

import type { PodSandboxConfig } from "../api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { cgroupPath } from "../../plugins/kit/os/systemd/slice-path.ts";
import type { Docker } from "./docker.ts";
import { instanceCgroup } from "./labels.ts";

type Groups = Pick<Docker, "instance" | "systemd">;

export function defaultCgroup({ instance, systemd }: Groups, { metadata }: PodSandboxConfig): string {
  const name = `${metadata?.uid || metadata?.name}-${metadata?.attempt}`.replace(/[^\w.-]/g, "-");
  if (!systemd) return `${instanceCgroup(instance)}/${name}`;
  // Dashes part the levels of slices.
  return `${instanceSlice(instance)}-${name.replaceAll("-", "_")}.slice`;
}

/** When nothing is in it any more. */
export async function removeDefaultCgroup(docker: Docker, config: PodSandboxConfig, call: Call): Promise<void> {
  const group = defaultCgroup(docker, config);
  await docker.systemd?.stop(group, call);
  docker.cgroups.remove(cgroupPath(group));
}

/** Stays as long as a pod has its group below. */
export async function removeInstanceCgroup(docker: Docker, call: Call): Promise<void> {
  const { cgroups, instance, systemd } = docker;
  if (!systemd) return cgroups.removeIfEmpty(instanceCgroup(instance));
  const slice = `${instanceSlice(instance)}.slice`;
  if (cgroups.allProcesses(cgroupPath(slice)).length > 0) return;
  await systemd.stop(slice, call);
  cgroups.remove(cgroupPath(slice));
}

function instanceSlice(instance: string): string {
  return instanceCgroup(instance).slice(1).replaceAll("-", "_");
}
