// Kills a process at a chosen one of its writes. strace stops it after every call that changed something below a folder, so that the
// calls are counted in one order over all of its threads and each has a name, such as `rename store.db.new store.db`.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";

/**
 * Every call that changes a file, a name or an attribute, or writes one back; but copy_file_range, which a signal that waits makes begin
 * anew without end.
 */
const calls = [
  "openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,symlink,symlinkat,link,linkat,rename,renameat,renameat2,unlink,unlinkat,rmdir",
  "write,writev,pwrite64,pwritev,ftruncate,truncate,fallocate,fsync,fdatasync,sync_file_range,syncfs",
  "chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,utimensat,setxattr,lsetxattr,fsetxattr",
].join();

export const noFaultPoints: string | false =
  spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0 ? false : "there is no strace, or it may not trace";

export interface Victim {
  /** A script that prints `ready`, waits for a line on standard input, works, and ends with 0. */
  readonly script: string;
  readonly args: readonly string[];
  /** What is written below it counts. */
  readonly folder: string;
}

export interface Life {
  /** Names of the writes in their order; the last one is the one after which it was killed. */
  readonly points: readonly string[];
  /** It ended by itself: there were fewer writes. */
  readonly isComplete: boolean;
  /** What it printed after `ready`, line by line. */
  readonly output: readonly string[];
}

/** Lets the victim work until it has done so many writes, and kills it. */
export async function liveUntil({ script, args, folder }: Victim, writes: number): Promise<Life> {
  const [command, ...rest] = selfCommand(script, args);
  const victim = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(victim, "close") as Promise<[number | null]>;
  const output: string[] = [];
  const said = createInterface({ input: victim.stdout }).on("line", (line) => output.push(line));
  const pid = victim.pid ?? 0;
  try {
    await Promise.race([once(said, "line"), ended.then(() => Promise.reject(new Error(`${script} ended early`)))]);
    const points = new Points(folder);
    const tracer = spawn(
      "strace",
      ["-f", "-y", "-s", "0", "-p", String(pid), "-e", `trace=${calls}`, "-e", `inject=${calls}:signal=SIGSTOP`],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const traced = once(tracer, "close");
    let isBegun = false;
    for await (const line of createInterface({ input: tracer.stderr })) {
      if (!isBegun && /^strace: Process \d+ attached/.test(line)) {
        isBegun = true;
        victim.stdin.end("go\n");
      }
      points.read(line);
      const stopped = Number(/^(?:\[pid +(\d+)\] )?--- stopped by SIGSTOP/.exec(line)?.[1] ?? 0) || undefined;
      if (stopped === undefined ? !line.startsWith("--- stopped by SIGSTOP") : !isLeader(stopped)) continue;
      process.kill(stopped ?? pid, points.names.length >= writes ? "SIGKILL" : "SIGCONT");
    }
    await traced;
    const [code] = await ended;
    if (code !== null && code !== 0) throw new Error(`${script} ended with ${code}`);
    return { points: points.names.slice(0, writes), isComplete: code === 0, output: output.slice(1) };
  } finally {
    if (victim.exitCode === null && victim.signalCode === null) victim.kill("SIGKILL");
  }
}

/** One thread of each process, so that a stop of the whole process is answered once. */
function isLeader(thread: number): boolean {
  try {
    return new RegExp(`^Tgid:\\t${thread}$`, "m").test(readFileSync(`/proc/${thread}/status`, "utf8"));
  } catch {
    return false; // it has ended
  }
}

/** Reads strace's lines; a call that another thread's interrupts comes in two of them. */
class Points {
  readonly names: string[] = [];
  readonly #folder: string;
  readonly #begun = new Map<string, string>();
  readonly #pathsByFile = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  read(line: string): void {
    const [, thread = "", text = ""] = /^(?:\[pid +(\d+)\] )?(.*)$/.exec(line) ?? [];
    const begun = /^(.*) <unfinished \.\.\.>$/.exec(text)?.[1];
    if (begun !== undefined) return void this.#begun.set(thread, begun);
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    const call = resumed === undefined ? text : `${this.#begun.get(thread) ?? ""}${resumed}`;
    const [, name = "", args = "", file, opened] = /^(\w+)\((.*)\) += (\d+)(?:<(.*)>)?$/.exec(call) ?? [];
    if (file !== undefined && opened !== undefined) this.#pathsByFile.set(file, opened);
    if (name === "" || (name.startsWith("open") && !/O_CREAT|O_TRUNC/.test(args))) return;
    const shown = this.#pathsIn(args);
    if (shown.length > 0) this.names.push([name, ...shown].join(" "));
  }

  /** Relative to the folder, without what is different in every life; none where the call was not about it. */
  #pathsIn(args: string): string[] {
    const paths = [...args.matchAll(/<([^>]*)>|"([^"]*)"/g)].map(([, open, named]) =>
      this.#resolved(open ?? named ?? ""),
    );
    if (!paths.some((path) => this.#isBelow(path))) return [];
    return paths
      .filter((path) => this.#isBelow(path) || (path !== "" && !path.startsWith("/")))
      .map((path) => path.replace(this.#folder, "").replace(/^\//, "") || ".")
      .map((path) => path.replaceAll(/[0-9a-f]{8,}/g, "*").replaceAll(/\d+/g, "N"));
  }

  #isBelow(path: string): boolean {
    return path === this.#folder || path.startsWith(`${this.#folder}/`);
  }

  /** Root's own file operations name a folder by its descriptor. */
  #resolved(path: string): string {
    const [, file = "", rest = ""] = /^\/proc\/self\/fd\/(\d+)(.*)$/.exec(path) ?? [];
    return file === "" ? path : `${this.#pathsByFile.get(file) ?? path}${rest}`;
  }
}

/**
 * How many writes to let pass: behind each, but of a run of writes with the same name (a journal that is filled with zeros) only so many,
 * the first and the last among them.
 */
export function everyPoint(names: readonly string[], perRun: number): number[] {
  const runs: number[][] = [];
  for (const [index, name] of names.entries()) {
    if (index > 0 && names[index - 1] === name) runs.at(-1)?.push(index + 1);
    else runs.push([index + 1]);
  }
  return runs.flatMap((run) => spread(run, perRun));
}

/** Behind the first write of each name, at most so many in all. */
export function somePoints(names: readonly string[], most: number): number[] {
  return spread(
    names.flatMap((name, index) => (names.indexOf(name) === index ? [index + 1] : [])),
    most,
  );
}

function spread(all: readonly number[], most: number): number[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))] as number);
}
