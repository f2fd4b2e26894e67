// What a driver says of a volume's use, in the words of the node's summary.

import type { VolumeUsage } from "../../kit/contracts/volume.ts";
import { type NodeGetVolumeStatsResponse, VolumeUsage_Unit as Unit } from "./gen/csi.js";

export function usageFrom({ usage }: NodeGetVolumeStatsResponse): VolumeUsage | undefined {
  const bytes = usage.find(({ unit }) => unit === Unit.BYTES);
  if (!bytes) return undefined;
  const inodes = usage.find(({ unit }) => unit === Unit.INODES);
  return {
    capacityBytes: Number(bytes.total),
    availableBytes: Number(bytes.available),
    usedBytes: Number(bytes.used),
    inodes: Number(inodes?.total ?? 0n),
    inodesFree: Number(inodes?.available ?? 0n),
    inodesUsed: Number(inodes?.used ?? 0n),
  };
}
