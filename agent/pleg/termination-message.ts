// What a container wrote about its end: the message file, or the tail of its log where the pod asks for that. Bounded either way, and read
// without waiting: a container shapes these files.

import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { ContainerStatus, Mount } from "../../cri/api/gen/runtime.js";
import { openRegularFile, readPart } from "../../plugins/kit/os/safe-files/regular-file.ts";
import { annotations, labels, messageDir } from "../model/identity.ts";
import { openLog } from "../containers/log-files.ts";

const longestFile = 4096;
const longestLog = 2048;
const mostLogLines = 80;

/** `podsDir` is where the agent keeps the pods' message files. */
export async function terminationMessage(status: ContainerStatus, podsDir: string): Promise<string> {
  const file = messageFileOf(status, podsDir);
  const written = file ? await readText(() => openRegularFile(file), longestFile, "head") : "";
  if (written !== "") return written;
  const usesLog = status.annotations[annotations.terminationMessagePolicy] === "FallbackToLogsOnError";
  if (!usesLog || status.exitCode === 0 || !status.logPath) return "";
  return logTail(await readText(() => openLog(status.logPath), longestLog * 4, "tail"));
}

/** The file that the agent made for the container. A volume mounted at the same path is the pod author's, and is not read. */
function messageFileOf(status: ContainerStatus, podsDir: string): string | undefined {
  const path = status.annotations[annotations.terminationMessagePath];
  const dir = messageDir(podsDir, status.labels[labels.podUid] ?? "", status.labels[labels.containerName] ?? "");
  const isOwn = (mount: Mount) => mount.containerPath === path && dirname(mount.hostPath) === dir;
  return status.mounts.find(isOwn)?.hostPath;
}

/** A missing or unreadable file is no message. */
async function readText(open: () => Promise<FileHandle>, bytes: number, part: "head" | "tail"): Promise<string> {
  try {
    const file = await open();
    try {
      return (await readPart(file, bytes, part)).toString("utf8");
    } finally {
      await file.close();
    }
  } catch {
    // The file may be gone with the pod's directory: then there is nothing to report.
    return "";
  }
}

/** Strips the time stamps and tags of CRI log lines and keeps the last lines. */
function logTail(text: string): string {
  const lines = text
    .split("\n")
    .map((line) => /^\S+ (?:stdout|stderr) ([FP]) (.*)$/.exec(line))
    .filter((match) => match !== null)
    .slice(-mostLogLines);
  // A partial line goes on in the next one, or was the last without an end.
  const joined = lines.map(([, tag, line = ""]) => (tag === "F" ? `${line}\n` : line)).join("");
  return joined.slice(-longestLog);
}
