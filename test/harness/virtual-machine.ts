// A whole Debian machine in qemu, made from its packages: its own kernel with cgroup v2 and AppArmor, systemd, a disk that
// survives a reboot, and power that can be pulled. No traffic leaves it; commands go in by a socket that systemd serves.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";

const project = join(import.meta.dirname, "../..");
/** For one answer of a machine that is starting. */
const patienceMs = 20_000;
interface Machine {
  readonly qemu: string;
  readonly kernel: string;
  readonly options: string[];
  /** What is emulated where the processor's own cannot be used. */
  readonly cpu: string;
  readonly console: string;
}
const machines: Partial<Record<NodeJS.Architecture, Machine>> = {
  x64: {
    qemu: "qemu-system-x86_64",
    kernel: "linux-image-amd64",
    options: ["-machine", "q35"],
    cpu: "Nehalem",
    console: "ttyS0",
  },
  arm64: {
    qemu: "qemu-system-aarch64",
    kernel: "linux-image-arm64",
    options: ["-machine", "virt"],
    cpu: "cortex-a72",
    console: "ttyAMA0",
  },
};
const packages =
  "systemd-sysv udev dbus apparmor kmod runc crun conmon criu nftables iptables iproute2 iputils-ping procps busybox-static libstdc++6 e2fsprogs xfsprogs nfs-kernel-server tgt open-iscsi docker.io containerd containernetworking-plugins socat git";

export interface VirtualMachine {
  /** Runs a program inside; rejects with what it said when it fails. */
  run(...command: string[]): Promise<string>;
  /** Starts a program inside whose output comes while it runs; it ends when it wants to, or with the machine. */
  start(...command: string[]): { output(): string; ended: Promise<void> };
  /** Writes a file inside. */
  put(path: string, content: string | Uint8Array): Promise<void>;
  /** Asks systemd for it, and waits until everything has started again. */
  reboot(): Promise<void>;
  /** Pulls the plug: what the machine had not written to its disk is gone. */
  cutPower(): Promise<void>;
  /** Starts it again, and waits until everything has started. */
  powerOn(): Promise<void>;
  /** Ends it, and removes its disk. */
  remove(): Promise<void>;
}

/** Why no machine can run here, or undefined. */
export function noVirtualMachine(): string | undefined {
  const machine = machines[process.arch];
  if (machine === undefined) return `no virtual machine is described for ${process.arch}`;
  if (process.getuid?.() !== 0) return "making a system from Debian's packages needs root";
  const missing = [machine.qemu, "qemu-img", "mmdebstrap", "mkfs.ext4"].filter((program) => !isOnPath(program));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(", ")} (./skiff setup long)`;
}

const isOnPath = (program: string) =>
  [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin"].some((folder) => existsSync(join(folder, program)));

/** Boots one with this checkout at /srv/checkout, read only. Rejects with what the console showed when it does not come up. */
export async function bootMachine(): Promise<VirtualMachine> {
  const image = machineImage();
  const scratch = mkdtempSync(join(tmpdir(), "skiff-machine-"));
  const disk = join(scratch, "disk.qcow2");
  execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", "-b", join(image, "disk.img"), "-F", "raw", disk]);
  const port = await freePort();
  let said = "";
  const power = () => start({ image, disk, port, onText: (text) => (said = (said + text).slice(-20_000)) });
  let running = power();
  const comesUp = async (coming: Promise<void>) => {
    const tooSoon = running.ended.then(() => {
      throw new Error("it ended");
    });
    try {
      await Promise.race([coming, tooSoon]);
    } catch (error) {
      const last = said.trim().slice(-2000);
      throw new Error(`the machine does not come up: ${(error as Error).message}: ${last}`, { cause: error });
    }
  };
  const machine: VirtualMachine = {
    run: (...command) => commandIn(port, command),
    start(...command) {
      let output = "";
      const ended = commandIn(port, command, { onText: (text) => (output += text) });
      return { output: () => output, ended: ended.then(() => {}).catch(() => {}) };
    },
    put: async (path, content) => void (await commandIn(port, ["sh", "-c", 'cat >"$0"', path], { input: content })),
    async reboot() {
      const bootOf = () => commandIn(port, ["cat", "/proc/sys/kernel/random/boot_id"], { patienceMs });
      const last = await bootOf();
      // The answer may be cut off by what it asks for.
      await commandIn(port, ["systemctl", "reboot"], { patienceMs }).catch(() => {});
      await comesUp(until("another boot", async () => (await bootOf()) !== last, 600_000).then(() => hasStarted(port)));
    },
    async cutPower() {
      running.child.kill("SIGKILL");
      await running.ended;
    },
    async powerOn() {
      running = power();
      await comesUp(hasStarted(port));
    },
    async remove() {
      await machine.cutPower();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
  try {
    await comesUp(hasStarted(port));
  } catch (error) {
    await machine.remove();
    throw error;
  }
  return machine;
}

/** Other modules than these (kvm_pvm) run only kernels that are made for them. */
function isFast(): boolean {
  return (
    existsSync("/dev/kvm") &&
    (process.arch === "arm64" || ["intel", "amd"].some((name) => existsSync(`/sys/module/kvm_${name}`)))
  );
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

function start(of: { image: string; disk: string; port: number; onText(text: string): void }): Running {
  const machine = machines[process.arch];
  if (machine === undefined) throw new Error(noVirtualMachine());
  const child = spawn(
    // It ends with the test, however that ends.
    "setpriv",
    [
      ["--pdeathsig", "KILL", machine.qemu, ...machine.options],
      isFast() ? ["-accel", "kvm", "-cpu", "host"] : ["-accel", "tcg,thread=multi,tb-size=512", "-cpu", machine.cpu],
      ["-smp", "2", "-m", "2048"],
      ["-nodefaults", "-display", "none", "-serial", "stdio", "-device", "virtio-rng-pci"],
      ["-kernel", join(of.image, "vmlinuz"), "-initrd", join(of.image, "initrd")],
      ["-append", `root=/dev/vda rw console=${machine.console} net.ifnames=0 panic=-1`],
      ["-drive", `file=${of.disk},if=virtio,cache=writeback`],
      ["-netdev", `user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:${of.port}-:1024`],
      ["-device", "virtio-net-pci,netdev=net"],
      ["-virtfs", `local,path=${project},mount_tag=checkout,security_model=none,readonly=on`],
    ].flat(),
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", of.onText);
  return { child, ended: new Promise((resolve) => child.once("close", () => resolve())) };
}

async function hasStarted(port: number): Promise<void> {
  const look = () => commandIn(port, ["sh", "-c", "systemctl is-system-running || true"], { patienceMs });
  await until("systemd to have started everything", async () => /running|degraded/.test(await look()), 600_000);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

interface CommandOptions {
  readonly input?: string | Uint8Array;
  /** How long it may be silent; without it, for ever. */
  readonly patienceMs?: number;
  onText?(text: string): void;
}

/** One connection is one command: a line that says it, its input, its output, and a line with how it ended. */
function commandIn(
  port: number,
  command: string[],
  { input = "", patienceMs: silenceMs = 0, onText }: CommandOptions = {},
): Promise<string> {
  const mark = randomBytes(12).toString("hex");
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    socket.on("error", reject);
    // A machine that is starting may take a connection and never answer it.
    socket.setTimeout(silenceMs, () => socket.destroy(new Error("the machine does not answer")));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      onText?.(chunk.toString());
    });
    socket.on("end", () => {
      socket.destroy();
      const text = Buffer.concat(chunks).toString();
      const end = text.lastIndexOf(`\n${mark} `);
      if (end < 0) return reject(new Error(`the machine broke off while it ran ${command.join(" ")}`));
      const [code, errors] = text
        .slice(end + mark.length + 2)
        .trim()
        .split(" ");
      const [stdout, stderr] = [text.slice(0, end), Buffer.from(errors ?? "", "base64").toString()];
      if (code === "0") return resolve(stdout);
      const message = `${command.join(" ")} in the machine ended with ${code}: ${stderr.trim() || stdout.trim()}`;
      reject(Object.assign(new Error(message), { code: Number(code), stdout, stderr }));
    });
    socket.write(`${mark} ${Buffer.from(quoted).toString("base64")}\n`);
    socket.end(input);
  });
}

// What serves the commands inside.
const control = `#!/bin/sh
# One line (a mark, and a command in base64), then the command's input.
read -r mark command
errors=$(mktemp -p /srv)
sh -c "$(echo "$command" | base64 -d)" 2>"$errors"
printf '\\n%s %s %s\\n' "$mark" $? "$(base64 -w0 "$errors")"
rm "$errors"
`;
const files: Record<string, string> = {
  "usr/local/lib/control": control,
  "etc/systemd/system/control.socket":
    "[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=1024\nAccept=yes\nMaxConnections=1000\nTriggerLimitIntervalSec=0\n",
  "etc/systemd/system/control@.service":
    "[Unit]\nCollectMode=inactive-or-failed\n[Service]\nExecStart=/bin/sh /usr/local/lib/control\nStandardInput=socket\nStandardError=journal\nEnvironment=HOME=/root\n",
  "etc/systemd/system/sockets.target.wants/control.socket": "",
  // Without a daemon: on an emulated processor one more may take minutes to start.
  "etc/systemd/system/card.service":
    "[Unit]\nBindsTo=sys-subsystem-net-devices-eth0.device\nAfter=sys-subsystem-net-devices-eth0.device\nBefore=network.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=ip address add 10.0.2.15/24 dev eth0\nExecStart=ip link set eth0 up\nExecStart=ip route add default via 10.0.2.2\n",
  "etc/systemd/system/multi-user.target.wants/card.service": "",
  "etc/systemd/system.conf.d/patience.conf": "[Manager]\nDefaultTimeoutStartSec=600\nDefaultDeviceTimeoutSec=600\n",
  "etc/fstab": "checkout /srv/checkout 9p trans=virtio,ro,msize=262144,cache=loose,nofail 0 0\n",
  "etc/hostname": "machine\n",
  "etc/hosts": "127.0.0.1 localhost machine\n",
};

/** What stays off until a test wants it. */
const idle = ["docker.service", "docker.socket", "containerd.service", "tgt.service", "nfs-server.service"];

/** A folder with disk, kernel and initial RAM disk, made once for this checkout. */
function machineImage(): string {
  const image = join(project, ".cache/machine");
  const names = [machines[process.arch]?.kernel, ...packages.split(" ")];
  const ingredients = JSON.stringify({ names, files, idle });
  const recipe = join(image, "made-from");
  if (existsSync(recipe) && readFileSync(recipe, "utf8") === ingredients) return image;
  const made = `${image}.${process.pid}`;
  const root = join(made, "root");
  try {
    mkdirSync(made, { recursive: true });
    const thin = ["doc", "man", "locale"].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);
    const args = ["--variant=minbase", `--include=${names.join(",")}`, ...thin, "--quiet", "bookworm", root];
    execFileSync("mmdebstrap", args, { stdio: ["ignore", "ignore", "inherit"] });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      if (path.includes(".wants/")) execFileSync("ln", ["-s", `../${path.split("/").at(-1)}`, join(root, path)]);
      else writeFileSync(join(root, path), text);
    }
    execFileSync("systemctl", ["--quiet", `--root=${root}`, "disable", ...idle]);
    for (const part of ["vmlinuz", "initrd"]) {
      const name = readdirSync(join(root, "boot")).find((entry) => entry.startsWith(part)) ?? part;
      renameSync(join(root, "boot", name), join(made, part));
    }
    execFileSync("mkfs.ext4", ["-q", "-d", root, join(made, "disk.img"), "8G"]);
    rmSync(root, { recursive: true, force: true });
    writeFileSync(join(made, "made-from"), ingredients);
    rmSync(image, { recursive: true, force: true });
    renameSync(made, image);
    return image;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
