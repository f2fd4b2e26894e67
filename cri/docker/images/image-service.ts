// CRI's ImageService over the daemon's images.

import type { ImageService } from "../../api/contract.ts";
import type { PullBoard } from "../../api/pull-board.ts";
import { ImageFsInfoResponse, ImageStatusResponse } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import { KeyedLock } from "../../../plugins/kit/base/keyed-lock.ts";
import type { Engine } from "../engine/engine.ts";
import type { EngineInfoCache } from "../engine/engine-info.ts";
import type { ImageInspect, ImageSummary } from "../engine/types.ts";
import { findImage, fullName, toImage } from "./image-view.ts";
import { pullImage } from "./image-pull.ts";

export interface DockerImagesOptions {
  readonly engine: Engine;
  readonly info: Pick<EngineInfoCache, "now">;
  readonly clock: Clock;
  /** Never collected. */
  readonly sandboxImage: string;
  /** Where it is told how far each pull is. */
  readonly board: PullBoard;
}

/** The daemon adds up sizes by walking folders: asked at most this often. */
const freshMs = 60_000;

export function imageService({ engine, info, clock, sandboxImage, board }: DockerImagesOptions): ImageService {
  const usage = new ImageUsage(engine, () => info.now().DockerRootDir, clock);
  const removals = new KeyedLock();
  const isPinned = (image: ImageSummary) => (image.RepoTags ?? []).map(fullName).includes(fullName(sandboxImage));
  const named = (name: string | undefined, doing: string): string => {
    if (!name) throw new Fault("invalid", `Cannot ${doing} image: no image is named`);
    return name;
  };
  const shown = (image: ImageInspect) => toImage(image, isPinned(image));
  return {
    async listImages({ filter }, call) {
      if (filter?.image?.image) {
        const found = await findImage(engine, filter.image.image, call);
        return { images: found ? [shown(found)] : [] };
      }
      const all = await engine.get<ImageSummary[]>("/images/json", {}, call);
      // The list lacks the user, without which the kubelet cannot check runAsNonRoot.
      const images = await Promise.all(all.map(({ Id }) => findImage(engine, Id, call)));
      return { images: images.filter((image) => image !== undefined).map(shown) };
    },
    async imageStatus({ image, verbose }, call) {
      const found = await findImage(engine, named(image?.image, "show"), call);
      if (!found) return ImageStatusResponse.create({});
      const info: Record<string, string> = verbose ? { info: JSON.stringify(found) } : {};
      return ImageStatusResponse.create({ image: shown(found), info });
    },
    pullImage: async (request, call) => ({ imageRef: await pullImage(engine, request, board, call) }),
    async removeImage({ image }, call) {
      const found = await findImage(engine, named(image?.image, "remove"), call);
      if (!found) return {};
      // The daemon calls an image gone that it is still removing for another: one at a time, so that whoever is answered finds none.
      await removals.run(found.Id, async () => {
        try {
          await engine.call("DELETE", `/images/${found.Id}`, { query: { force: true } }, call);
        } catch (error) {
          if (!isFault(error, "not-found")) throw error;
        }
      });
      return {};
    },
    async imageFsInfo(_request, call) {
      const { root, bytes } = await usage.now(call);
      const timestamp = BigInt(Math.round(clock.now())) * 1_000_000n;
      const used = { timestamp, fsId: { mountpoint: root }, usedBytes: { value: BigInt(bytes) } };
      return ImageFsInfoResponse.create({ imageFilesystems: [used], containerFilesystems: [used] });
    },
  };
}

class ImageUsage {
  readonly #engine: Engine;
  readonly #root: () => string;
  readonly #clock: Clock;
  #known: { at: number; usage: Promise<{ root: string; bytes: number }> } | undefined;

  constructor(engine: Engine, root: () => string, clock: Clock) {
    this.#engine = engine;
    this.#root = root;
    this.#clock = clock;
  }

  now(call: Call): Promise<{ root: string; bytes: number }> {
    const at = this.#clock.monotonic();
    if (this.#known && at - this.#known.at < freshMs) return this.#known.usage;
    const usage = this.#ask(call);
    this.#known = { at, usage };
    // An answer that failed must not stand for a minute.
    usage.catch(() => (this.#known = undefined));
    return usage;
  }

  async #ask(call: Call): Promise<{ root: string; bytes: number }> {
    const query = (await this.#engine.speaks(42, call)) ? { type: "image" } : {};
    const { LayersSize = 0 } = await this.#engine.get<{ LayersSize?: number }>("/system/df", query, call);
    return { root: this.#root(), bytes: LayersSize };
  }
}
