// A command inside a running container as the OCI runtime is asked for it: described in a file, its pid left in another. Owns those
// files' form, and the end of a command that is to stop.

import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TerminalSize } from "../../api/sessions.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { killTree } from "../../../plugins/kit/os/platform/processes.ts";
import { libc } from "../kernel/libc.ts";
import type { Native } from "../native.ts";
import type { ContainerRecord } from "./container-record.ts";
import type { OciProcess, OciSpec } from "./oci-spec.ts";

/** What an OCI runtime may take to notice the end of its command. */
const buryMs = 3000;

export interface ExecCommand {
  readonly path: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly pidFile: string;
  /** To be removed when it is over. */
  readonly files: readonly string[];
}

/** A command that has a terminal: the runtime leaves it at the socket, and does not stay. */
export interface TerminalCommand extends ExecCommand {
  readonly consoleSocket: string;
}

/**
 * A command is described in a file, like the container's own process, whose user, environment and limits it has. Not every OCI runtime
 * takes those over by itself; and only so a terminal's size is set before the command begins, not some moment after.
 */
export function execCommand(native: Native, record: ContainerRecord, command: readonly string[]): ExecCommand {
  const own = ownProcess(native, record);
  return describe(native, record, { ...own, args: [...command], terminal: false }, []);
}

/** The same, in a terminal of that size. */
export function terminalCommand(
  native: Native,
  record: ContainerRecord,
  command: readonly string[],
  size: TerminalSize,
): TerminalCommand {
  const own = ownProcess(native, record);
  const env = [...own.env.filter((text) => !text.startsWith("TERM=")), "TERM=xterm"];
  const consoleSocket = newExecFile(native);
  const described = { ...own, args: [...command], terminal: true, env, consoleSize: size };
  return { ...describe(native, record, described, ["--detach", "--console-socket", consoleSocket]), consoleSocket };
}

function ownProcess(native: Native, record: ContainerRecord): OciProcess {
  const path = join(native.paths.container(record.id), "config.json");
  return (JSON.parse(readFileSync(path, "utf8")) as OciSpec).process;
}

function describe(native: Native, record: ContainerRecord, described: OciProcess, flags: string[]): ExecCommand {
  if (described.args.length === 0) throw new Fault("invalid", "Cannot run a command: none is given");
  const [pidFile, file] = [newExecFile(native), newExecFile(native)];
  writeFileSync(file, JSON.stringify(described), { mode: 0o600 });
  return {
    path: native.programs.oci,
    args: [`--root=${native.paths.ociState}`, "exec", "--pid-file", pidFile, "--process", file, ...flags, record.id],
    env: { PATH: process.env.PATH ?? "" },
    pidFile,
    files: [pidFile, unfinished(pidFile), file],
  };
}

const newExecFile = (native: Native) => join(native.paths.runDir, `exec-${randomBytes(8).toString("hex")}`);

/** Where the OCI runtime writes such a file before it gives it its name; there it stays when it is killed in between. */
const unfinished = (file: string) => join(dirname(file), `.${basename(file)}`);

/** Whether a file of this name belongs to a command in a container. */
export const isExecFile = (name: string): boolean => /^\.?exec-/.test(name);

export function removeExecFiles({ files }: ExecCommand): void {
  for (const file of files) rmSync(file, { force: true });
}

/** The pid of the command itself, or undefined when it never began. */
export function pidOf({ pidFile }: ExecCommand): number | undefined {
  try {
    return Number(readFileSync(pidFile, "utf8")) || undefined;
  } catch {
    // Not written: the command could not be started.
    return undefined;
  }
}

/**
 * Kills the command with all it started. Its parent (the OCI runtime, or our reaper) is let go on for a moment: without it the
 * container's first process would inherit a dead child that it may never bury. Returns what to call when the parent has ended.
 */
export function killExec(native: Native, command: ExecCommand, parentPid: number): () => void {
  const pid = pidOf(command);
  if (pid) killTree(pid);
  return native.clock.after(pid ? buryMs : 0, () => void libc.kill(-parentPid, 9));
}

/** Why the OCI runtime did not start a command: the last line of what it said, without its log form. */
export function execFailure(said: Buffer, exitCode: number): Fault {
  const line = said.toString("utf8").trim().split("\n").at(-1) ?? "";
  const words = /msg="((?:[^"\\]|\\.)*)"/.exec(line)?.[1]?.replaceAll('\\"', '"') ?? line;
  return new Fault("internal", `Cannot run command: ${words || `the OCI runtime ended with ${exitCode}`}`);
}
