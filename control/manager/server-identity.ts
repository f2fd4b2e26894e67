// Who this server is among those that share its store: the same after a restart, and nobody else's. Its address alone is not: boxes behind
// a router of their own, and those that have none yet, all call themselves the same.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { readIfPresent, writeWhole } from "../auth/pki/files.ts";

/** As upstream names its leaders: a host, and an id, which is kept below the data dir. */
export function serverIdentity(dataDir: string, host: string): string {
  const path = join(dataDir, "server-id");
  const known = readIfPresent(path)?.trim();
  const id = known || randomUUID();
  if (!known) writeWhole(path, `${id}\n`);
  // A folder that was copied whole to another box is told apart by where that is.
  return `${hostname()}_${host}_${id}`;
}
