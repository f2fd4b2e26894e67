// Where the agent keeps things below its data directory.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

export interface Directories {
  readonly agent: string;
  readonly pods: string;
  readonly logs: string;
  readonly seccomp: string;
  readonly plugins: string;
  readonly localPath: string;
}

export function makeDirectories(dataDir: string): Directories {
  const dirs = {
    agent: join(dataDir, "agent"),
    pods: join(dataDir, "pods"),
    logs: join(dataDir, "logs", "pods"),
    seccomp: join(dataDir, "seccomp"),
    plugins: join(dataDir, "agent", "plugins"),
    localPath: join(dataDir, "local-path"),
  };
  for (const dir of Object.values(dirs)) mkdirSync(dir, { recursive: true, mode: 0o750 });
  return dirs;
}
