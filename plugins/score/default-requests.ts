// Pods that ask for nothing still count for something when nodes are compared: 100m CPU and 200 MiB, as upstream has it.

import type { Amounts } from "../kit/scheduling.ts";

export function withDefaultRequests(amounts: Amounts): Amounts {
  const filled = new Map(amounts);
  if (!filled.get("cpu")) filled.set("cpu", 100);
  if (!filled.get("memory")) filled.set("memory", 200 * 1024 * 1024);
  return filled;
}
