// `skiff snapshot save|list|restore` and `skiff restore`: of a running server through its API, of a stopped one from its files.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { claimDataDir } from "../../plugins/kit/os/platform/data-dir.ts";
import type { FileLock } from "../../plugins/kit/os/platform/files.ts";
import { copySqliteStore } from "../../plugins/store/sqlite/copy.ts";
import { restoreSqliteStore } from "../../plugins/store/sqlite/restore.ts";
import { listSnapshots, type SnapshotInfo, snapshotsFolder, takeSnapshot } from "../snapshots/files.ts";
import { snapshotsPath } from "../snapshots/path.ts";
import { restoreSnapshot } from "../snapshots/restore.ts";
import { withServer } from "./commands.ts";

type Print = (line: string) => void;

interface SnapshotWish {
  readonly action: string;
  readonly file?: string | undefined;
}

export async function snapshotCommand(
  { action, file }: SnapshotWish,
  dataDir: string,
  clock: Clock,
  print: Print,
  call: Call,
): Promise<void> {
  switch (action) {
    case "save": {
      const { path, bytes } = await save(dataDir, clock, call);
      return print(`saved ${path} (${bytes} bytes)`);
    }
    case "list":
      for (const { name, bytes, takenAt } of listSnapshots(snapshotsFolder(dataDir)))
        print([name, new Date(takenAt).toISOString(), bytes].join("\t"));
      return;
    case "restore":
      return restoreCommand(file, dataDir, clock, print);
    default:
      throw new Fault("invalid", `skiff snapshot cannot "${action}": it takes save, list or restore <file>`);
  }
}

export async function restoreCommand(
  file: string | undefined,
  dataDir: string,
  clock: Clock,
  print: Print,
): Promise<void> {
  if (!file)
    throw new Fault("invalid", "skiff snapshot restore needs a file, or a name that skiff snapshot list shows");
  const { path, replaced } = await restoreSnapshot(dataDir, file, (folder, snapshot) =>
    restoreSqliteStore(folder, snapshot, clock),
  );
  print(`restored ${path}`);
  if (replaced) print(`what was there is kept as ${replaced}`);
}

async function save(dataDir: string, clock: Clock, call: Call): Promise<SnapshotInfo> {
  const store = join(dataDir, "store");
  if (!existsSync(dataDir))
    throw new Fault("not-found", `Cannot take a snapshot: there is no data dir ${dataDir}; is --data-dir right?`);
  let lock: FileLock;
  try {
    lock = await claimDataDir(dataDir);
  } catch (error) {
    if (isFault(error, "already-exists")) return askServer(dataDir, call);
    throw error;
  }
  try {
    const keyFile = join(dataDir, "pki", "encryption-keys.json");
    const source = {
      backup: async (path: string) => copySqliteStore(store, path),
      keys: () => (existsSync(keyFile) ? readFileSync(keyFile, "utf8") : undefined),
    };
    return await takeSnapshot(snapshotsFolder(dataDir), source, clock.now());
  } finally {
    lock.release();
  }
}

function askServer(dataDir: string, call: Call): Promise<SnapshotInfo> {
  return withServer(dataDir, async (client) => {
    const response = await client.request(snapshotsPath, { method: "POST" }, call);
    return (await response.json()) as SnapshotInfo;
  });
}
