// Ranges of host ids for pods that have a user namespace of their own (`hostUsers: false`): each gets 65,536 that no other pod and nothing on
// the host has. Which pod has which stands in its folder, so that a restart of the agent changes nothing.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { IdRange } from "../model/id-range.ts";

const length = 65_536;
// The first range is the host's own; the rest of what 32 bits hold, short of the ids that mean nobody.
const mostRanges = 65_534;
const fileName = "userns";

/** Linux shows the owners of every kind of volume shifted from 6.3 on, when tmpfs learned it; upstream asks for the same. */
export function canMapOwners(kernelVersion: string): boolean {
  const [major = 0, minor = 0] = kernelVersion.split(".").map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 3);
}

export class UserNamespaces {
  readonly #podsDir: string;
  readonly #canMap: boolean;
  readonly #rangeByUid = new Map<string, IdRange>();

  constructor(podsDir: string, canMap: boolean) {
    this.#podsDir = podsDir;
    this.#canMap = canMap;
    for (const uid of existsSync(podsDir) ? readdirSync(podsDir) : []) {
      const known = this.#read(uid);
      if (known) this.#rangeByUid.set(uid, known);
    }
  }

  /** The pod's range, given to it with the first call; undefined for a pod that shares the host's users. */
  of({ metadata: { uid }, spec }: Pick<AgentPod, "metadata" | "spec">): IdRange | undefined {
    if (spec.hostUsers !== false) return undefined;
    const known = this.#rangeByUid.get(uid);
    if (known) return known;
    const taken = new Set([...this.#rangeByUid.values()].map(({ hostId }) => hostId));
    for (let number = 1; number <= mostRanges; number++) {
      const hostId = number * length;
      if (taken.has(hostId)) continue;
      const range = { hostId, length, isMapped: this.#canMap };
      this.#write(uid, range);
      this.#rangeByUid.set(uid, range);
      return range;
    }
    throw new Fault("too-many", "Cannot give the pod ids of its own: every range is taken");
  }

  /** Nothing of the pod is left on the host; its folder goes with the rest of it. */
  release(podUid: string): void {
    this.#rangeByUid.delete(podUid);
  }

  #read(uid: string): IdRange | undefined {
    try {
      const { isMapped = false, ...range } = JSON.parse(
        readFileSync(join(this.#podsDir, uid, fileName), "utf8"),
      ) as Omit<IdRange, "isMapped"> & { isMapped?: boolean };
      return { ...range, isMapped };
    } catch {
      return undefined; // a pod without one
    }
  }

  #write(uid: string, range: IdRange): void {
    const dir = join(this.#podsDir, uid);
    mkdirSync(dir, { recursive: true, mode: 0o750 });
    writeFileSync(join(dir, `${fileName}.new`), JSON.stringify(range));
    renameSync(join(dir, `${fileName}.new`), join(dir, fileName));
  }
}
