// Blobs by digest on disk. A blob under its name is whole and verified; what is still arriving lies in `ingest/` and
// is continued where it stopped. Safe against a crash at any point; one process owns a store.

import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type Descriptor, maxDocumentBytes } from "./manifest.ts";

/** Yields the bytes from `offset` on; may end early by throwing, and is then asked again from where it stopped. */
export type BlobSource = (offset: number, call: Call) => AsyncIterable<Uint8Array>;

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export class ContentStore {
  readonly #blobs: string;
  readonly #ingest: string;
  readonly #arriving = new Map<string, Promise<void>>();

  private constructor(root: string) {
    this.#blobs = join(root, "blobs");
    this.#ingest = join(root, "ingest");
  }

  static async open(root: string): Promise<ContentStore> {
    const store = new ContentStore(root);
    await mkdir(store.#blobs, { recursive: true, mode: 0o700 });
    await mkdir(store.#ingest, { recursive: true, mode: 0o700 });
    return store;
  }

  path(digest: string): string {
    return join(this.#blobs, digest.slice("sha256:".length));
  }

  async has(digest: string): Promise<boolean> {
    return stat(this.path(digest)).then(
      () => true,
      () => false,
    );
  }

  /** A whole document, such as a manifest. */
  async read(digest: string): Promise<Uint8Array> {
    try {
      return await readFile(this.path(digest));
    } catch (cause) {
      throw new Fault("not-found", `Cannot read blob ${digest}: it is not in the content store`, { cause });
    }
  }

  stream(digest: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.path(digest), { highWaterMark: 256 * 1024 });
  }

  async put(bytes: Uint8Array): Promise<string> {
    const digest = digestOf(bytes);
    const temporary = join(this.#ingest, `${digest.slice(7)}.put-${process.hrtime.bigint()}`);
    await writeFile(temporary, bytes, { flush: true });
    await rename(temporary, this.path(digest));
    return digest;
  }

  /** Brings the blob in unless it is there; callers of one digest share the work. Idempotent. */
  async ensure(blob: Descriptor, source: BlobSource, call: Call): Promise<void> {
    while (!(await this.has(blob.digest))) {
      const other = this.#arriving.get(blob.digest);
      if (other) {
        // Its failure is the other caller's to tell; this one then tries by itself.
        await other.catch(() => {});
        call.signal.throwIfAborted();
        continue;
      }
      const mine = this.#receive(blob, source, call).finally(() => this.#arriving.delete(blob.digest));
      this.#arriving.set(blob.digest, mine);
      await mine;
    }
  }

  async #receive(blob: Descriptor, source: BlobSource, call: Call): Promise<void> {
    const partial = join(this.#ingest, blob.digest.slice("sha256:".length));
    const hash = createHash("sha256");
    const file = await open(partial, "a+", 0o600);
    let size = 0;
    try {
      size = await hashExisting(partial, hash);
      if (size < blob.size) {
        for await (const chunk of source(size, call)) {
          call.signal.throwIfAborted();
          size += chunk.length;
          if (size > blob.size) break;
          hash.update(chunk);
          await file.write(chunk);
        }
      }
    } finally {
      await file.close();
    }
    if (size < blob.size) {
      throw new Fault(
        "unavailable",
        `Cannot receive blob ${blob.digest}: it ended after ${size} of ${blob.size} bytes`,
      );
    }
    const got = `sha256:${hash.digest("hex")}`;
    if (size > blob.size || got !== blob.digest) {
      await rm(partial, { force: true });
      const found = size > blob.size ? `more than ${blob.size} bytes` : `digest ${got}`;
      throw new Fault("invalid", `Cannot accept blob ${blob.digest}: what arrived has ${found}`);
    }
    await rename(partial, this.path(blob.digest));
  }

  async remove(digest: string): Promise<void> {
    await rm(this.path(digest), { force: true });
  }

  /** Removes every blob that is not wanted, and partial downloads that nobody is receiving and nobody touched since. */
  async sweep(wanted: ReadonlySet<string>, partialsOlderThan: number): Promise<void> {
    for (const name of await readdir(this.#blobs)) {
      if (!wanted.has(`sha256:${name}`)) await rm(join(this.#blobs, name), { force: true });
    }
    for (const name of await readdir(this.#ingest)) {
      if (this.#arriving.has(`sha256:${name}`)) continue;
      const path = join(this.#ingest, name);
      const age = await stat(path).catch(() => undefined);
      if (age && age.mtimeMs < partialsOlderThan) await rm(path, { force: true });
    }
  }
}

async function hashExisting(path: string, hash: Hash): Promise<number> {
  let size = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(chunk as Uint8Array);
    size += (chunk as Uint8Array).length;
  }
  return size;
}

/** Collects a small document from a stream and refuses a large one. */
export async function collect(
  source: AsyncIterable<Uint8Array>,
  what: string,
  limit = maxDocumentBytes,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > limit) throw new Fault("invalid", `Cannot read ${what}: it is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
