// Disk use of the node, of images, and of each pod: volumes, logs and what containers wrote into their root.

import { basename, dirname } from "node:path";
import type { Runtime } from "../../cri/api/contract.ts";
import { ListContainerStatsRequest } from "../../cri/api/gen/runtime.js";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { VolumeUsage } from "../../plugins/kit/contracts/volume.ts";
import type { VolumeOnDisk } from "../volumes/pod-directories.ts";
import { fileSystemTypes } from "../../plugins/kit/os/platform/mount.ts";
import type { FileSystemUse } from "../../plugins/kit/os/platform/file-system-use.ts";
import { Disk, type DiskUse, fileSystemAt } from "./disk.ts";
import { ForeignDisk } from "./foreign-disk.ts";
import type { PodUsage } from "./usage.ts";

export interface DiskViewOptions {
  readonly runtime: Runtime;
  /** The folder below which the node keeps everything. */
  readonly dataDir: string;
  readonly volumesOf: (podUid: string) => readonly VolumeOnDisk[];
  /** For volumes whose plugin knows better than the file system how full they are. */
  readonly usageOf?: (volume: VolumeOnDisk, call: Call) => Promise<VolumeUsage | undefined>;
  readonly clock: Clock;
}

export interface VolumeUse extends DiskUse {
  readonly name: string;
  readonly fileSystem: FileSystemUse | undefined;
}

export interface PodDisk {
  readonly volumes: readonly VolumeUse[];
  /** By container id. */
  readonly logs: ReadonlyMap<string, DiskUse>;
  readonly roots: ReadonlyMap<string, { readonly bytes: number; readonly inodes: number }>;
}

export interface NodeDisk {
  readonly node: FileSystemUse | undefined;
  readonly images: FileSystemUse | undefined;
  readonly imageBytes: number;
  readonly pods: ReadonlyMap<string, PodDisk>;
}

const rootsForMs = 30_000;
const askMs = 5_000;
/** What the node itself keeps in memory for a pod is counted like its folders. */
const inMemory = new Set(["tmpfs", "hugetlbfs"]);

export class DiskView {
  readonly #options: DiskViewOptions;
  readonly #disk: Disk;
  readonly #foreign: ForeignDisk;
  #roots: { until: number; value: Promise<PodDisk["roots"]> } | undefined;

  constructor(options: DiskViewOptions) {
    this.#options = options;
    this.#disk = new Disk(options.clock);
    this.#foreign = new ForeignDisk(options.clock);
  }

  async look(pods: readonly PodUsage[]): Promise<NodeDisk> {
    const walked = new Set<string>();
    const of = (path: string) => {
      walked.add(path);
      return this.#disk.of(path);
    };
    const roots = await this.#rootsNow();
    const found = new Map<string, PodDisk>();
    const types = fileSystemTypes();
    for (const { pod, containers } of pods) {
      const volumes: VolumeUse[] = [];
      for (const volume of this.#options.volumesOf(pod.metadata.uid))
        volumes.push(...(await this.#volume(volume, types, of)));
      const logs = new Map<string, DiskUse>();
      for (const { container } of containers)
        if (container.logPath) logs.set(container.id, await of(dirname(container.logPath)));
      found.set(pod.metadata.uid, { volumes, logs, roots });
    }
    this.#disk.retain(walked);
    this.#foreign.retain(new Set(types.keys()));
    const { mountpoint, bytes } = await this.#images();
    return {
      node: await fileSystemAt(this.#options.dataDir),
      images: await fileSystemAt(mountpoint || this.#options.dataDir),
      imageBytes: bytes,
      pods: found,
    };
  }

  /** None while nobody can say how full it is. */
  async #volume(
    volume: VolumeOnDisk,
    types: ReadonlyMap<string, string>,
    of: (path: string) => Promise<DiskUse>,
  ): Promise<VolumeUse[]> {
    const told = await this.#told(volume);
    if (told) return [told];
    const { path } = volume;
    const name = basename(path);
    if (inMemory.has(types.get(path) ?? "tmpfs"))
      return [{ name, ...(await of(path)), fileSystem: await fileSystemAt(path) }];
    const fileSystem = await this.#foreign.of(path);
    if (!fileSystem) return [];
    const { usedBytes: bytes, inodesUsed: inodes } = fileSystem;
    return [{ name, at: this.#options.clock.now(), bytes, inodes, fileSystem }];
  }

  async #told(volume: VolumeOnDisk): Promise<VolumeUse | undefined> {
    // One that does not answer now is measured like any other.
    const usage = await this.#options.usageOf?.(volume, within(askMs)).catch(() => undefined);
    if (!usage) return undefined;
    const at = this.#options.clock.now();
    const name = basename(volume.path);
    return { name, at, bytes: usage.usedBytes, inodes: usage.inodesUsed, fileSystem: usage };
  }

  async #images(): Promise<{ mountpoint: string; bytes: number }> {
    try {
      const { imageFilesystems } = await this.#options.runtime.image.imageFsInfo({}, within(askMs));
      const [first] = imageFilesystems;
      return { mountpoint: first?.fsId?.mountpoint ?? "", bytes: Number(first?.usedBytes?.value ?? 0n) };
    } catch {
      return { mountpoint: "", bytes: 0 };
    }
  }

  #rootsNow(): Promise<PodDisk["roots"]> {
    const now = this.#options.clock.monotonic();
    if (!this.#roots || this.#roots.until <= now) this.#roots = { until: now + rootsForMs, value: this.#askRoots() };
    return this.#roots.value;
  }

  async #askRoots(): Promise<PodDisk["roots"]> {
    try {
      const request = ListContainerStatsRequest.create({});
      const { stats } = await this.#options.runtime.runtime.listContainerStats(request, within(askMs));
      return new Map(
        stats.map(({ attributes, writableLayer }) => [
          attributes?.id ?? "",
          {
            bytes: Number(writableLayer?.usedBytes?.value ?? 0n),
            inodes: Number(writableLayer?.inodesUsed?.value ?? 0n),
          },
        ]),
      );
    } catch {
      // A runtime that does not answer now leaves the numbers out; the next look asks again.
      return new Map();
    }
  }
}
