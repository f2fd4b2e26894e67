// A containerd of a test's own: private root, state, socket, CNI network and images; nothing is left behind.

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openRemote } from "../../cri/remote/open.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import { uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { busyboxImage, imageArchive, pauseImage, pauseImageName, type TestImage } from "./images.ts";
import {
  deleteInterface,
  killAll,
  processesNaming,
  removeFolder,
  unmountBelow,
  withDescendants,
} from "./left-behind.ts";
import { until } from "./until.ts";

export interface TestContainerd {
  /** The CRI socket's path. */
  readonly socket: string;
  /** Everything of this containerd is below; free for the test's own files too. */
  readonly dir: string;
  /** Pods get addresses from here, reachable from the host. */
  readonly subnet: string;
  readonly logFile: string;
  /** Of the daemon that was started last. */
  readonly pid: number | undefined;
  ctr(...args: string[]): Promise<string>;
  /** Resolves when CRI lists them. */
  importImages(...images: TestImage[]): Promise<void>;
  /** Kills the daemon without warning; containers and shims live on. */
  kill(): Promise<void>;
  /** Starts it again on what it left. */
  start(): Promise<void>;
  /** Removes every pod, stops the daemon and cleans up. May be called twice. */
  stop(): Promise<void>;
}

export interface ContainerdOptions {
  /** Imported at the start; busybox unless told. The pause image always is. */
  readonly images?: readonly TestImage[];
  /** Another network than the harness's own: where its programs lie, and the list, as text. */
  readonly network?: { readonly binDir: string; readonly list: string };
  /** Images and containers lie on a file system of their own, of this size in MiB, below `root` of the folder. */
  readonly rootMib?: number;
}

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

/** Why this machine cannot run containerd tests, or false: fits `{ skip }`. */
export function withoutContainerd(): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  for (const program of ["containerd", "ctr", "runc", "/usr/lib/cni/bridge", "/bin/busybox"]) {
    try {
      execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    } catch {
      return `needs ${program}`;
    }
  }
  return false;
}

/** Starts one and stops it when the test ends. */
export async function startContainerd(t: Teardown, options: ContainerdOptions = {}): Promise<TestContainerd> {
  const containerd = new PrivateContainerd(options);
  t.teardown(() => containerd.stop());
  await containerd.start();
  await containerd.importImages(pauseImage(), ...(options.images ?? [busyboxImage()]));
  return containerd;
}

class PrivateContainerd implements TestContainerd {
  readonly dir = mkdtempSync(join(tmpdir(), "skiff-containerd-"));
  readonly socket = join(this.dir, "c.sock");
  readonly logFile = join(this.dir, "containerd.log");
  readonly subnet = `10.${randomInt(128, 250)}.${randomInt(0, 256)}.0/24`;
  readonly #bridge = `skt${randomBytes(4).toString("hex")}`;
  readonly #remote = openRemote({ socket: this.socket });
  #daemon: ChildProcess | undefined;
  #stopped: Promise<void> | undefined;

  constructor({ network, rootMib }: ContainerdOptions) {
    mkdirSync(join(this.dir, "cni"));
    if (rootMib !== undefined) mountMemory(join(this.dir, "root"), rootMib);
    writeFileSync(join(this.dir, "config.toml"), configOf(this.dir, this.socket, network?.binDir ?? "/usr/lib/cni"));
    writeFileSync(
      join(this.dir, "cni/10-test.conflist"),
      network?.list ?? bridgeNetwork(this.dir, this.#bridge, this.subnet),
    );
  }

  get pid(): number | undefined {
    return this.#daemon?.pid;
  }

  async start(): Promise<void> {
    const log = openSync(this.logFile, "a");
    const daemon = spawn("containerd", ["-c", join(this.dir, "config.toml")], {
      stdio: ["ignore", log, log],
      // Another runtime's settings must not leak in.
      env: { PATH: process.env.PATH, TMPDIR: this.dir },
    });
    closeSync(log);
    this.#daemon = daemon;
    const request = cri.StatusRequest.create();
    await until("containerd to be ready", async () => {
      if (daemon.exitCode !== null) throw new Error(`containerd ended: ${this.#logTail()}`);
      const { status } = await this.#remote.runtime.status(request, within(5000));
      return status?.conditions.every((condition) => condition.status);
    }).catch((error) => {
      throw new Error(`containerd did not become ready: ${this.#logTail()}`, { cause: error });
    });
  }

  async kill(): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const ended = new Promise((resolve) => daemon.once("exit", resolve));
    daemon.kill("SIGKILL");
    await ended;
  }

  async ctr(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)("ctr", ["-a", this.socket, "-n", "k8s.io", ...args]);
    return stdout;
  }

  async importImages(...images: TestImage[]): Promise<void> {
    if (images.length === 0) return;
    const archive = join(this.dir, `images-${randomBytes(4).toString("hex")}.tar`);
    writeFileSync(archive, await imageArchive(...images));
    await this.ctr("images", "import", "--no-unpack", archive);
    rmSync(archive);
    for (const { name } of images) {
      const request = cri.ImageStatusRequest.create({ image: { image: name } });
      await until(`image ${name}`, async () => (await this.#remote.image.imageStatus(request, within(5000))).image);
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    try {
      if (this.#daemon?.exitCode !== null || this.#daemon.signalCode !== null) await this.start();
      await this.#removePods();
    } finally {
      await this.#remote.close();
      await this.kill();
      // Only after a failure above is there anything left of these.
      killAll(withDescendants(processesNaming(this.dir)));
      unmountBelow(this.dir);
      deleteInterface(this.#bridge);
      removeFolder(this.dir);
    }
  }

  async #removePods(): Promise<void> {
    const { runtime } = this.#remote;
    const { items } = await runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), uninterrupted);
    for (const { id: podSandboxId } of items) {
      await runtime.stopPodSandbox({ podSandboxId }, uninterrupted);
      await runtime.removePodSandbox({ podSandboxId }, uninterrupted);
    }
  }

  #logTail(): string {
    return readFileSync(this.logFile, "utf8").trim().split("\n").slice(-15).join("\n");
  }
}

function mountMemory(path: string, mib: number): void {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mib}m`, "tmpfs", path]);
}

function configOf(dir: string, socket: string, binDir: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "${dir}/root"
state = "${dir}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${socket}"
[debug]
  level = "warn"
[${cri}]
  sandbox_image = "${pauseImageName}"
  # The machine may not let anyone lower an oom score.
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
[${cri}.containerd]
  snapshotter = "overlayfs"
[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
[${cri}.cni]
  bin_dir = "${binDir}"
  conf_dir = "${dir}/cni"
`;
}

/** A list of Debian's programs: a bridge of its own with addresses from the subnet. */
export function bridgeNetwork(dir: string, bridge: string, subnet: string): string {
  return JSON.stringify({
    cniVersion: "0.4.0",
    name: bridge,
    plugins: [
      {
        type: "bridge",
        bridge,
        isGateway: true,
        ipMasq: false,
        ipam: { type: "host-local", ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }], dataDir: `${dir}/ipam` },
      },
    ],
  });
}
