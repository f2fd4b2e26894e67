// Imports image archives as `docker save` and OCI layout tools write them, compressed or not. Blobs go through the same store
// and the same checks as pulled ones; entry names are only looked up, never used as paths on disk.

import { createReadStream } from "node:fs";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { collect, digestOf } from "./content-store.ts";
import { decompress } from "./decompress.ts";
import { addImage, checkLayers } from "./image-pull.ts";
import type { ImageRecord, ImageStore } from "./image-store.ts";
import { maxDocumentBytes, parseImageConfig, parseManifest, type Platform } from "./manifest.ts";
import { choosePlatform } from "./platform.ts";
import { formatReference, parseReference, repositoryName } from "./reference.ts";
import { readTar } from "./tar-reader.ts";

export interface ImportOptions {
  readonly store: ImageStore;
  readonly platform: Platform;
  /** Where the archive's members are kept while it is read; made and removed by the import. */
  readonly scratch: string;
  readonly limits: { readonly entries: number; readonly bytes: number };
}

const smallBytes = 64 * 1024;
const maxHeldBytes = 16 * 1024 * 1024;
/** Layers, configs and manifests; what is inside the layers is counted apart. */
const maxMembers = 20_000;

/** Members of the archive by name: small ones in memory, others as numbered files. */
class Members {
  readonly #folder: string;
  readonly #small = new Map<string, Buffer>();
  readonly #files = new Map<string, string>();
  readonly #links = new Map<string, string>();
  #heldBytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(archive: string, limits: ImportOptions["limits"], call: Call): Promise<void> {
    let bytes = 0;
    let entries = 0;
    for await (const entry of readTar(decompress(createReadStream(archive, { highWaterMark: 256 * 1024 })))) {
      call.signal.throwIfAborted();
      const name = clean(entry.name);
      bytes += entry.size;
      if (++entries > maxMembers || bytes > limits.bytes) {
        throw new Fault("invalid", `Cannot import "${archive}": it is larger than an image may be`);
      }
      if (entry.type === "symlink") this.#links.set(name, clean(join(name, "..", entry.linkName)));
      if (entry.type === "hardlink") this.#links.set(name, clean(entry.linkName));
      if (entry.type !== "file") continue;
      const isSmall = entry.size <= smallBytes || (name.endsWith(".json") && entry.size <= maxDocumentBytes);
      if (isSmall && this.#heldBytes + entry.size <= maxHeldBytes) {
        this.#heldBytes += entry.size;
        this.#small.set(name, await collect(entry.content, name));
        continue;
      }
      const path = join(this.#folder, String(this.#files.size));
      const file = await open(path, "wx", 0o600);
      try {
        for await (const chunk of entry.content) await file.write(chunk);
      } finally {
        await file.close();
      }
      this.#files.set(name, path);
    }
  }

  #resolve(name: string): string {
    let at = clean(name);
    for (let hops = 0; hops < 10; hops++) {
      const next = this.#links.get(at);
      if (next === undefined) break;
      at = next;
    }
    return at;
  }

  has(name: string): boolean {
    const at = this.#resolve(name);
    return this.#small.has(at) || this.#files.has(at);
  }

  async *stream(name: string): AsyncGenerator<Uint8Array, void, void> {
    const at = this.#resolve(name);
    const small = this.#small.get(at);
    const path = this.#files.get(at);
    if (small) yield small;
    else if (path) yield* createReadStream(path, { highWaterMark: 256 * 1024 });
    else throw new Fault("invalid", `Cannot import archive: it lacks "${name}"`);
  }

  bytes(name: string): Promise<Buffer> {
    return collect(this.stream(name), name, maxDocumentBytes);
  }
}

const clean = (name: string) =>
  name
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");

/** Every image of the archive that fits this platform. Importing again is harmless. */
export async function importArchive(path: string, options: ImportOptions, call: Call): Promise<ImageRecord[]> {
  const folder = join(options.scratch, `import-${process.pid}-${process.hrtime.bigint()}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    const members = new Members(folder);
    await members.read(path, options.limits, call);
    return await options.store.busy(async () => {
      if (members.has("index.json")) return await importLayout(members, options, call);
      if (members.has("manifest.json")) return await importDockerSave(members, options, call);
      throw new Fault("invalid", `Cannot import "${path}": it has neither index.json nor manifest.json`);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const blobName = (digest: string) => `blobs/sha256/${digest.slice("sha256:".length)}`;

async function importLayout(members: Members, options: ImportOptions, call: Call): Promise<ImageRecord[]> {
  const index = JSON.parse((await members.bytes("index.json")).toString("utf8")) as { manifests?: unknown };
  if (!Array.isArray(index.manifests))
    throw new Fault("invalid", `Cannot import archive: index.json lists no manifests`);
  const images: ImageRecord[] = [];
  for (const raw of index.manifests as { digest?: string; annotations?: Record<string, string> }[]) {
    const top = await verified(members, raw.digest ?? "");
    const documents = [top];
    let parsed = parseManifest(top, "manifest");
    for (let depth = 0; "index" in parsed; depth++) {
      if (depth === 2) throw new Fault("invalid", "Cannot import archive: its indexes are nested too deep");
      // Partial exports list platforms they do not hold.
      const present = parsed.index.filter(({ digest }) => members.has(blobName(digest)));
      const bytes = await verified(members, choosePlatform(present, options.platform, "of the archive").digest);
      documents.push(bytes);
      parsed = parseManifest(bytes, "manifest");
    }
    const { manifest } = parsed;
    const configBytes = await verified(members, manifest.config.digest);
    const config = parseImageConfig(configBytes, "config");
    checkLayers(manifest, config, "of the archive");
    for (const [at, layer] of manifest.layers.entries()) {
      await options.store.layers.ensure(
        config.rootfs.diffIds[at] as string,
        () => members.stream(blobName(layer.digest)),
        call,
      );
    }
    const notes = raw.annotations ?? {};
    const name = notes["io.containerd.image.name"] ?? notes["org.opencontainers.image.ref.name"];
    const tags = name && /[/:]/.test(name) ? [tagOf(name)] : [];
    const digests = tags.map((tag) => `${repositoryName(parseReference(tag))}@${digestOf(top)}`);
    const compressedBytes = manifest.layers.reduce((sum, layer) => sum + layer.size, 0);
    images.push(
      await addImage(options.store, { documents: [...documents, configBytes], config, tags, digests, compressedBytes }),
    );
  }
  return images;
}

const tagOf = (name: string) => formatReference(parseReference(name));

async function verified(members: Members, digest: string): Promise<Buffer> {
  const bytes = await members.bytes(blobName(digest));
  if (digestOf(bytes) !== digest)
    throw new Fault("invalid", `Cannot import archive: blob ${digest} is ${digestOf(bytes)}`);
  return bytes;
}

async function importDockerSave(members: Members, options: ImportOptions, call: Call): Promise<ImageRecord[]> {
  const list = JSON.parse((await members.bytes("manifest.json")).toString("utf8")) as unknown;
  if (!Array.isArray(list)) throw new Fault("invalid", "Cannot import archive: manifest.json is not a list");
  const images: ImageRecord[] = [];
  for (const one of list as { Config?: string; RepoTags?: string[] | null; Layers?: string[] }[]) {
    const configBytes = await members.bytes(one.Config ?? "");
    const config = parseImageConfig(configBytes, "config");
    const layers = one.Layers ?? [];
    if (layers.length !== config.rootfs.diffIds.length) {
      throw new Fault(
        "invalid",
        `Cannot import archive: ${layers.length} layers and ${config.rootfs.diffIds.length} diff ids`,
      );
    }
    for (const [at, layer] of layers.entries()) {
      await options.store.layers.ensure(config.rootfs.diffIds[at] as string, () => members.stream(layer), call);
    }
    const compressedBytes = config.rootfs.diffIds.reduce((sum, diffId) => sum + options.store.layers.bytes(diffId), 0);
    const tags = (one.RepoTags ?? []).map(tagOf);
    images.push(
      await addImage(options.store, { documents: [configBytes], config, tags, digests: [], compressedBytes }),
    );
  }
  return images;
}
