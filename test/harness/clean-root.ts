// A Debian system with nothing but apt, Node and npm, in namespaces of its own: what a new user has before the first command.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { until } from "./until.ts";

export interface CleanRoot {
  /** Where the system's root is seen from outside. */
  readonly root: string;
  /** Runs a script as root in the checkout and returns what it prints; `online` is on this machine's own network. */
  run(script: string, how?: { readonly online?: boolean }): Promise<string>;
  /** Starts a script that goes on. */
  start(script: string): ChildProcess;
  remove(): Promise<void>;
}

const project = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const sources = "/etc/apt/sources.list.d";
/** Node as it is here, and how npm and TLS reach the registry from here. */
const copied = [
  "/usr/bin/node",
  "/usr/lib/node_modules/npm",
  "/usr/etc/npmrc",
  "/root/.npmrc",
  "/etc/resolv.conf",
  "/etc/ssl/certs/ca-certificates.crt",
];

/** Why there can be none here, or false: fits `{ skip }`. */
export function withoutCleanRoot(): string | false {
  if (process.getuid?.() !== 0) return "namespaces need root";
  if (!existsSync(join(project, ".git"))) return "this is no checkout that could be cloned";
  for (const needed of ["/usr/bin/node", "/usr/lib/node_modules/npm", "/usr/bin/mmdebstrap", sources])
    if (!existsSync(needed)) return `${needed} is missing here`;
  return false;
}

export async function cleanRoot(): Promise<CleanRoot> {
  const root = mkdtempSync(join(tmpdir(), "skiff-clean-"));
  execFileSync("tar", ["-xf", systemImage(), "-C", root]);
  for (const path of copied.filter((one) => existsSync(one))) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    cpSync(path, join(root, path), { recursive: true, dereference: true });
  }
  execFileSync("ln", ["-s", "../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/bin/npm")]);
  execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${project}`, join(root, "root/skiff")]);
  const holder = spawn("unshare", ["-f", "-p", "-m", "-n", "--kill-child", "sh", "-c", setUp, "sh", root], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => holder.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once("data", () => resolve());
    holder.once("exit", () => reject(new Error("the namespaces of a clean system cannot be made here")));
  });
  const pid = await until("the first process of the clean system", () => childOf(holder.pid ?? 0));
  const command = (script: string, isOnline: boolean) => {
    const enter = ["-t", String(pid), "-m", "-p", ...(isOnline ? [] : ["-n"]), "--"];
    return [...enter, "bash", "-c", `exec 2>&1; set -eo pipefail; cd /root/skiff\n${script}`];
  };
  const env = { HOME: "/root", PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C" };
  return {
    root,
    async run(script, { online = false } = {}) {
      try {
        return (await execute("nsenter", command(script, online), { env, maxBuffer: 64 << 20 })).stdout;
      } catch (error) {
        throw new Error(`${script}\n${(error as { stdout?: string }).stdout ?? ""}`, { cause: error });
      }
    },
    start: (script) => spawn("nsenter", command(script, false), { env, stdio: ["ignore", "pipe", "inherit"] }),
    async remove() {
      holder.kill("SIGKILL");
      await ended;
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** A tar of the system, made once for this checkout. */
function systemImage(): string {
  const image = join(project, ".cache/clean-root.tar");
  if (existsSync(image)) return image;
  mkdirSync(dirname(image), { recursive: true });
  const made = `${image}.${process.pid}.tar`;
  const named = readdirSync(sources).map((name) => join(sources, name));
  const [, suite = "stable"] = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
  const args = ["--variant=minbase", "--include=libstdc++6,ca-certificates", "--quiet", suite, made, ...named];
  execFileSync("mmdebstrap", args, { stdio: ["ignore", "ignore", "inherit"] });
  renameSync(made, image);
  return image;
}

function childOf(pid: number): number | undefined {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? undefined : Number(text.split(" ")[0]);
}

const setUp = `
set -e
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
ip link set lo up
ip link add eth0 type veth peer name far0
ip link set far0 up
ip address add 198.51.100.10/24 dev eth0
ip link set eth0 up
ip route add default via 198.51.100.1
# Not by chroot: what enters the mount namespace later, as runc exec does, would find itself in this machine's root.
mkdir "$root/.old"
cd "$root"
pivot_root . .old
umount -l /.old
rmdir /.old
echo made
exec sleep infinity
`;
