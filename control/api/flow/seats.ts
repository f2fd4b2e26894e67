// Bounds how many requests are worked on at once, by priority level, so that a flood at one level never keeps out another.
// A level that is full lets some wait, each flow in a few queues of its own so that one cannot push out the rest, served in
// turn; beyond that the answer is 429 at once. A level may use what others lend and do not need at the moment.
// Invariant: `#levelsWaiting` are those with requests in a queue; it is empty unless the server is flooded.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { tooManyRequests } from "../../machinery/status.ts";
import { handOf } from "./hand.ts";

export interface LevelLimits {
  readonly atOnce: number;
  /** Of these, how many others may use while they are free. */
  readonly lendable: number;
  /** How many of others' it may use. */
  readonly borrowable: number;
  /** No queues: what does not fit is refused. */
  readonly queues: number;
  readonly handSize: number;
  readonly queueLength: number;
}

const retryAfterSeconds = 1;

class Level {
  limits: LevelLimits;
  running = 0;
  waiting = 0;
  /** By number, oldest first; only those that hold something. The first is served next. */
  readonly queues = new Map<number, Set<() => void>>();

  constructor(limits: LevelLimits) {
    this.limits = limits;
  }

  get borrowed(): number {
    return Math.max(0, this.running - this.limits.atOnce);
  }

  /** What it does not need now of what it lends. */
  get lent(): number {
    return Math.max(0, Math.min(this.limits.lendable, this.limits.atOnce - this.running));
  }
}

export class Seats {
  readonly #levels = new Map<string, Level>();
  readonly #levelsWaiting = new Set<Level>();

  /** Requests under way stay where they are. A level without limits is not bounded. */
  setLevels(limits: ReadonlyMap<string, LevelLimits>): void {
    for (const [name, level] of this.#levels) {
      if (limits.has(name)) continue;
      this.#levels.delete(name);
      // Nobody is left behind in a level that is gone.
      level.limits = { ...level.limits, atOnce: Number.POSITIVE_INFINITY };
    }
    for (const [name, own] of limits) {
      const level = this.#levels.get(name);
      if (level) level.limits = own;
      else this.#levels.set(name, new Level(own));
    }
    this.#serveWaiting();
  }

  /** Resolves when there is room, with how to leave again; `flow` is whose requests are one flow of the level. */
  async enter(name: string, flow: string, call: Call): Promise<() => void> {
    const level = this.#levels.get(name);
    if (!level) return () => {};
    if (this.#mayBegin(level)) level.running++;
    else await this.#queue(level, flow, call);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      level.running--;
      if (this.#levelsWaiting.size > 0) this.#serveWaiting();
    };
  }

  /** For metrics: how many are worked on and wait, by level. */
  *counts(): Generator<{ level: string; running: number; waiting: number; atOnce: number }> {
    for (const [level, { running, waiting, limits }] of this.#levels)
      yield { level, running, waiting, atOnce: limits.atOnce };
  }

  #mayBegin(level: Level): boolean {
    if (level.running < level.limits.atOnce) return true;
    if (level.borrowed >= level.limits.borrowable) return false;
    let free = 0;
    for (const one of this.#levels.values()) free += one.lent - one.borrowed;
    return free > 0;
  }

  #queue(level: Level, flow: string, call: Call): Promise<void> {
    const { queues, handSize, queueLength } = level.limits;
    const lengthOf = (number: number) => level.queues.get(number)?.size ?? 0;
    const hand = handOf(flow, queues, handSize);
    const shortest = hand.reduce((best, one) => (lengthOf(one) < lengthOf(best) ? one : best), hand[0] ?? 0);
    if (queues === 0 || lengthOf(shortest) >= queueLength)
      throw tooManyRequests("Too many requests, please try again later.", retryAfterSeconds);
    return new Promise((resolve, reject) => {
      const forget = () => {
        const queue = level.queues.get(shortest);
        queue?.delete(begin);
        if (queue?.size === 0) level.queues.delete(shortest);
        if (--level.waiting === 0) this.#levelsWaiting.delete(level);
        call.signal.removeEventListener("abort", leave);
      };
      const begin = () => {
        forget();
        level.running++;
        resolve();
      };
      const leave = () => {
        forget();
        reject(call.signal.reason);
      };
      call.signal.addEventListener("abort", leave, { once: true });
      const queue = level.queues.get(shortest) ?? new Set();
      level.queues.set(shortest, queue.add(begin));
      level.waiting++;
      this.#levelsWaiting.add(level);
    });
  }

  #serveWaiting(): void {
    for (const level of this.#levelsWaiting)
      while (level.waiting > 0 && this.#mayBegin(level)) {
        const [first] = level.queues;
        if (!first) break;
        const [number, queue] = first;
        const [begin] = queue;
        begin?.();
        // The next of this queue is served when the others had their turn.
        if (level.queues.delete(number) && queue.size > 0) level.queues.set(number, queue);
      }
  }
}
