// Removes images that no container uses: the least recently used ones when the disk is nearly full, and those unused for too long.

import type { ImageService } from "../../cri/api/contract.ts";
import { type Image, ImageFsInfoRequest, ImageSpec, ListImagesRequest } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ImageGcConfig } from "../config/agent-config.ts";
import { fileSystem } from "../host/machine.ts";
import type { EventSubject, Recorder } from "../model/recorder.ts";

const lookMs = 300_000;

export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: number;
  readonly firstSeenAt: number;
  readonly lastUsedAt: number;
  readonly isUsed: boolean;
  readonly isPinned: boolean;
}

/** Which images to remove, in order, to free so many bytes; those unused for too long go in any case. Pure. */
export function imagesToRemove(
  records: readonly ImageRecord[],
  bytesToFree: number,
  config: Pick<ImageGcConfig, "minAgeMs" | "maxAgeMs">,
  now: number,
): string[] {
  const free = records
    .filter((record) => !record.isUsed && !record.isPinned)
    .sort((a, b) => a.lastUsedAt - b.lastUsedAt || a.firstSeenAt - b.firstSeenAt);
  const remove: string[] = [];
  let left = bytesToFree;
  for (const record of free) {
    const isTooOld = config.maxAgeMs > 0 && now - Math.max(record.lastUsedAt, record.firstSeenAt) > config.maxAgeMs;
    const isWanted = left > 0 && now - record.firstSeenAt >= config.minAgeMs;
    if (!isTooOld && !isWanted) continue;
    remove.push(record.id);
    left -= record.sizeBytes;
  }
  return remove;
}

export interface ImageGcOptions {
  readonly image: ImageService;
  /** Ids and names of images that containers use. */
  readonly used: () => ReadonlySet<string>;
  readonly config: ImageGcConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly recorder: Recorder;
  /** Events are about it. */
  readonly node: EventSubject;
  readonly fileSystem?: typeof fileSystem;
}

export class ImageGc {
  readonly #options: ImageGcOptions;
  readonly #times = new Map<string, { firstSeenAt: number; lastUsedAt: number }>();

  constructor(options: ImageGcOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    const { log, recorder, node } = this.#options;
    let hasFailed = false;
    while (!call.signal.aborted) {
      try {
        await this.collect(call);
        hasFailed = false;
      } catch (error) {
        if (call.signal.aborted) return;
        log.warn({ err: error }, "cannot remove unused images");
        // Once may be a passing trouble.
        if (hasFailed) recorder.event(node, "Warning", "ImageGCFailed", (error as Error).message);
        hasFailed = true;
      }
      await this.#options.clock.sleep(lookMs, call).catch(() => {});
    }
  }

  /** Where images lie; undefined while the runtime does not tell. */
  async directory(call: Call): Promise<string | undefined> {
    const { imageFilesystems } = await this.#options.image.imageFsInfo(ImageFsInfoRequest.create({}), call);
    return imageFilesystems[0]?.fsId?.mountpoint;
  }

  /** Looks once. Fault where the disk is nearly full and too little can be removed. */
  async collect(call: Call, options: { everything?: boolean } = {}): Promise<void> {
    const { image, config, clock, log, recorder, node } = this.#options;
    const { images } = await image.listImages(ListImagesRequest.create({}), call);
    const records = this.#records(images);
    const bytes = options.everything ? Infinity : await this.#excess(call);
    const remove = imagesToRemove(records, bytes, config, clock.monotonic());
    let freed = 0;
    for (const id of remove) {
      try {
        await image.removeImage({ image: ImageSpec.create({ image: id }) }, call);
        log.info({ image: id }, "removed an unused image");
        freed += records.find((record) => record.id === id)?.sizeBytes ?? 0;
      } catch (error) {
        log.warn({ image: id, err: error }, "cannot remove an image");
      }
    }
    if (options.everything || freed >= bytes) return;
    const message = `Failed to garbage collect required amount of images. Attempted to free ${Math.ceil(bytes)} bytes, but only found ${freed} bytes eligible to free.`;
    recorder.event(node, "Warning", "FreeDiskSpaceFailed", message);
    throw new Fault("unavailable", message);
  }

  /** Bytes above the low mark once the high mark is crossed. */
  async #excess(call: Call): Promise<number> {
    const { config } = this.#options;
    const dir = await this.directory(call);
    if (!dir) return 0;
    const { bytes, availableBytes } = (this.#options.fileSystem ?? fileSystem)(dir);
    if (bytes === 0) {
      const message = "invalid capacity 0 on image filesystem";
      this.#options.recorder.event(this.#options.node, "Warning", "InvalidDiskCapacity", message);
      throw new Fault("unavailable", message);
    }
    const usedPercent = 100 - (availableBytes * 100) / bytes;
    if (usedPercent < config.highPercent) return 0;
    return (bytes * (100 - config.lowPercent)) / 100 - availableBytes;
  }

  #records(images: readonly Image[]): ImageRecord[] {
    // Not wall time: when a wrong clock is set, no image gets older by it.
    const now = this.#options.clock.monotonic();
    const used = this.#options.used();
    const ids = new Set(images.map(({ id }) => id));
    for (const id of this.#times.keys()) if (!ids.has(id)) this.#times.delete(id);
    return images.map(({ id, repoTags, repoDigests, size, pinned }) => {
      const isUsed = [id, ...repoTags, ...repoDigests].some((name) => used.has(name));
      const times = this.#times.get(id) ?? { firstSeenAt: now, lastUsedAt: 0 };
      if (isUsed) times.lastUsedAt = now;
      this.#times.set(id, times);
      return { id, sizeBytes: Number(size), ...times, isUsed, isPinned: pinned };
    });
  }
}
