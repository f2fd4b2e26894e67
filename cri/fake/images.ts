// The fake's images: present ones, and ones that a pull finds.

import { createHash } from "node:crypto";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ImageService } from "../api/contract.ts";
import { Image, ImageStatusResponse } from "../api/gen/runtime.js";
import { type FakeWorld, nanoseconds } from "./world.ts";

export interface ImageOptions {
  readonly world: FakeWorld;
  readonly clock: Clock;
  /** Whether a registry has the image. */
  readonly canPull: (name: string) => boolean;
}

/** Puts an image into the world, as a finished pull would. */
export function addImage(world: FakeWorld, name: string, changes: Partial<Image> = {}): Image {
  const digest = `sha256:${createHash("sha256").update(name).digest("hex")}`;
  const repository = name.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  const tag = name.includes("@") ? [] : [name.slice(repository.length).startsWith(":") ? name : `${name}:latest`];
  const image = Image.create({
    id: digest,
    repoTags: tag,
    repoDigests: [name.includes("@") ? name : `${repository}@${digest}`],
    size: 1_000_000n,
    ...changes,
  });
  world.images.set(image.id, image);
  return image;
}

export function fakeImages({ world, clock, canPull }: ImageOptions): ImageService {
  return {
    async listImages({ filter }) {
      const wanted = filter?.image?.image;
      if (!wanted) return { images: [...world.images.values()] };
      const image = world.image(wanted);
      return { images: image ? [image] : [] };
    },
    async imageStatus({ image, verbose }) {
      const found = world.image(image?.image ?? "");
      return ImageStatusResponse.create({
        ...(found ? { image: found } : {}),
        info: verbose && found ? { info: "{}" } : {},
      });
    },
    async pullImage({ image }) {
      const name = image?.image ?? "";
      if (!name) throw new Fault("invalid", "Cannot pull an image without a name");
      if (!canPull(name)) throw new Fault("not-found", `Cannot pull image "${name}": the registry does not have it`);
      const { id } = world.image(name) ?? addImage(world, name);
      return { imageRef: id };
    },
    async removeImage({ image }) {
      const found = world.image(image?.image ?? "");
      if (found) world.images.delete(found.id);
      return {};
    },
    async imageFsInfo() {
      const images = [...world.images.values()];
      const usage = {
        timestamp: nanoseconds(clock),
        fsId: { mountpoint: "/var/lib/fake" },
        usedBytes: { value: images.reduce((sum, image) => sum + image.size, 0n) },
        inodesUsed: { value: BigInt(images.length) },
      };
      return { imageFilesystems: [usage], containerFilesystems: [usage] };
    },
  };
}
