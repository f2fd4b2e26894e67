// Findings about ports: which of ours somebody else listens on, and who, from the kernel's socket tables.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type CheckFacts, type Finding, fail, ok, readFact } from "./finding.ts";

export function portFindings(facts: CheckFacts): Finding[] {
  const listening = listeningSockets(facts);
  const ownPid = Number.parseInt(readText(join(facts.dataDir, "lock")), 10);
  return facts.ports.map(({ port, use }) => {
    const name = `port-${port}`;
    const inode = listening.get(port);
    if (inode === undefined) return ok(name, `port ${port} (${use}) is free`);
    const owner = ownerOf(facts, inode);
    if (owner && owner.pid === ownPid)
      return ok(name, `port ${port} (${use}) is served by Skiff, process ${owner.pid}`);
    const who = owner ? `${owner.command} (process ${owner.pid})` : "a process that cannot be seen from here";
    const fix = owner ? `stop ${owner.command}, or choose another port in the config` : "look as root: ss -ltnp";
    return fail(name, `port ${port} (${use}) is taken by ${who}`, fix);
  });
}

/** Port to socket inode, of everything that listens on TCP. */
function listeningSockets(facts: CheckFacts): Map<number, string> {
  const found = new Map<number, string>();
  for (const table of ["proc/net/tcp", "proc/net/tcp6"]) {
    for (const line of readFact(facts, table).split("\n").slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === "0A" && local && inode) found.set(Number.parseInt(local.split(":")[1] ?? "", 16), inode);
    }
  }
  return found;
}

function ownerOf(facts: CheckFacts, inode: string): { pid: number; command: string } | undefined {
  const proc = join(facts.root, "proc");
  for (const pid of names(proc).filter((name) => /^\d+$/.test(name))) {
    const folder = join(proc, pid, "fd");
    if (names(folder).some((fd) => linkOf(join(folder, fd)) === `socket:[${inode}]`))
      return { pid: Number(pid), command: commandOf(join(proc, pid)) };
  }
  return undefined;
}

/** What it was started as: threads of interpreters are named after neither program nor script. */
function commandOf(folder: string): string {
  const [program = "", ...args] = readText(join(folder, "cmdline")).split("\0");
  const script = args.find((word) => word !== "" && !word.startsWith("-") && word !== "run");
  const name = basename(/^(node|deno|python[\d.]*|perl|ruby)$/.test(basename(program)) && script ? script : program);
  if (/^skiff\.[jt]s$/.test(name)) return "another Skiff";
  return name || readText(join(folder, "comm")).trim() || "unknown";
}

// Processes end while they are looked at, and others' may not be seen: what cannot be read is not there.

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
