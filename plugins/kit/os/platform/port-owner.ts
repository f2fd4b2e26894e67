// Which process listens on a TCP port, as /proc shows it: for messages only, since it may be gone a moment later.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const listening = "0A";

/** Such as `nginx, process 812`; undefined when nobody does, or nothing may be seen of who does. */
export function portOwner(port: number): string | undefined {
  const sockets = new Set(["tcp", "tcp6"].flatMap((file) => listeners(file, port)));
  if (sockets.size === 0) return undefined;
  for (const pid of read(() => readdirSync("/proc"))) {
    if (!/^\d+$/.test(pid)) continue;
    const isOwner = read(() => readdirSync(`/proc/${pid}/fd`)).some((fd) =>
      read(() => [readlinkSync(`/proc/${pid}/fd/${fd}`)]).some((target) => sockets.has(target)),
    );
    if (isOwner) return `${read(() => [readFileSync(`/proc/${pid}/comm`, "utf8").trim()])[0] ?? ""}, process ${pid}`;
  }
  return undefined;
}

function listeners(file: string, port: number): string[] {
  const lines = read(() => readFileSync(`/proc/thread-self/net/${file}`, "utf8").split("\n").slice(1));
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const isIt = state === listening && Number.parseInt(local.split(":")[1] ?? "", 16) === port;
    return isIt ? `socket:[${inode}]` : [];
  });
}

/** Nothing where it cannot be read: another's process, or one that has ended meanwhile. */
function read(work: () => string[]): string[] {
  try {
    return work();
  } catch {
    return [];
  }
}
