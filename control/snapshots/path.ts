// The path of the API that takes a snapshot of the running server's store; only system:masters and cluster-admins may.

import { jsonAnswer } from "../machinery/answer.ts";
import type { PathHandler } from "../machinery/path-handler.ts";
import type { SnapshotInfo } from "./files.ts";

export const snapshotsPath = "/skiff/v1/snapshots";

export function snapshotPaths(take: () => Promise<SnapshotInfo>): PathHandler {
  let taking: Promise<SnapshotInfo> | undefined;
  return ({ method, path }) => {
    if (method !== "POST" || path.replace(/\/$/, "") !== snapshotsPath) return undefined;
    // Asked twice at once it is done once.
    taking ??= take().finally(() => {
      taking = undefined;
    });
    return taking.then((info) => jsonAnswer(info));
  };
}
