// Where one instance keeps things. Two instances with different data dirs share nothing, not even names in the kernel.

import { createHash } from "node:crypto";
import { join } from "node:path";

export interface InstancePaths {
  readonly dataDir: string;
  /** Short, because sockets lie below it; on a tmpfs, because a reboot ends what it describes. */
  readonly runDir: string;
  /** At most 15 characters, as the kernel asks of interface names. */
  readonly bridge: string;
  /** Tells the kernel objects of several instances apart; empty for the main one. */
  readonly id: string;
}

const defaultDataDir = "/var/lib/skiff";

export function instancePaths(dataDir: string): InstancePaths {
  if (dataDir === defaultDataDir) return { dataDir, runDir: "/run/skiff/main", bridge: "skiff0", id: "" };
  const id = createHash("sha256").update(dataDir).digest("hex").slice(0, 8);
  return { dataDir, runDir: join("/run/skiff", id), bridge: `skiff-${id}`, id };
}
