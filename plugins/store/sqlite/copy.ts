// Copies the database of a sqlite store while no instance runs. Blocks; for the command line.

import { Fault } from "../../kit/base/fault.ts";
import { Database } from "./database.ts";
import { failureOf, openFault } from "./failure.ts";
import { findDatabase, lockFolder } from "./files.ts";

/** Writes a consistent copy to a path that must not exist yet; the store itself stays as it is, damaged or not. */
export function copySqliteStore(folder: string, path: string): void {
  try {
    const lock = lockFolder(folder);
    try {
      const found = findDatabase(folder);
      if (!found) throw new Fault("not-found", `Cannot copy the store in ${folder}: there is none yet`);
      const database = new Database(found);
      try {
        database.backup(path);
      } finally {
        database.close();
      }
    } finally {
      lock.close();
    }
  } catch (error) {
    throw error instanceof Fault ? error : openFault(folder, failureOf(error));
  }
}
