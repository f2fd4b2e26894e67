// CRI's ImageService over the image store.

import { join } from "node:path";
import type { ImageService } from "../../api/contract.ts";
import { PullBoard, type PullProgress } from "../../api/pull-board.ts";
import { type AuthConfig, type Image, ImageFsInfoResponse, ImageStatusResponse } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { ContentStore } from "./content-store.ts";
import type { PullOptions } from "./image-pull.ts";
import { type ImageRecord, ImageStore } from "./image-store.ts";
import { LayerStore } from "./layer-store.ts";
import type { UnpackLimits } from "./layer-unpack.ts";
import type { RegistryCredentials } from "./registry-config.ts";

export interface ImagesOptions extends Omit<PullOptions, "store" | "board"> {
  readonly root: string;
  readonly limits: UnpackLimits;
  readonly durable: boolean;
  /** Diff ids that containers stand on. */
  readonly inUse: () => Iterable<string>;
  /** Where containers keep what they write, and how much that is. */
  readonly containersDir: string;
  readonly containersUsage: (call: Call) => Promise<{ bytes: number; inodes: number }>;
}

export interface Images {
  readonly store: ImageStore;
  readonly service: ImageService;
  /** Imports every image of a `docker save` or OCI layout archive that fits this platform; returns their names. */
  importArchive(path: string, call: Call): Promise<string[]>;
  /** Those under way. */
  pulls(): readonly PullProgress[];
}

export async function openImages(options: ImagesOptions): Promise<Images> {
  const { root, limits, durable, clock, inUse } = options;
  const content = await ContentStore.open(root);
  const layers = new LayerStore({ root, limits, durable });
  const store = new ImageStore({ root, content, layers, clock, inUse });
  const board = new PullBoard();
  const pull: PullOptions = { ...options, store, board };
  return {
    store,
    service: imageService(store, pull, options),
    pulls: () => board.list(),
    async importArchive(path, call) {
      // Loaded on first use: most starts of a node pull nothing.
      const { importArchive } = await import("./archive-import.ts");
      const images = await importArchive(
        path,
        { store, platform: options.platform, scratch: join(root, "ingest"), limits },
        call,
      );
      return images.flatMap((image) => (image.tags.length > 0 ? image.tags : [image.id]));
    },
  };
}

function imageService(store: ImageStore, pull: PullOptions, options: ImagesOptions): ImageService {
  const named = (name: string | undefined, doing: string): string => {
    if (!name) throw new Fault("invalid", `Cannot ${doing} image: no image is named`);
    return name;
  };
  return {
    async listImages(request) {
      const name = request.filter?.image?.image;
      const found = name ? [store.find(name)].filter((image) => image !== undefined) : store.list();
      return { images: found.map(toImage) };
    },
    async imageStatus(request) {
      const image = store.find(named(request.image?.image, "show"));
      if (!image) return ImageStatusResponse.create({});
      const info: Record<string, string> = request.verbose
        ? { info: JSON.stringify({ imageSpec: image.config, layers: image.layers }) }
        : {};
      return ImageStatusResponse.create({ image: toImage(image), info });
    },
    async pullImage(request, call) {
      const name = named(request.image?.image, "pull");
      const { pullImage } = await import("./image-pull.ts");
      const image = await pullImage(name, toCredentials(request.auth), pull, call);
      return { imageRef: image.id };
    },
    async removeImage(request) {
      await store.remove(named(request.image?.image, "remove"));
      return {};
    },
    imageFsInfo: async (_request, call) => {
      const timestamp = BigInt(Math.round(options.clock.now())) * 1_000_000n;
      const usage = (mountpoint: string, used: { bytes: number; inodes: number }) => ({
        timestamp,
        fsId: { mountpoint },
        usedBytes: { value: BigInt(used.bytes) },
        inodesUsed: { value: BigInt(used.inodes) },
      });
      return ImageFsInfoResponse.create({
        imageFilesystems: [usage(options.root, store.layers.usage())],
        containerFilesystems: [usage(options.containersDir, await options.containersUsage(call))],
      });
    },
  };
}

function toCredentials(auth: AuthConfig | undefined): RegistryCredentials | undefined {
  if (!auth) return undefined;
  const { username, password, identityToken, registryToken } = auth;
  const isEmpty = !username && !password && !auth.auth && !identityToken && !registryToken;
  return isEmpty ? undefined : { username, password, auth: auth.auth, identityToken, registryToken };
}

function toImage(image: ImageRecord): Image {
  const user = (image.config.config.User ?? "").split(":")[0] as string;
  const isNumber = /^\d+$/.test(user);
  return {
    id: image.id,
    repoTags: image.tags,
    repoDigests: image.digests,
    size: BigInt(Math.max(1, image.bytes)),
    uid: isNumber ? { value: BigInt(user) } : user === "" ? { value: 0n } : undefined,
    username: isNumber ? "" : user,
    spec: {
      image: image.tags[0] ?? image.id,
      annotations: {},
      userSpecifiedImage: "",
      runtimeHandler: "",
      imageRef: image.id,
    },
    pinned: image.pinned,
  };
}
