// A small Debian system, made from its packages, booted with systemd as process 1 in namespaces of its own: what a service has
// to live with, rebooted and taken away by the test.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmdirSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Arch } from "../../release/contents.ts";
import { debianArch } from "../../release/debian-packages.ts";
import { createNetns, deleteNetns } from "../../plugins/kit/os/net/netns.ts";
import { withPrivateApt } from "../../release/private-apt.ts";
import { until } from "./until.ts";

/** The namespaces that make up the box. */
const everything = ["-m", "-p", "-n", "-u", "-i", "-C", "--"];
const execute = promisify(execFile);
const project = join(import.meta.dirname, "../..");
const packages =
  "systemd systemd-sysv dbus runc conmon nftables iproute2 bash dash coreutils util-linux mount procps grep sed mawk findutils tar gzip kmod base-files base-passwd hostname libc-bin libstdc++6 busybox-static";

/** Where the tests keep compiled code is no place in the box. */
const { NODE_COMPILE_CACHE: _, ...env } = process.env;

export interface BootedBox {
  /** Where the box's root is seen from outside. */
  readonly root: string;
  /** Runs a program inside; rejects when it fails. */
  run(...command: string[]): Promise<string>;
  /** Starts a program inside that goes on. */
  start(...command: string[]): ChildProcess;
  /** Runs a program of this machine in the box's network. */
  outside(...command: string[]): Promise<string>;
  /** Asks systemd for it, and waits until everything has started again. */
  reboot(): Promise<void>;
  /** Ends everything in it, and removes it. */
  remove(): Promise<void>;
}

/** Rejects with what went wrong when packages cannot be had or systemd does not come up here. */
export async function bootBox(): Promise<BootedBox> {
  const image = boxImage();
  const root = mkdtempSync(join(tmpdir(), "skiff-box-"));
  const name = `skiff-box-${randomBytes(4).toString("hex")}`;
  execFileSync("tar", ["-xf", image, "-C", root]);
  let running: Running | undefined;
  const box: BootedBox = {
    root,
    start: (...command) => spawn("nsenter", ["-t", String(running?.pid), ...everything, ...command], { env }),
    run: (...command) => inside([...everything, ...command]),
    outside: (...command) => inside(["-n", "--", ...command]),
    async reboot() {
      // The answer may be cut off by what it asks for.
      await box.run("systemctl", "reboot").catch(() => {});
      await running?.ended;
      running = await boot(root, name);
    },
    async remove() {
      running?.child.kill("SIGKILL");
      await running?.ended;
      await until("the box's cgroups to be empty", () => removeCgroups(name));
      rmSync(root, { recursive: true, force: true });
    },
  };
  const inside = async (args: string[]) => {
    const { stdout } = await execute("nsenter", ["-t", String(running?.pid), ...args], { env, maxBuffer: 64 << 20 });
    return stdout;
  };
  try {
    running = await boot(root, name);
  } catch (error) {
    await box.remove();
    throw error;
  }
  return box;
}

/** Puts the second on the wire of the first, with a name and an address of its own. Returns what cuts it again. */
export async function connectBoxes(first: BootedBox, second: BootedBox, as: { name: string; address: string }) {
  const wire = `skiff-wire-${randomBytes(4).toString("hex")}`;
  const inWire = (...args: string[]) => execFileSync("ip", ["-n", wire, ...args]);
  // Not by `ip netns add`: where it is the first to use the folder it mounts it over itself, and covers the namespaces of others in it.
  const path = `/run/netns/${wire}`;
  createNetns(path);
  inWire("link", "add", "switch0", "type", "bridge");
  inWire("link", "set", "switch0", "up");
  for (const [index, box] of [first, second].entries()) {
    await box.outside("ip", "link", "set", "far0", "netns", wire, "name", `far${index}`);
    inWire("link", "set", `far${index}`, "master", "switch0", "up");
  }
  await second.run("hostname", as.name);
  await second.outside("ip", "address", "flush", "dev", "eth0");
  await second.outside("ip", "link", "set", "eth0", "address", "02:00:00:00:00:11");
  await second.outside("ip", "address", "add", `${as.address}/24`, "dev", "eth0");
  await second.outside("ip", "route", "replace", "default", "via", "192.0.2.1");
  return async () => {
    await first.outside("ip", "link", "delete", "eth0");
    deleteNetns(path);
    await first.outside("sh", "-c", network);
  };
}

/** A tar of the system, made once for this checkout. */
function boxImage(): string {
  const image = join(project, ".cache/box.tar");
  const recipe = `${image}.made-from`;
  const ingredients = readFileSync(import.meta.filename, "utf8");
  if (existsSync(image) && existsSync(recipe) && readFileSync(recipe, "utf8") === ingredients) return image;
  const scratch = mkdtempSync(join(tmpdir(), "skiff-box-image-"));
  try {
    const root = join(scratch, "root");
    for (const part of ["bin", "sbin", "lib", "lib64"]) {
      mkdirSync(join(root, "usr", part), { recursive: true });
      symlinkSync(`usr/${part}`, join(root, part));
    }
    const debs = join(scratch, "debs");
    const arch = debianArch[process.arch as Arch];
    withPrivateApt(arch, (apt) => apt.download(apt.closure(packages.split(" ")), debs));
    for (const deb of readdirSync(debs)) {
      const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"';
      execFileSync("sh", ["-c", unpack, "sh", join(debs, deb), root]);
    }
    // What the packages' own scripts would have done.
    for (const folder of ["opt", "srv", "usr/local/bin"]) mkdirSync(join(root, folder), { recursive: true });
    for (const file of ["passwd", "group"])
      cpSync(join(root, `usr/share/base-passwd/${file}.master`), join(root, "etc", file));
    execFileSync("chroot", [root, "ldconfig"]);
    execFileSync("chroot", [root, "systemd-sysusers"], { stdio: "ignore" });
    if (!existsSync(join(root, "usr/bin/awk"))) symlinkSync("mawk", join(root, "usr/bin/awk"));
    if (!existsSync(join(root, "var/run"))) symlinkSync("/run", join(root, "var/run"));
    writeFileSync(join(root, "etc/machine-id"), `${randomBytes(16).toString("hex")}\n`);
    writeFileSync(join(root, "etc/hostname"), "box\n");
    mkdirSync(join(project, ".cache"), { recursive: true });
    execFileSync("tar", ["-C", root, "-cf", join(scratch, "box.tar"), "."]);
    cpSync(join(scratch, "box.tar"), `${image}.${process.pid}`);
    renameSync(`${image}.${process.pid}`, image);
    writeFileSync(recipe, ingredients);
    return image;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

interface Running {
  readonly child: ChildProcess;
  /** Of systemd, as seen from outside. */
  readonly pid: number;
  readonly ended: Promise<void>;
}

/** The names of the control group hierarchies of version 1; empty where there is only version 2. */
function hierarchies(): string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  return mounts.filter((line) => line.split(" ")[2] === "cgroup").map((line) => line.split(" ")[1] ?? "");
}

const cgroupRoots = () => {
  const old = hierarchies();
  const unified = "/sys/fs/cgroup/unified";
  return old.length === 0 ? ["/sys/fs/cgroup"] : [...old, ...(existsSync(unified) ? [unified] : [])];
};

async function boot(root: string, name: string): Promise<Running> {
  const args = [name, root, cgroupRoots().join(" "), hierarchies().join(" ")];
  const child = spawn("sh", ["-c", outer, "sh", inner, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-5000)));
  let hasEnded = false;
  const ended = new Promise<void>((resolve) =>
    child.once("exit", () => {
      hasEnded = true;
      resolve();
    }),
  );
  try {
    const pid = await until("systemd to start", () => {
      if (hasEnded) return -1;
      const first = childOf(child.pid ?? 0);
      return first !== undefined && readFileSync(`/proc/${first}/comm`, "utf8") === "systemd\n" && first;
    });
    if (pid === -1) throw new Error("it ended at once");
    await until(
      "systemd to have started everything",
      async () => {
        const { stdout } = await execute("nsenter", [
          "-t",
          String(pid),
          "-m",
          "-p",
          "-C",
          "--",
          "systemctl",
          "is-system-running",
        ]).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
        return /running|degraded/.test(stdout);
      },
      90_000,
    );
    return { child, pid, ended };
  } catch (error) {
    child.kill("SIGKILL");
    await ended;
    throw new Error(`systemd does not boot here: ${(error as Error).message}: ${said.trim()}`, { cause: error });
  }
}

function childOf(pid: number): number | undefined {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? undefined : Number(text.split(" ")[0]);
}

/** True when none is left. */
function removeCgroups(name: string): boolean {
  for (const root of cgroupRoots()) {
    const folder = join(root, name);
    if (!existsSync(folder)) continue;
    const below = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isDirectory());
    const paths = below.map((entry) => join(entry.parentPath, entry.name));
    for (const path of [...paths.sort((a, b) => b.length - a.length), folder]) rmdirSync(path);
  }
  return true;
}

const network = `
ip link set lo up
ip link add eth0 address 02:00:00:00:00:01 type veth peer name far0 address 02:00:00:00:00:02
ip link set far0 up
ip address add 192.0.2.10/24 dev eth0
ip link set eth0 up
ip route add default via 192.0.2.1
`;

// A cgroup of its own in each hierarchy, then namespaces; `--kill-child` ends the box with the test.
const outer = `
set -e
inner=$1 name=$2 root=$3 groups=$4 old=$5
for group in $groups; do
  mkdir -p "$group/$name"
  for file in cpuset.cpus cpuset.mems; do
    if [ -e "$group/$name/$file" ] && [ -e "$group/$file" ]; then cat "$group/$file" >"$group/$name/$file"; fi
  done
  echo $$ >"$group/$name/cgroup.procs"
done
exec unshare -f -p -m -n -u -i -C --kill-child sh -c "$inner" sh "$root" "$old"
`;

// Inside: the file systems that a container manager gives, a network card that leads nowhere, and systemd.
const inner = `
set -e
root=$1 old=$2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
if [ -n "$old" ]; then
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  for group in $old; do
    controllers=\${group##*/}
    mkdir "$root/sys/fs/cgroup/$controllers"
    [ "$controllers" != systemd ] || controllers=none,name=systemd
    mount -t cgroup -o "$controllers" cgroup "$root/sys/fs/cgroup/\${group##*/}"
  done
else
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
fi
${network}
hostname box
cd "$root"
mkdir -p .outside
pivot_root . .outside
cd /
umount -l /.outside
rmdir /.outside
exec env -i container=skiff PATH=/usr/sbin:/usr/bin TERM=dumb /sbin/init </dev/null
`;
