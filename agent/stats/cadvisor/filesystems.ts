// The machine's file systems that are on devices, with what their devices count; for cAdvisor's storage and machine documents.

import { readFile } from "node:fs/promises";
import type { FileSystemUse } from "../../../plugins/kit/os/platform/file-system-use.ts";
import { fileSystemAt } from "../disk.ts";
import type { DiskCounters } from "../disk-stats.ts";
import { timeOf } from "./stats-document.ts";

export interface MountedFileSystem extends FileSystemUse {
  readonly device: string;
  readonly mountpoint: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly counters: DiskCounters | undefined;
}

export interface FileSystemsOptions {
  /** Where images are kept. */
  readonly imagesAt: string;
  readonly disks: readonly DiskCounters[];
}

/** One for each device: the mount point that is shortest. */
export async function fileSystems({ imagesAt, disks }: FileSystemsOptions): Promise<MountedFileSystem[]> {
  const found = new Map<string, { mountpoint: string; type: string; device: string }>();
  for (const mount of mountsIn(await readFile("/proc/self/mountinfo", "utf8"))) {
    const known = found.get(mount.numbers);
    if (!known || mount.mountpoint.length < known.mountpoint.length) found.set(mount.numbers, mount);
  }
  const holder = longest(
    [...found.values()].map(({ mountpoint }) => mountpoint),
    imagesAt,
  );
  const all = await Promise.all(
    [...found].map(async ([numbers, { mountpoint, type, device }]): Promise<MountedFileSystem[]> => {
      const use = await fileSystemAt(mountpoint);
      if (!use) return [];
      const labels = [...(mountpoint === "/" ? ["root"] : []), ...(mountpoint === holder ? ["images"] : [])];
      const counters = disks.find(({ major, minor }) => `${major}:${minor}` === numbers);
      return [{ ...use, device, mountpoint, type, labels, counters }];
    }),
  );
  return all.flat();
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function mountsIn(text: string): { numbers: string; mountpoint: string; type: string; device: string }[] {
  return text.split("\n").flatMap((line) => {
    const [own = "", below = ""] = line.split(" - ");
    const [, , numbers = "", , mountpoint = ""] = own.split(" ");
    const [type = "", device = ""] = below.split(" ");
    if (!device.startsWith("/dev/")) return [];
    const path = mountpoint.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return [{ numbers, mountpoint: path, type, device }];
  });
}

function longest(mountpoints: readonly string[], path: string): string {
  const holds = (point: string) => point === "/" || path === point || path.startsWith(`${point}/`);
  return mountpoints.filter(holds).sort((a, b) => b.length - a.length)[0] ?? "";
}

/** Version 1's FsStats. */
export function fsStatsDocument(one: MountedFileSystem): object {
  const { device, capacityBytes, usedBytes, availableBytes, inodes, inodesFree, counters } = one;
  return {
    device,
    type: "vfs",
    capacity: capacityBytes,
    usage: usedBytes,
    base_usage: 0,
    available: availableBytes,
    has_inodes: inodes > 0,
    inodes,
    inodes_free: inodesFree,
    ...(counters ? counterDocument(counters) : {}),
  };
}

function counterDocument(counters: DiskCounters): object {
  return {
    reads_completed: counters.reads,
    reads_merged: counters.readsMerged,
    sectors_read: counters.sectorsRead,
    read_time: counters.readMs,
    writes_completed: counters.writes,
    writes_merged: counters.writesMerged,
    sectors_written: counters.sectorsWritten,
    write_time: counters.writeMs,
    io_in_progress: counters.inProgress,
    io_time: counters.ioMs,
    weighted_io_time: counters.weightedIoMs,
  };
}

/** Version 2's MachineFsStats: durations in nanoseconds. */
export function machineFsDocument(one: MountedFileSystem): object {
  const { device, type, capacityBytes, usedBytes, availableBytes, inodes, inodesFree, counters } = one;
  const ns = (ms: number) => ms * 1e6;
  return {
    device,
    type,
    capacity: capacityBytes,
    usage: usedBytes,
    available: availableBytes,
    ...(inodes > 0 ? { inodes_free: inodesFree } : {}),
    ...(counters
      ? {
          inline: {
            reads_completed: counters.reads,
            reads_merged: counters.readsMerged,
            sectors_read: counters.sectorsRead,
            read_duration: ns(counters.readMs),
            writes_completed: counters.writes,
            writes_merged: counters.writesMerged,
            sectors_written: counters.sectorsWritten,
            write_duration: ns(counters.writeMs),
            io_in_progress: counters.inProgress,
            io_duration: ns(counters.ioMs),
            weighted_io_duration: ns(counters.weightedIoMs),
          },
        }
      : {}),
  };
}

/** Version 2's FsInfo. */
export function storageDocument(one: MountedFileSystem, now: number): object {
  const { device, mountpoint, capacityBytes, availableBytes, usedBytes, labels, inodes, inodesFree } = one;
  return {
    timestamp: timeOf(now),
    device,
    mountpoint,
    capacity: capacityBytes,
    available: availableBytes,
    usage: usedBytes,
    labels,
    ...(inodes > 0 ? { inodes, inodes_free: inodesFree } : {}),
  };
}
