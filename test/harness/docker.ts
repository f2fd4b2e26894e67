// A Docker daemon of a test's own, with a containerd of its own: private roots and sockets, no networks, nothing left behind. On it, a
// runtime with a pod network of its own.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeNetwork } from "../../cni/invoke/remove-network.ts";
import { networkLists } from "../../cni/invoke/network-lists.ts";
import { writeNetworkList } from "../../cni/invoke/write-network-list.ts";
import { type DockerRuntime, dockerRuntime, type DockerRuntimeOptions } from "../../cri/docker/docker-runtime.ts";
import { Engine } from "../../cri/docker/engine/engine.ts";
import { instanceCgroup, instanceName } from "../../cri/docker/labels.ts";
import { uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { busyboxImage, imageArchive, type TestImage } from "./images.ts";
import { killAll, processesNaming, removeCgroup, removeFolder, unmountBelow, withDescendants } from "./left-behind.ts";
import { removePods } from "./native.ts";
import { until } from "./until.ts";

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

export interface TestDocker {
  readonly dir: string;
  readonly socket: string;
  readonly subnet: string;
  readonly bridge: string;
  readonly options: DockerRuntimeOptions;
  /** The daemon's processes. */
  processes(): number[];
  /** The runtime that is open now. */
  current(): DockerRuntime;
  /** Lets go of it without a word to its containers, and opens it anew on what it left. */
  reopen(meanwhile?: () => Promise<void>): Promise<DockerRuntime>;
  importImages(...images: TestImage[]): Promise<void>;
  /** Kills the daemon without warning. */
  killDaemon(): Promise<void>;
  /** Starts it again on what it left. */
  startDaemon(): Promise<void>;
  /** Removes every pod, stops the daemon and cleans up. May be called twice. */
  stop(): Promise<void>;
}

/** Why this machine cannot run Docker tests, or false: fits `{ skip }`. */
export function withoutDocker(): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  for (const program of ["dockerd", "containerd", "runc", "/bin/busybox"]) {
    try {
      execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    } catch {
      return `needs ${program}`;
    }
  }
  return false;
}

export interface TestDockerOptions {
  readonly images?: readonly TestImage[];
  /** A registry that stands for these hosts, by plain HTTP. */
  readonly registry?: { readonly host: string; readonly standsFor: readonly string[] };
}

export async function startDocker(t: Teardown, options: TestDockerOptions = {}): Promise<TestDocker> {
  const docker = new PrivateDocker(options.registry);
  t.teardown(() => docker.stop());
  await docker.start();
  await docker.importImages(...(options.images ?? [busyboxImage()]));
  return docker;
}

class PrivateDocker implements TestDocker {
  readonly dir = mkdtempSync(join(tmpdir(), "sd-"));
  readonly socket = join(this.dir, "docker.sock");
  readonly bridge = `skd${randomBytes(4).toString("hex")}`;
  readonly subnet = `10.${randomInt(128, 250)}.${randomInt(0, 256)}.0/24`;
  readonly options: DockerRuntimeOptions = this.#optionsOf();
  #containerd: ChildProcess | undefined;
  #dockerd: ChildProcess | undefined;
  #runtime: DockerRuntime | undefined;
  #stopped: Promise<void> | undefined;
  readonly #registry: TestDockerOptions["registry"];

  constructor(registry: TestDockerOptions["registry"]) {
    this.#registry = registry;
  }

  async start(): Promise<void> {
    this.#containerd = this.#launch("containerd", ["-c", this.#containerdConfig()]);
    await this.startDaemon();
    this.#runtime = await dockerRuntime(this.options);
  }

  async startDaemon(): Promise<void> {
    const daemon = this.#launch("dockerd", [
      `--containerd=${join(this.dir, "containerd.sock")}`,
      `--host=unix://${this.socket}`,
      `--data-root=${join(this.dir, "root")}`,
      `--exec-root=${join(this.dir, "exec")}`,
      `--pidfile=${join(this.dir, "docker.pid")}`,
      `--config-file=${this.#emptyConfig()}`,
      "--bridge=none",
      "--iptables=false",
      "--ip6tables=false",
      "--ip-masq=false",
      "--storage-driver=overlay2",
      "--exec-opt=native.cgroupdriver=cgroupfs",
      ...(this.#registry?.standsFor ?? []).map((host) => `--insecure-registry=${host}`),
    ]);
    this.#dockerd = daemon;
    const engine = new Engine(this.socket);
    await until("Docker to be ready", async () => {
      if (hasEnded(daemon) || hasEnded(this.#containerd)) throw new Error("it ended");
      return engine.get("/info", {}, within(5000));
    }).catch((error) => {
      throw new Error(`Docker did not become ready: ${this.#logTail()}`, { cause: error });
    });
    engine.close();
  }

  async killDaemon(): Promise<void> {
    await end(this.#dockerd, "SIGKILL");
  }

  processes(): number[] {
    return withDescendants(processesNaming(this.dir));
  }

  current(): DockerRuntime {
    if (!this.#runtime) throw new Error("the runtime is not open");
    return this.#runtime;
  }

  async reopen(meanwhile?: () => Promise<void>): Promise<DockerRuntime> {
    await this.current().close();
    await meanwhile?.();
    this.#runtime = await dockerRuntime(this.options);
    return this.#runtime;
  }

  async importImages(...images: TestImage[]): Promise<void> {
    const archive = join(this.dir, `images-${randomBytes(4).toString("hex")}.tar`);
    writeFileSync(archive, await imageArchive(...images));
    await this.current().importArchive(archive, uninterrupted);
    rmSync(archive);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    try {
      // The test may have closed it: opened anew, so that nothing of it stays.
      const runtime = await this.reopen();
      await removePods(runtime);
      await runtime.close();
    } finally {
      await end(this.#dockerd);
      await end(this.#containerd);
      // Only after a failure above is there anything left of these.
      killAll(withDescendants(processesNaming(this.dir)));
      unmountBelow(this.dir);
      await removeNetwork({ name: this.bridge, bridge: this.bridge }, uninterrupted);
      removeCgroup(instanceCgroup(instanceName(this.options.root)));
      removeFolder(this.dir);
    }
  }

  #launch(program: string, args: string[]): ChildProcess {
    const log = openSync(join(this.dir, "log"), "a");
    // Another daemon's settings must not leak in.
    const proxy = this.#registry ? `http://${this.#registry.host}` : undefined;
    const env = { PATH: process.env.PATH, TMPDIR: this.dir, HTTP_PROXY: proxy, HTTPS_PROXY: proxy };
    const daemon = spawn(program, args, { stdio: ["ignore", log, log], env });
    closeSync(log);
    return daemon;
  }

  #optionsOf(): DockerRuntimeOptions {
    const confDir = join(this.dir, "cni");
    mkdirSync(confDir, { recursive: true });
    const { bridge, subnet } = this;
    writeNetworkList({ dir: confDir, podCidrs: [subnet], bridge, name: bridge, leaseDir: join(this.dir, "leases") });
    return {
      socket: this.socket,
      root: join(this.dir, "skiff"),
      network: networkLists({ confDir, binDirs: [], cacheDir: join(this.dir, "cni-cache") }),
    };
  }

  #containerdConfig(): string {
    const path = join(this.dir, "containerd.toml");
    const unused = ["grpc.v1.cri", "snapshotter.v1.aufs", "snapshotter.v1.btrfs", "snapshotter.v1.devmapper"];
    const disabled = [...unused, "snapshotter.v1.zfs", "internal.v1.opt"].map((name) => `"io.containerd.${name}"`);
    const lines = [
      "version = 2",
      `root = "${this.dir}/containerd"`,
      `state = "${this.dir}/containerd-state"`,
      `disabled_plugins = [${disabled.join(", ")}]`,
      "[grpc]",
      `address = "${this.dir}/containerd.sock"`,
      "[debug]",
      'level = "warn"',
    ];
    writeFileSync(path, lines.join("\n"));
    return path;
  }

  #emptyConfig(): string {
    const path = join(this.dir, "daemon.json");
    writeFileSync(path, "{}");
    return path;
  }

  #logTail(): string {
    return readFileSync(join(this.dir, "log"), "utf8").trim().split("\n").slice(-15).join("\n");
  }
}

const hasEnded = (daemon: ChildProcess | undefined) =>
  !daemon || daemon.exitCode !== null || daemon.signalCode !== null;

async function end(daemon: ChildProcess | undefined, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
  if (!daemon || hasEnded(daemon)) return;
  const exit = new Promise((resolve) => daemon.once("exit", resolve));
  daemon.kill(signal);
  const force = setTimeout(() => daemon.kill("SIGKILL"), 15_000);
  await exit;
  clearTimeout(force);
}
