// The files of one container's log, `<logs>/<pod>/<container>/<n>.log`. Whoever may write to the log directory (a pod with a hostPath of
// it) must not make the agent read or change other files: no component below `<logs>` is followed when it is a link.

import { mkdirSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { Folder } from "../../plugins/kit/os/safe-files/folder.ts";
import { openBeneath } from "../../plugins/kit/os/safe-files/open-beneath.ts";
import { openRegularBeneath, openRegularFile } from "../../plugins/kit/os/safe-files/regular-file.ts";

/** `<logs>`, and the container's directory below it. */
function placeOf(logPath: string): { root: string; directory: string } {
  const directory = dirname(logPath);
  return { root: dirname(dirname(directory)), directory: join(basename(dirname(directory)), basename(directory)) };
}

const directoryMode = 0o755;

/** Makes the directory that the log will be in, where it is missing. Fault `forbidden` where something else is in its place. */
export function makeLogDirectory(logPath: string): void {
  const { root, directory } = placeOf(logPath);
  mkdirSync(root, { recursive: true, mode: directoryMode });
  let folder = Folder.open(root, { followsLink: true });
  try {
    for (const name of directory.split("/")) {
      const next = folder.look(name) ? folder.folder(name) : folder.makeFolder(name, { mode: directoryMode });
      if (!next)
        throw new Fault("forbidden", `failed to make the directory of ${logPath}: "${name}" is not a directory`);
      folder.close();
      folder = next;
    }
  } finally {
    folder.close();
  }
}

/** A regular file, opened without waiting. Fault `not-found`, or `forbidden` for links, FIFOs and devices. */
export async function openLog(logPath: string): Promise<FileHandle> {
  const { root, directory } = placeOf(logPath);
  try {
    return await openRegularBeneath(root, join(directory, basename(logPath)));
  } catch (error) {
    const log = isFault(error, "forbidden") ? dockerLogOf(logPath) : undefined;
    if (log === undefined) throw error;
    return openRegularFile(log);
  }
}

/** cri-dockerd leaves a link to the daemon's own log of the container: such a file, and no other, is opened through a link. */
function dockerLogOf(logPath: string): string | undefined {
  const folder = openLogFolder(logPath);
  try {
    const target = folder.linkTarget(basename(logPath)) ?? "";
    return /^\/[^.][^]*\/containers\/([0-9a-f]{64})\/\1-json\.log$/.test(target) && !target.includes("/..")
      ? target
      : undefined;
  } finally {
    folder.close();
  }
}

/** The directory that holds the log and its rotated pieces. */
export function openLogFolder(logPath: string): Folder {
  const { root, directory } = placeOf(logPath);
  return new Folder(openBeneath(root, directory));
}

/** Rotated pieces carry the log's name as their beginning. Nothing there is fine. */
export async function removeLogs(logPath: string): Promise<void> {
  if (logPath === "") return;
  let folder: Folder;
  try {
    folder = openLogFolder(logPath);
  } catch (error) {
    if (isFault(error, "not-found")) return;
    throw error;
  }
  try {
    for (const name of folder.names()) if (name.startsWith(basename(logPath))) folder.removeFile(name);
  } finally {
    folder.close();
  }
}
