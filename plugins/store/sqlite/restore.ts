// Puts a snapshot in the place of a sqlite store's database, while no instance runs. Blocks; for the command line.

import { copyFileSync, existsSync } from "node:fs";
import { type Clock, systemClock } from "../../kit/base/clock.ts";
import { Fault } from "../../kit/base/fault.ts";
import { Database } from "./database.ts";
import { failureOf, openFault } from "./failure.ts";
import { createDatabase, keepReplaced, lockFolder } from "./files.ts";
import { packRows } from "./protocol.ts";

export interface Restored {
  /** Where the database that was there is kept; undefined where there was none. */
  readonly replaced: string | undefined;
  readonly revision: number;
}

/**
 * Revisions continue far above the snapshot's, since clients may have seen those that came after it; with history
 * forgotten they all read anew. A million covers what a small cluster writes between two snapshots.
 */
const skippedRevisions = 1_000_000;

/** Rejects a snapshot that is damaged before it touches anything; what was there is kept under a dated name. */
export function restoreSqliteStore(folder: string, snapshot: string, clock: Clock = systemClock): Restored {
  if (!existsSync(snapshot)) throw new Fault("not-found", `Cannot restore from "${snapshot}": there is no such file`);
  let lock: ReturnType<typeof lockFolder>;
  try {
    lock = lockFolder(folder);
  } catch (error) {
    throw openFault(folder, failureOf(error));
  }
  try {
    let replaced: string | undefined;
    let revision = 0;
    createDatabase(folder, (draft) => {
      revision = adopt(snapshot, draft);
      const at = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
      replaced = keepReplaced(folder, at);
    });
    return { replaced, revision };
  } finally {
    lock.close();
  }
}

/** Copies and checks the snapshot, raises its revision, and returns that. */
function adopt(snapshot: string, draft: string): number {
  copyFileSync(snapshot, draft);
  try {
    const database = new Database(draft);
    try {
      const { reserved = 0, compacted = 0 } = database.marks();
      let newest = Math.max(reserved, compacted);
      for (const row of database.rows()) newest = Math.max(newest, row.revision);
      const revision = newest + skippedRevisions;
      database.commit({ rows: packRows([]), removed: [], marks: { reserved: revision, compacted: revision } });
      return revision;
    } finally {
      database.close();
    }
  } catch (error) {
    const { detail } = failureOf(error);
    throw new Fault("invalid", `Cannot restore from "${snapshot}": ${detail}`, { cause: error });
  }
}
