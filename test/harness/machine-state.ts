// What the kernel holds that a test could leave behind. Taken before and after a run; what is new after it is a leak.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname } from "node:path";

export type MachineState = Record<string, ReadonlySet<string>>;

const watchedPrograms = /^(conmon|runc|containerd|containerd-shim.*|dockerd|etcd|chromium)$/;

export function machineState(): MachineState {
  return {
    mount: new Set(lines(readFileSync("/proc/self/mounts", "utf8")).map((line) => line.split(" ")[1] ?? "")),
    interface: new Set(readdirSync("/sys/class/net")),
    "network namespace": new Set(listing("/run/netns")),
    "nftables table": new Set(nftTables()),
    cgroup: new Set(cgroups()),
    process: new Set(processes()),
    "address on lo": new Set(loopbackAddresses()),
    "run dir": new Set(listing("/run/skiff").filter((name) => !name.endsWith(".lock"))),
    "temporary file": new Set(listing(tmpdir()).filter((name) => name.startsWith("skiff-"))),
  };
}

/** One line for each thing that is there after and was not before. */
export function leaks(before: MachineState, after: MachineState): string[] {
  return Object.entries(after).flatMap(([what, now]) =>
    [...now].filter((item) => !before[what]?.has(item)).map((item) => `${what} ${item}`),
  );
}

/** Pods' DNS servers listen at addresses of their own there. */
function loopbackAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ internal }) => internal)
    .map(({ address }) => address);
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}

function listing(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

function nftTables(): string[] {
  try {
    return lines(execFileSync("nft", ["list", "tables"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  } catch {
    return []; // a kernel without nf_tables holds no tables
  }
}

/** The top two levels of every hierarchy: deep enough to see a pod tree, shallow enough to be quick. */
function cgroups(): string[] {
  const root = "/sys/fs/cgroup";
  const dirs = (dir: string): string[] => {
    try {
      return readdirSync(dir, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => `${dir}/${entry.name}`);
    } catch {
      return []; // removed while we looked
    }
  };
  const all = dirs(root).flatMap((dir) => [dir, ...dirs(dir).flatMap((child) => [child, ...dirs(child)])]);
  const besides = groupsOfStarters();
  return all.filter((path) => !besides.some((prefix) => path.includes(prefix)));
}

/** Where whoever started us puts each of its commands into a group of its own, those beside ours are its business. */
function groupsOfStarters(): string[] {
  return lines(readFileSync("/proc/self/cgroup", "utf8"))
    .map((line) => dirname(line.split(":")[2] ?? "/"))
    .filter((parent) => parent !== "/")
    .map((parent) => `${parent}/`);
}

function processes(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
        return watchedPrograms.test(name) ? [`${name} (${pid})`] : [];
      } catch {
        return []; // it ended while we looked
      }
    });
}
