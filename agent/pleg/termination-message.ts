// What a container wrote about its end: the message file, or the tail of its log where the pod asks for that. Bounded either way.

import { open } from "node:fs/promises";
import type { ContainerStatus } from "../../cri/api/gen/runtime.js";
import { annotations } from "../containers/identity.ts";

const longestFile = 4096;
const longestLog = 2048;
const mostLogLines = 80;

export async function terminationMessage(status: ContainerStatus): Promise<string> {
  const path = status.annotations[annotations.terminationMessagePath];
  const file = status.mounts.find((mount) => mount.containerPath === path)?.hostPath;
  const written = file ? await readTail(file, longestFile, "head") : "";
  if (written !== "") return written;
  const usesLog = status.annotations[annotations.terminationMessagePolicy] === "FallbackToLogsOnError";
  if (!usesLog || status.exitCode === 0 || !status.logPath) return "";
  return logTail(await readTail(status.logPath, longestLog * 4, "tail"));
}

/** A missing or unreadable file is no message. */
async function readTail(path: string, bytes: number, end: "head" | "tail"): Promise<string> {
  try {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const position = end === "tail" ? Math.max(0, size - bytes) : 0;
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(Math.min(bytes, size)),
        0,
        Math.min(bytes, size),
        position,
      );
      return buffer.subarray(0, bytesRead).toString("utf8");
    } finally {
      await file.close();
    }
  } catch {
    // The file may be gone with the pod's directory: then there is nothing to tell.
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
