// Counters of block devices, from the text of /proc/diskstats.

export interface DiskCounters {
  readonly name: string;
  readonly major: number;
  readonly minor: number;
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedIoMs: number;
}

/** The kernel counts in these, whatever the device's own sectors are. */
export const sectorBytes = 512;

const memoryBacked = /^(loop|ram|zram)\d/;
const partition = /^(?:(?:sd|vd|xvd|hd)[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+)(?:p|boot|rpmb)\d*)$/;

/** Devices that keep things; those in memory or made of files are left out. */
export function disksIn(text: string): DiskCounters[] {
  return text.split("\n").flatMap((line) => {
    const [major, minor, name = "", ...fields] = line.trim().split(/\s+/);
    if (name === "" || memoryBacked.test(name)) return [];
    const of = (index: number) => Number(fields[index] ?? 0);
    return [
      {
        name,
        major: Number(major),
        minor: Number(minor),
        reads: of(0),
        readsMerged: of(1),
        sectorsRead: of(2),
        readMs: of(3),
        writes: of(4),
        writesMerged: of(5),
        sectorsWritten: of(6),
        writeMs: of(7),
        inProgress: of(8),
        ioMs: of(9),
        weightedIoMs: of(10),
      },
    ];
  });
}

/** What a partition counts, its disk counts too; so does what is put together of several devices. */
export function isWholeDisk({ name }: DiskCounters): boolean {
  return !partition.test(name) && !/^(dm-|md)\d/.test(name);
}
