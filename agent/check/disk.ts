// Findings about the disk below the data dir: nearly full, or so slow that the store would be.

import { type CheckFacts, type Finding, fail, ok, warn } from "./finding.ts";

const least = { fail: 512 * 1024 ** 2, warn: 2 * 1024 ** 3 };
const slowMs = 250;

export async function diskFindings(facts: CheckFacts): Promise<Finding[]> {
  return [room(facts), ...(await speed(facts))];
}

function room(facts: CheckFacts): Finding {
  const { bytes, availableBytes, inodes, freeInodes } = facts.disk();
  const free = `${(availableBytes / 1024 ** 3).toFixed(1)} GiB of ${(bytes / 1024 ** 3).toFixed(1)} GiB are free below ${facts.dataDir}`;
  const fix =
    "remove what is not needed (journalctl --vacuum-size=100M, apt-get clean), or set data-dir to a larger disk";
  if (availableBytes < least.fail) return fail("disk-room", `the disk is full: only ${free}`, fix);
  if (inodes > 0 && freeInodes / inodes < 0.05)
    return warn("disk-room", `the disk has room for only ${freeInodes} more files: images are many small ones`, fix);
  // Pods are evicted when a tenth or less is free.
  if (availableBytes < least.warn || availableBytes / bytes < 0.1)
    return warn("disk-room", `the disk is nearly full: ${free}; pods will be evicted`, fix);
  return ok("disk-room", free);
}

async function speed(facts: CheckFacts): Promise<Finding[]> {
  const ms = await facts.syncMs();
  if (ms === undefined) return [];
  const shown = `a durable write takes ${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < slowMs) return [ok("disk-speed", shown)];
  const fix = "use a better SD card (A2 class), or a USB SSD for data-dir";
  return [warn("disk-speed", `the disk is slow: ${shown}, and each change of the cluster waits for one`, fix)];
}
