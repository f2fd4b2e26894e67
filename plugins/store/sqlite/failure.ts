// Turns what SQLite or the file system reports into a Failure, and a Failure into the Fault that a person reads.

import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Fault } from "../../kit/base/fault.ts";
import type { Failure, FailureKind } from "./protocol.ts";

export class DamagedError extends Error {}
export class TooNewError extends Error {}

// Primary result codes of sqlite3.h. Deno tells no code, only SQLite's fixed English sentence for it.
const kinds: readonly { kind: FailureKind; codes: readonly number[]; sentence: RegExp }[] = [
  { kind: "damaged", codes: [11, 26], sentence: /malformed|not a database/ },
  { kind: "in-use", codes: [5, 6], sentence: /is locked/ },
  { kind: "full", codes: [13], sentence: /disk is full/ },
  {
    kind: "not-writable",
    codes: [3, 8, 14, 23],
    sentence: /readonly database|unable to open database|access permission/,
  },
];
const systemKinds: Readonly<Record<string, FailureKind>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EACCES: "not-writable",
  EPERM: "not-writable",
  EROFS: "not-writable",
  ENOTDIR: "not-writable",
};

export function failureOf(error: unknown): Failure {
  const { message, errcode, code } = error as { message: string; errcode?: number; code?: string };
  if (error instanceof DamagedError) return { kind: "damaged", detail: message };
  if (error instanceof TooNewError) return { kind: "too-new", detail: message };
  const found = kinds.find(({ codes, sentence }) =>
    errcode === undefined ? code === "ERR_SQLITE_ERROR" && sentence.test(message) : codes.includes(errcode & 0xff),
  );
  return { kind: found?.kind ?? systemKinds[code ?? ""] ?? "other", detail: message };
}

/** The Fault for a store that could not be opened. */
export function openFault(folder: string, failure: Failure): Fault {
  const cannot = `Cannot open the store in "${folder}"`;
  switch (failure.kind) {
    case "damaged":
      return new Fault(
        "unavailable",
        `${cannot}: its database is damaged (${failure.detail}) and was kept as "${failure.keptAs}". ` +
          `Put a snapshot back with "skiff restore", or move that file elsewhere to begin with an empty store`,
      );
    case "in-use":
      return new Fault("unavailable", `${cannot}: another instance uses it; stop that one or choose another data dir`);
    case "not-writable":
      return new Fault("forbidden", `${cannot}: it is not writable (${failure.detail})`);
    case "too-new":
      return new Fault("unsupported", `${cannot}: ${failure.detail}`);
    case "full":
      return new Fault("unavailable", `${cannot}: ${fullDisk(folder)}; make room and start again`);
    case "other":
      return new Fault("unavailable", `${cannot}: ${failure.detail}`);
  }
}

/** The Fault for writes that could not be made durable. */
export function writeFault(folder: string, failure: Failure): Fault {
  const detail =
    failure.kind === "full" ? `${fullDisk(folder)}; writes succeed again once there is room` : failure.detail;
  return new Fault("unavailable", `Cannot write to the store in "${folder}": ${detail}`);
}

function fullDisk(folder: string): string {
  const mount = mountOf(folder);
  let free = "";
  try {
    const { bavail, bsize } = statfsSync(folder);
    free = ` (${Math.floor((bavail * bsize) / 1024)} KiB free)`;
  } catch {
    // Only an addition to the sentence.
  }
  return `the disk mounted at "${mount}" is full${free}`;
}

/** The folder furthest up that is still on the same file system. */
function mountOf(folder: string): string {
  try {
    const { dev } = statSync(folder);
    let mount = folder;
    while (dirname(mount) !== mount && statSync(dirname(mount)).dev === dev) mount = dirname(mount);
    return mount;
  } catch {
    return folder;
  }
}
