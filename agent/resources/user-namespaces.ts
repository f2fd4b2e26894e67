// Ranges of host ids for pods that have a user namespace of their own (`hostUsers: false`): each gets 65,536 that no other pod and nothing on
// the host has. Which pod has which stands in its folder, so that a restart of the agent changes nothing.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../plugins/kit/fault.ts";
import type { AgentPod } from "../pods/agent-pod.ts";

export interface IdRange {
  /** The host's id for the pod's root. */
  readonly hostId: number;
  readonly length: number;
}

const length = 65_536;
// The first range is the host's own; the rest of what 32 bits hold, short of the ids that mean nobody.
const mostRanges = 65_534;
const fileName = "userns";

export class UserNamespaces {
  readonly #podsDir: string;
  readonly #startByUid = new Map<string, number>();

  constructor(podsDir: string) {
    this.#podsDir = podsDir;
    for (const uid of existsSync(podsDir) ? readdirSync(podsDir) : []) {
      const known = this.#read(uid);
      if (known) this.#startByUid.set(uid, known.hostId);
    }
  }

  /** The pod's range, given to it with the first call; undefined for a pod that shares the host's users. */
  of({ metadata: { uid }, spec }: Pick<AgentPod, "metadata" | "spec">): IdRange | undefined {
    if (spec.hostUsers !== false) return undefined;
    const known = this.#startByUid.get(uid);
    if (known !== undefined) return { hostId: known, length };
    const taken = new Set(this.#startByUid.values());
    for (let number = 1; number <= mostRanges; number++) {
      const hostId = number * length;
      if (taken.has(hostId)) continue;
      this.#write(uid, { hostId, length });
      this.#startByUid.set(uid, hostId);
      return { hostId, length };
    }
    throw new Fault("too-many", "Cannot give the pod ids of its own: every range is taken");
  }

  /** Nothing of the pod is left on the host; its folder goes with the rest of it. */
  release(podUid: string): void {
    this.#startByUid.delete(podUid);
  }

  #read(uid: string): IdRange | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#podsDir, uid, fileName), "utf8")) as IdRange;
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
