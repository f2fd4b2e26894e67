// Where this server may be reached, now and after its machine's addresses have changed.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { findAddresses } from "../../plugins/kit/os/net/own-addresses.ts";

export interface ServerAddresses {
  /** The one that pods and nodes are told. */
  readonly address: string;
  readonly all: readonly string[];
}

type FoundAddresses = ReturnType<typeof findAddresses>;

/** `nodeIp` is as an agent takes it: one address, or one of each family with a comma between. */
export function serverAddresses(nodeIp: unknown, found: FoundAddresses = findAddresses()): ServerAddresses {
  const given = String(nodeIp ?? "")
    .split(",")
    .map((ip) => ip.trim())
    .filter((ip) => ip !== "");
  const all = [...new Set([...given, ...found.own, ...found.all])];
  return { address: all[0] ?? "127.0.0.1", all };
}

const lookMs = 10_000;

/** The addresses as they were when last looked for. A machine that has lost all of them is still known by the last. */
export class OwnAddresses {
  readonly #nodeIp: unknown;
  readonly #find: () => FoundAddresses;
  #known: ServerAddresses;

  constructor(nodeIp: unknown, find: () => FoundAddresses = findAddresses) {
    this.#nodeIp = nodeIp;
    this.#find = find;
    this.#known = serverAddresses(nodeIp, find());
  }

  get address(): string {
    return this.#known.address;
  }

  get all(): readonly string[] {
    return this.#known.all;
  }

  /** Tells when they are others than before; returns what ends it. */
  follow(clock: Clock, then: (now: ServerAddresses, before: ServerAddresses) => void): () => void {
    let cancel: () => void;
    const look = () => {
      cancel = clock.after(lookMs, look);
      const now = serverAddresses(this.#nodeIp, this.#find());
      if (now.all.length === 0 || isSame(now, this.#known)) return;
      const before = this.#known;
      this.#known = now;
      then(now, before);
    };
    cancel = clock.after(lookMs, look);
    return () => cancel();
  }
}

function isSame(a: ServerAddresses, b: ServerAddresses): boolean {
  return a.address === b.address && [...a.all].sort().join() === [...b.all].sort().join();
}
