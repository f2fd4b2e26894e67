// The node's keys and certificates on disk: the cluster's CA, who the node is, and what its API is served with.

import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { NodeDaemon } from "../../plugins/kit/kube/node-daemon.ts";
import { writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";
import { createKeyPair, parseCertificate } from "../../plugins/kit/os/x509.ts";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

const joiningKeyFile = "joining.key";

export type PairName = "client" | "serving" | NodeDaemon;

/** A pair is one file that is replaced whole, so a kill leaves the old or the new. */
export class NodeCredentials {
  readonly #dir: string;
  readonly #clock: Clock;

  constructor(dir: string, clock: Clock) {
    this.#dir = dir;
    this.#clock = clock;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  ca(): string | undefined {
    return read(join(this.#dir, "ca.crt"));
  }

  async keepCa(certificate: string): Promise<void> {
    await writeFileAtomic(join(this.#dir, "ca.crt"), certificate);
  }

  /** Undefined when there is none, or when it has ended. */
  pair(name: PairName): Pair | undefined {
    const text = read(join(this.#dir, `${name}.pem`));
    const match = text && /(-----BEGIN CERTIFICATE[^]*END CERTIFICATE-----\n)([^]*)/.exec(text);
    if (!match) return undefined;
    const pair = { cert: match[1] ?? "", key: match[2] ?? "" };
    return this.msLeft(pair) > 0 ? pair : undefined;
  }

  async keep(name: PairName, { cert, key }: Pair): Promise<void> {
    await writeFileAtomic(join(this.#dir, `${name}.pem`), `${cert.trimEnd()}\n${key.trimEnd()}\n`);
  }

  /**
   * The key that the node joins with. It is on disk before the cluster is asked: a join token is good for one key, and the answer may
   * be lost on its way.
   */
  async joiningKey(): Promise<string> {
    const path = join(this.#dir, joiningKeyFile);
    const known = read(path);
    if (known) return known;
    const { key } = createKeyPair();
    await writeFileAtomic(path, key);
    return key;
  }

  /** Once the certificate is kept, which has the key beside it. */
  forgetJoiningKey(): void {
    rmSync(join(this.#dir, joiningKeyFile), { force: true });
  }

  msLeft({ cert }: Pair): number {
    return parseCertificate(cert).notAfter - this.#clock.now();
  }

  /** Three quarters of its life are over: time to ask for the next. */
  isDue({ cert }: Pair): boolean {
    const { notBefore, notAfter } = parseCertificate(cert);
    return this.#clock.now() > notBefore + (notAfter - notBefore) * 0.75;
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
