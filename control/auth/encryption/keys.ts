// The keys that secrets are sealed with, in one file beside the CA. The first seals; all of them open. A new key is made
// durable before anything is sealed with it, and an old one goes only when nothing is sealed with it any more.

import { randomBytes } from "node:crypto";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { readIfPresent, writeWhole } from "../pki/files.ts";

export interface EncryptionKey {
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Buffer;
}

export class EncryptionKeys {
  readonly #path: string;
  #keys: readonly EncryptionKey[];

  /** Makes the file with a first key when there is none. */
  constructor(path: string) {
    this.#path = path;
    const text = readIfPresent(path);
    this.#keys = text === undefined ? [] : parse(text, path);
    if (this.#keys.length === 0) this.#store([newKey()]);
  }

  get current(): EncryptionKey {
    const [first] = this.#keys;
    if (!first) throw new Fault("internal", "There is no encryption key");
    return first;
  }

  /** True while some key is kept only to open what was sealed before. */
  get hasOld(): boolean {
    return this.#keys.length > 1;
  }

  find(id: string): EncryptionKey | undefined {
    return this.#keys.find((key) => key.id === id);
  }

  /** From now on a new key seals. */
  add(): void {
    this.#store([newKey(), ...this.#keys]);
  }

  /** Opens with these, too, from now on; what they sealed is sealed anew when the store is opened next. */
  keep(others: readonly EncryptionKey[]): void {
    const unknown = new Map(others.filter(({ id }) => !this.find(id)).map((key) => [key.id, key]));
    if (unknown.size > 0) this.#store([...this.#keys, ...unknown.values()]);
  }

  /** Only when nothing is sealed with them any more. */
  dropOld(): void {
    if (this.hasOld) this.#store([this.current]);
  }

  #store(keys: readonly EncryptionKey[]): void {
    const content = { keys: keys.map(({ id, secret }) => ({ id, secret: secret.toString("base64") })) };
    writeWhole(this.#path, `${JSON.stringify(content, undefined, 2)}\n`);
    this.#keys = keys;
  }
}

const newKey = (): EncryptionKey => ({ id: randomBytes(4).toString("hex"), secret: randomBytes(32) });

function parse(text: string, path: string): EncryptionKey[] {
  try {
    const { keys } = JSON.parse(text) as { keys: { id: string; secret: string }[] };
    const read = keys.map(({ id, secret }) => ({ id, secret: Buffer.from(secret, "base64") }));
    if (read.length > 0 && read.every(({ id, secret }) => /^[0-9a-f]{8}$/.test(id) && secret.length === 32))
      return read;
  } catch (cause) {
    throw new Fault(
      "invalid",
      `Cannot use ${path}: it holds no encryption keys; without it stored secrets cannot be read`,
      { cause },
    );
  }
  throw new Fault("invalid", `Cannot use ${path}: a key in it is damaged; without it stored secrets cannot be read`);
}
