// Bounds how many requests are worked on at once, in lanes, so that a flood of ordinary ones never keeps out the control
// plane, leases and node heartbeats. A lane that is full lets some wait; beyond that the answer is 429 at once.

import type { UserInfo } from "../../plugins/kit/admission.ts";
import type { Call } from "../../plugins/kit/call.ts";
import type { Attributes } from "../auth/contract.ts";
import { tooManyRequests } from "./status.ts";

export type LaneName = "exempt" | "system" | "reading" | "writing";

export interface LaneLimits {
  readonly atOnce: number;
  readonly waiting: number;
}

export const defaultLimits: Readonly<Record<Exclude<LaneName, "exempt">, LaneLimits>> = {
  system: { atOnce: 200, waiting: 400 },
  reading: { atOnce: 400, waiting: 200 },
  writing: { atOnce: 200, waiting: 200 },
};

const retryAfterSeconds = 1;

class Lane {
  readonly #limits: LaneLimits;
  readonly #queue = new Set<() => void>();
  #running = 0;

  constructor(limits: LaneLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Undefined when there is room now; otherwise resolves when there is. */
  enter(call: Call): Promise<void> | undefined {
    if (this.#running < this.#limits.atOnce) {
      this.#running++;
      return undefined;
    }
    if (this.#queue.size >= this.#limits.waiting)
      throw tooManyRequests("Too many requests, please try again later.", retryAfterSeconds);
    return new Promise((resolve, reject) => {
      const begin = () => {
        call.signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#queue.delete(begin);
        reject(call.signal.reason);
      };
      call.signal.addEventListener("abort", leave, { once: true });
      this.#queue.add(begin);
    });
  }

  /** The place goes to who waits longest. */
  leave(): void {
    const [next] = this.#queue;
    if (!next) {
      this.#running--;
      return;
    }
    this.#queue.delete(next);
    next();
  }
}

export class Lanes {
  readonly #lanes: Record<Exclude<LaneName, "exempt">, Lane>;

  constructor(limits: Readonly<Record<Exclude<LaneName, "exempt">, LaneLimits>> = defaultLimits) {
    this.#lanes = {
      system: new Lane(limits.system),
      reading: new Lane(limits.reading),
      writing: new Lane(limits.writing),
    };
  }

  /** Runs the work when there is room for it. */
  async run<T>(name: LaneName, call: Call, work: () => Promise<T>): Promise<T> {
    if (name === "exempt") return work();
    const lane = this.#lanes[name];
    const wait = lane.enter(call);
    if (wait) await wait;
    try {
      return await work();
    } finally {
      lane.leave();
    }
  }

  /** For metrics: how many are worked on and wait, by lane. */
  *counts(): Generator<{ lane: string; running: number; waiting: number }> {
    for (const [lane, { running, waiting }] of Object.entries(this.#lanes)) yield { lane, running, waiting };
  }
}

const readingVerbs = new Set(["get", "list"]);
const passedOn = new Set(["log", "exec", "attach", "portforward", "proxy"]);

/** Watches and connections are long and cost little once begun; they are not counted. */
export function laneOf({ user, verb, resource }: Attributes): LaneName {
  if (verb === "watch" || !resource || passedOn.has(resource.subresource)) return "exempt";
  if (isSystem(user) || resource.plural === "leases") return "system";
  return readingVerbs.has(verb) ? "reading" : "writing";
}

function isSystem({ name, groups }: UserInfo): boolean {
  return (
    name.startsWith("system:kube-") ||
    name.startsWith("system:serviceaccount:kube-system:") ||
    groups.includes("system:masters") ||
    groups.includes("system:nodes")
  );
}
