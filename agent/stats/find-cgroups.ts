// Where the cgroups of pods and containers are: from what the runtime was told, and what it made below.

import { readdirSync } from "node:fs";
import type { Cgroups } from "../../plugins/kit/os/platform/cgroups.ts";

const controllers = ["memory", "cpuacct", "cpu", "pids", "systemd"];

export class ContainerCgroups {
  readonly #cgroups: Cgroups;
  readonly #known = new Map<string, string>();

  constructor(cgroups: Cgroups) {
    this.#cgroups = cgroups;
  }

  /** The container's cgroup below its pod's: `<id>`, or a scope that the id stands in. */
  find(podCgroup: string, containerId: string): string | undefined {
    const known = this.#known.get(containerId);
    if (known !== undefined) return known;
    const name = this.#children(podCgroup).find((child) => child.includes(containerId));
    if (name === undefined) return undefined;
    const path = `${podCgroup}/${name}`;
    this.#known.set(containerId, path);
    return path;
  }

  /** Forgets all but the given containers. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
  }

  firstProcess(cgroup: string): number | undefined {
    return this.#cgroups.processes(cgroup)[0];
  }

  #children(path: string): string[] {
    for (const controller of this.#cgroups.version === 2 ? [""] : controllers) {
      try {
        const entries = readdirSync(this.#cgroups.folder(path, controller), { withFileTypes: true });
        return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
      } catch {
        // Not in this hierarchy.
      }
    }
    return [];
  }
}
