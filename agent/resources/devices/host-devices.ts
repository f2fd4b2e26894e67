// Plain host devices as an extended resource, from a few lines of configuration: one pod at a time gets each of them.

import { existsSync } from "node:fs";
import type { DeviceProvider } from "./contract.ts";

export function hostDeviceProvider(
  resource: string,
  paths: readonly string[],
  isThere: (path: string) => boolean = existsSync,
): DeviceProvider {
  return {
    resource,
    // A device that is unplugged is not offered; one that comes back is.
    devices: () => paths.map((path) => ({ id: path, isHealthy: isThere(path) })),
    allocate: async (ids) => ({
      devices: ids.map((path) => ({ hostPath: path, containerPath: path, permissions: "rw" })),
    }),
  };
}
