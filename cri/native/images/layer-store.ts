// Unpacked layers by diff id, shared by all images. A layer with a record is whole; one without is left over and swept.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { removeTree } from "../../../plugins/kit/os/safe-files/remove-tree.ts";
import { libc } from "../kernel/libc.ts";
import { flushState, readStates, writeState } from "../state-file.ts";
import { decompress } from "./decompress.ts";
import { realFolder } from "./layer-root.ts";
import { type UnpackLimits, unpackLayer } from "./layer-unpack.ts";

interface LayerRecord {
  diffId: string;
  bytes: number;
  entries: number;
  implied: string[];
}

export interface LayerStoreOptions {
  readonly root: string;
  readonly limits: UnpackLimits;
  /** Write everything back before a layer counts as whole, so that a power cut cannot leave half a file in it. */
  readonly durable: boolean;
}

/** Room that unpacking never takes, whatever an image claims. */
const reserveBytes = 32 * 1024 * 1024;

export class LayerStore {
  readonly #folders: string;
  readonly #records: string;
  readonly #options: LayerStoreOptions;
  readonly #layers: Map<string, LayerRecord>;
  readonly #unpacking = new Map<string, Promise<void>>();
  #counter = 0;

  constructor(options: LayerStoreOptions) {
    this.#options = options;
    this.#folders = join(options.root, "l");
    this.#records = join(options.root, "layers");
    mkdirSync(this.#folders, { recursive: true, mode: 0o700 });
    mkdirSync(this.#records, { recursive: true, mode: 0o700 });
    const found = [...readStates<LayerRecord>(this.#records).values()];
    this.#layers = new Map(found.filter(({ diffId }) => existsSync(this.path(diffId))).map((one) => [one.diffId, one]));
  }

  /** The folder of a layer. Short, because all of an image's must fit the kernel's one page of mount options. */
  path(diffId: string): string {
    return join(this.#folders, diffId.slice("sha256:".length, "sha256:".length + 32));
  }

  has(diffId: string): boolean {
    return this.#layers.has(diffId);
  }

  bytes(diffId: string): number {
    return this.#layers.get(diffId)?.bytes ?? 0;
  }

  /** What all layers hold, as counted when they were unpacked: a card is too slow to be walked. */
  usage(): { bytes: number; inodes: number } {
    const all = [...this.#layers.values()];
    return {
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      inodes: all.reduce((sum, { entries }) => sum + entries, 0),
    };
  }

  /** Unpacks the layer unless it is there; callers of one diff id share the work. */
  async ensure(diffId: string, open: () => AsyncIterable<Uint8Array>, call: Call): Promise<void> {
    while (!this.has(diffId)) {
      const other = this.#unpacking.get(diffId);
      if (other) {
        // Its failure is the other caller's to tell; this one then tries by itself.
        await other.catch(() => {});
        call.signal.throwIfAborted();
        continue;
      }
      const mine = this.#unpack(diffId, open(), call).finally(() => this.#unpacking.delete(diffId));
      this.#unpacking.set(diffId, mine);
      await mine;
    }
  }

  async #unpack(diffId: string, compressed: AsyncIterable<Uint8Array>, call: Call): Promise<void> {
    const temporary = join(this.#folders, `.${process.pid}-${++this.#counter}`);
    mkdirSync(temporary, { mode: 0o755 });
    try {
      const disk = await statfs(this.#folders);
      const free = Math.max(0, disk.bavail * disk.bsize - reserveBytes);
      const limits = { entries: this.#options.limits.entries, bytes: Math.min(this.#options.limits.bytes, free) };
      const hash = createHash("sha256");
      const plain = hashed(decompress(compressed), hash, limits);
      const unpacked = await unpackLayer(plain, temporary, limits, call);
      const got = `sha256:${hash.digest("hex")}`;
      if (got !== diffId) throw new Fault("invalid", `Cannot accept image layer ${diffId}: unpacked it is ${got}`);
      if (this.#options.durable) await libc.syncfsAsync(temporary);
      await removeTree(this.path(diffId));
      await rename(temporary, this.path(diffId));
      const record: LayerRecord = { diffId, ...unpacked };
      const path = join(this.#records, `${diffId.slice(7)}.json`);
      if (this.#options.durable) await flushState(path, record);
      else writeState(path, record);
      this.#layers.set(diffId, record);
    } catch (error) {
      await removeTree(temporary);
      throw error;
    }
  }

  /** Gives folders that an archive only implied the owner and mode they have in the layers below, nearest first. */
  adoptImplied(diffIds: readonly string[]): void {
    for (const [index, diffId] of diffIds.entries()) {
      for (const folder of this.#layers.get(diffId)?.implied ?? []) {
        const own = realFolder(this.path(diffId), folder);
        if (!own) continue;
        for (const below of diffIds.slice(0, index).reverse()) {
          const found = realFolder(this.path(below), folder);
          if (!found) continue;
          const { uid, gid, mode } = found.stats();
          found.close();
          own.own({ uid, gid, mode: mode & 0o7777 });
          break;
        }
        own.close();
      }
    }
  }

  /** Removes layers that are not wanted, and whatever a crash left half unpacked. */
  async sweep(wanted: ReadonlySet<string>): Promise<void> {
    for (const diffId of this.#layers.keys()) {
      if (wanted.has(diffId)) continue;
      this.#layers.delete(diffId);
      await rm(join(this.#records, `${diffId.slice(7)}.json`), { force: true });
    }
    const kept = new Set([...this.#layers.keys(), ...this.#unpacking.keys()].map((diffId) => this.path(diffId)));
    for (const name of readdirSync(this.#folders)) {
      const isOurs = name.startsWith(`.${process.pid}-`) && this.#unpacking.size > 0;
      if (isOurs || kept.has(join(this.#folders, name))) continue;
      await removeTree(join(this.#folders, name));
    }
  }
}

/** Hashes what passes, and stops a stream that grows past what its files may hold plus their headers. */
async function* hashed(
  source: AsyncIterable<Uint8Array>,
  hash: { update(chunk: Uint8Array): unknown },
  limits: UnpackLimits,
): AsyncGenerator<Uint8Array, void, void> {
  let left = limits.bytes + limits.entries * 4096;
  for await (const chunk of source) {
    left -= chunk.length;
    if (left < 0) throw new Fault("invalid", `Cannot unpack image layer: it is larger than ${limits.bytes} bytes`);
    hash.update(chunk);
    yield chunk;
  }
}
