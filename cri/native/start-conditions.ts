// What every container needs of this host: the OCI runtime, conmon, control groups and overlay mounts. While one of them is missing none can
// be created, whatever the pod, and the runtime is not ready.

import { accessSync, constants, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";
import { mountOverlay, unmount } from "./kernel/mounts.ts";

interface Problem {
  /** In the style of a condition's reason. */
  readonly reason: string;
  readonly message: string;
}

export interface StartConditionsOptions {
  readonly programs: { readonly oci: string; readonly conmon: string };
  readonly cgroups: Pick<Cgroups, "isMounted">;
  /** On the file system where containers' root file systems are mounted. */
  readonly folder: string;
}

export class StartConditions {
  readonly #options: StartConditionsOptions;
  /** Undefined when it has to be tried: a mount writes to the disk, so one that worked is believed until another fails. */
  #canMountOverlay: true | undefined;

  constructor(options: StartConditionsOptions) {
    this.#options = options;
  }

  /** Looks again each time; undefined when containers can be created. */
  problem(): Problem | undefined {
    const { programs, cgroups } = this.#options;
    return (
      programProblem(programs.oci) ??
      programProblem(programs.conmon) ??
      cgroupProblem(cgroups) ??
      this.#overlayProblem()
    );
  }

  /** The root file system of a container could not be mounted: for a reason of its own, or because none can. */
  mountFailed(): void {
    this.#canMountOverlay = undefined;
  }

  #overlayProblem(): Problem | undefined {
    if (this.#canMountOverlay) return undefined;
    const { folder } = this.#options;
    try {
      tryOverlay(join(folder, "overlay-check"));
      this.#canMountOverlay = true;
      return undefined;
    } catch (error) {
      const message = `cannot mount an overlay file system below ${folder}: ${(error as Error).message}`;
      return { reason: "OverlayNotAvailable", message };
    }
  }
}

function tryOverlay(scratch: string): void {
  const [lower, upper, work, target] = ["lower", "upper", "work", "target"].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
    string,
  ];
  try {
    for (const path of [lower, upper, work, target]) mkdirSync(path, { recursive: true });
    mountOverlay({ lower: [lower], upper, work, target });
  } finally {
    unmount(target);
    rmSync(scratch, { recursive: true, force: true });
  }
}

function programProblem(path: string): Problem | undefined {
  try {
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { reason: "ProgramMissing", message: `cannot run ${path}: ${code ?? (error as Error).message}` };
  }
}

function cgroupProblem(cgroups: Pick<Cgroups, "isMounted">): Problem | undefined {
  if (cgroups.isMounted()) return undefined;
  const message =
    "no control groups are mounted at /sys/fs/cgroup; mount them (mount -t cgroup2 none /sys/fs/cgroup) and start Skiff again";
  return { reason: "CgroupsNotMounted", message };
}
