// The data dir of one instance: made where it is not there, checked to be writable, and locked against a second instance.

import { accessSync, constants, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Fault, isFault } from "../../base/fault.ts";
import { type FileLock, lockFile } from "./files.ts";

/** Each way it can fail is one Fault that names the folder and what to do. */
export async function claimDataDir(dataDir: string): Promise<FileLock> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    accessSync(dataDir, constants.W_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "EROFS" ? "the file system is read-only" : code === "EACCES" ? "permission denied" : message;
    throw new Fault("forbidden", `Cannot use the data dir ${dataDir}: ${why}; choose another with --data-dir`, {
      cause: error,
    });
  }
  try {
    return await lockFile(join(dataDir, "lock"));
  } catch (error) {
    if (!isFault(error, "already-exists")) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault("unavailable", `Cannot use the data dir ${dataDir}: ${why}`, { cause: error });
    }
    const holder = /process (\S+)/.exec(error.message)?.[1] ?? "unknown";
    throw new Fault(
      "already-exists",
      `Cannot use the data dir ${dataDir}: another Skiff (process ${holder}) runs on it; stop that one or choose another --data-dir`,
      { cause: error },
    );
  }
}
