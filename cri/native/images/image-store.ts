// Which images there are: one record per image id with its names, layers and settings. Owns garbage collection of what
// no image refers to any more.

import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { KeyedLock } from "../../../plugins/kit/base/keyed-lock.ts";
import { flushState, readStates } from "../state-file.ts";
import type { ContentStore } from "./content-store.ts";
import type { LayerStore } from "./layer-store.ts";
import type { ImageConfig } from "./manifest.ts";
import { formatReference, isDigest, parseReference, repositoryName } from "./reference.ts";

export interface ImageRecord {
  /** Digest of the image config: the image's id. */
  id: string;
  /** `registry/repository:tag`. */
  tags: string[];
  /** `registry/repository@sha256:…`. */
  digests: string[];
  /** Layer diff ids, lowest first. */
  layers: string[];
  /** Blobs kept for it: manifests and the config. */
  blobs: string[];
  bytes: number;
  config: ImageConfig;
  pinned: boolean;
}

const partialDownloadsKeptMs = 24 * 3600 * 1000;

export class ImageStore {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly #folder: string;
  readonly #images: Map<string, ImageRecord>;
  readonly #clock: Clock;
  /** Pulls under way: nothing is swept while there are any, because their layers belong to no image yet. */
  #busy = 0;
  #collecting: Promise<void> | undefined;
  /** Names move from image to image: one is added at a time. */
  readonly #adding = new KeyedLock();
  /** Layers of images that running containers stand on, although the image itself may be gone. */
  readonly #inUse: () => Iterable<string>;

  constructor(options: {
    root: string;
    content: ContentStore;
    layers: LayerStore;
    clock: Clock;
    inUse: () => Iterable<string>;
  }) {
    this.content = options.content;
    this.layers = options.layers;
    this.#clock = options.clock;
    this.#inUse = options.inUse;
    this.#folder = join(options.root, "images");
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#images = new Map(
      [...readStates<ImageRecord>(this.#folder).values()]
        // After a power cut a layer may be missing although the record is there: the image is then pulled again.
        .filter((image) => image.layers.every((diffId) => this.layers.has(diffId)))
        .map((image) => [image.id, image]),
    );
  }

  list(): ImageRecord[] {
    return [...this.#images.values()];
  }

  /** By id (whole, or a prefix of at least 8 digits), tag or digest. */
  find(name: string): ImageRecord | undefined {
    const byId = this.#images.get(name) ?? this.#images.get(`sha256:${name}`);
    if (byId) return byId;
    if (/^(sha256:)?[0-9a-f]{8,63}$/.test(name)) {
      const prefix = name.startsWith("sha256:") ? name : `sha256:${name}`;
      const found = this.list().filter((image) => image.id.startsWith(prefix));
      if (found.length === 1) return found[0];
    }
    if (isDigest(name) || name === "") return undefined;
    const reference = parseReference(name);
    if (reference.digest !== undefined) {
      const digest = `${repositoryName(reference)}@${reference.digest}`;
      return this.list().find((image) => image.digests.includes(digest));
    }
    const tag = formatReference(reference);
    return this.list().find((image) => image.tags.includes(tag));
  }

  get(name: string): ImageRecord {
    const image = this.find(name);
    if (!image) throw new Fault("not-found", `Cannot find image "${name}": it is not present`);
    return image;
  }

  /** Adds an image, or more names to one that is there. A tag names one image only: it moves. On the disk when it resolves. */
  add(image: ImageRecord): Promise<ImageRecord> {
    return this.#adding.run("", () => this.#add(image));
  }

  async #add(image: ImageRecord): Promise<ImageRecord> {
    for (const other of this.list()) {
      if (other.id === image.id || !other.tags.some((tag) => image.tags.includes(tag))) continue;
      await this.#write({ ...other, tags: other.tags.filter((tag) => !image.tags.includes(tag)) });
    }
    const before = this.#images.get(image.id);
    const merge = (mine: readonly string[] = [], more: readonly string[]) => [...new Set([...mine, ...more])];
    return this.#write({
      ...image,
      tags: merge(before?.tags, image.tags),
      digests: merge(before?.digests, image.digests),
      blobs: merge(before?.blobs, image.blobs),
      pinned: image.pinned || before?.pinned === true,
    });
  }

  async #write(image: ImageRecord): Promise<ImageRecord> {
    await flushState(join(this.#folder, `${image.id.slice(7)}.json`), image);
    this.#images.set(image.id, image);
    return image;
  }

  /** Removes the image with all its names, as CRI asks; what nothing else needs is swept. Idempotent. */
  async remove(name: string): Promise<void> {
    const image = this.find(name);
    if (!image) return;
    this.#images.delete(image.id);
    await rm(join(this.#folder, `${image.id.slice(7)}.json`), { force: true });
    await this.collectGarbage();
  }

  /** Runs work whose blobs and layers must not be swept before an image refers to them. */
  async busy<T>(work: () => Promise<T>): Promise<T> {
    while (this.#collecting) await this.#collecting;
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
    }
  }

  /** Does nothing while pulls are under way; pulls wait until it is done. */
  async collectGarbage(): Promise<void> {
    while (this.#collecting) await this.#collecting;
    if (this.#busy > 0) return;
    this.#collecting = this.#collect().finally(() => {
      this.#collecting = undefined;
    });
    await this.#collecting;
  }

  async #collect(): Promise<void> {
    const images = this.list();
    const layers = new Set([...images.flatMap((image) => image.layers), ...this.#inUse()]);
    await this.layers.sweep(layers);
    await this.content.sweep(
      new Set(images.flatMap((image) => image.blobs)),
      this.#clock.now() - partialDownloadsKeptMs,
    );
  }
}
