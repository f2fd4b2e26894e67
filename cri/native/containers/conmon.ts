// Starts a container under conmon: the small process that keeps its streams, writes its log, and leaves its exit code in a file,
// whether we are there or not. Conmon runs the OCI runtime's `create`, and tells the pid or what went wrong.

import { mkdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { libc } from "../kernel/libc.ts";
import { nameProcess, type ProcessName } from "../../../plugins/kit/os/platform/processes.ts";
import { gather, reaped, spawn } from "../kernel/spawn.ts";
import type { Native } from "../native.ts";
import { leaveOwnGroups } from "../sandboxes/sandbox-run.ts";
import type { ContainerRecord } from "./container-record.ts";

export type Launched = { readonly process: ProcessName; readonly conmon: ProcessName } | { readonly failure: string };

const syncFd = 3;
const startFd = 4;
const unaskedLogBytes = 16 * 1024 * 1024;

/** Where its output is written: the log that was asked for, or a file of our own (in a folder that can be watched), for who attaches. */
export function outputPath({ paths }: Native, { id, logPath }: ContainerRecord): string {
  return logPath || join(paths.container(id), "output", "log");
}

export async function launch(native: Native, record: ContainerRecord): Promise<Launched> {
  const { paths } = native;
  const bundle = paths.container(record.id);
  mkdirSync(join(paths.persist, record.id), { recursive: true, mode: 0o700 });
  mkdirSync(dirname(outputPath(native, record)), { recursive: true, mode: 0o755 });
  const sync = native.spawner.channel();
  const errors = native.spawner.channel();
  const start = libc.pipe();
  let pid: number;
  try {
    pid = spawn({
      path: native.programs.conmon,
      args: conmonArguments(native, record),
      env: {
        PATH: process.env.PATH ?? "/usr/sbin:/usr/bin:/sbin:/bin",
        _OCI_SYNCPIPE: String(syncFd),
        _OCI_STARTPIPE: String(startFd),
      },
      cwd: bundle,
      fds: new Map([
        [2, errors.childFd],
        [syncFd, sync.childFd],
        [startFd, start.readEnd],
      ]),
    });
    // It waits for a byte, so that it and all it starts are in their own group from the first moment.
    leaveOwnGroups(native, pid);
    libc.write(start.writeEnd, Buffer.from([0]));
  } catch (error) {
    for (const channel of [sync, errors]) void channel.socket.then((socket) => socket.destroy());
    throw error;
  } finally {
    sync.closeChild();
    errors.closeChild();
    libc.close(start.readEnd);
    libc.close(start.writeEnd);
  }
  // Read to its end whatever happens, and asked for only after a failure: when this runtime closes meanwhile, it ends early, and nobody asks.
  const said = gather(await errors.socket, 64 * 1024).catch(() => Buffer.alloc(0));
  const told = await firstLine(await sync.socket);
  // The process we started ends as soon as its child stands by itself.
  await reaped(pid);
  const containerPid = pidIn(told);
  if (containerPid === undefined) return { failure: await failure(bundle, told, await said) };
  const conmonPid = Number(readFileSync(join(bundle, "conmon.pid"), "utf8"));
  return { process: nameProcess(containerPid), conmon: nameProcess(conmonPid) };
}

function conmonArguments(native: Native, record: ContainerRecord): string[] {
  const { paths } = native;
  const { config, id } = record;
  const bundle = paths.container(id);
  return [
    `--cid=${id}`,
    `--cuuid=${id}`,
    `--name=${config.metadata?.name ?? id}`,
    `--runtime=${native.programs.oci}`,
    `--bundle=${bundle}`,
    `--container-pidfile=${join(bundle, "container.pid")}`,
    `--conmon-pidfile=${join(bundle, "conmon.pid")}`,
    `--exit-dir=${paths.exits}`,
    `--persist-dir=${join(paths.persist, id)}`,
    `--socket-dir-path=${paths.attach}`,
    `--log-path=k8s-file:${outputPath(native, record)}`,
    // A file that nobody rotates must not grow for ever: it begins anew.
    ...(record.logPath ? [] : [`--log-size-max=${unaskedLogBytes}`]),
    "--no-sync-log",
    "--log-level=error",
    `--runtime-arg=--root=${paths.ociState}`,
    `--runtime-arg=--log=${join(bundle, "oci.log")}`,
    "--runtime-arg=--log-format=json",
    ...(config.tty ? ["--terminal"] : []),
    ...(config.stdin ? ["--stdin"] : []),
    ...(config.stdin && !config.stdinOnce ? ["--leave-stdin-open"] : []),
  ];
}

async function firstLine(socket: AsyncIterable<Buffer> & { destroy(): void }): Promise<string> {
  let text = "";
  for await (const chunk of socket) {
    text += chunk.toString("utf8");
    if (text.includes("\n")) break;
  }
  socket.destroy();
  return text.split("\n", 1)[0] ?? "";
}

function pidIn(line: string): number | undefined {
  try {
    const { pid, data } = JSON.parse(line) as { pid?: number; data?: number };
    const found = pid ?? data ?? 0;
    return found > 0 ? found : undefined;
  } catch {
    // Conmon died before it could say anything; its own words follow on stderr.
    return undefined;
  }
}

async function failure(bundle: string, told: string, said: Buffer): Promise<string> {
  const log = await readFile(join(bundle, "oci.log"), "utf8").catch(() => "");
  const messages = log
    .split("\n")
    .filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'))
    .flatMap((line) => {
      try {
        return [(JSON.parse(line) as { msg?: string }).msg ?? ""];
      } catch {
        // A line cut short by a crash says nothing.
        return [];
      }
    });
  return messages.at(-1) || said.toString("utf8").trim() || told || "conmon ended without a word";
}
