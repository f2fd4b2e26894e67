// A CRI-O of a test's own, from PATH: private storage, state, socket and CNI network; images come from a registry on loopback, since it
// can import none. Nothing is left behind.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as cri from "../../cri/api/gen/runtime.js";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { builtImage, pauseImage, pauseImageName, type TestImage } from "./images.ts";
import {
  deleteInterface,
  killAll,
  processesNaming,
  removeFolder,
  unmountBelow,
  withDescendants,
} from "./left-behind.ts";
import { bridgeNetwork } from "./containerd.ts";
import type { TestRegistry } from "./registry.ts";
import { without } from "./stock-kubernetes.ts";
import { until } from "./until.ts";

export const noCrio: string | false = without("crio", "pinns", "conmon", "runc");

export interface TestCrio {
  readonly socket: string;
  readonly dir: string;
  /** Kills the daemon without warning; containers live on. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** The images are pulled by the names they have, from the given registry. */
export async function startCrio(
  t: { teardown(then: () => Promise<void>): void },
  registry: TestRegistry,
  images: readonly TestImage[],
): Promise<TestCrio> {
  const dir = mkdtempSync(join(tmpdir(), "skiff-crio-"));
  const socket = join(dir, "crio.sock");
  const bridge = `skt${randomBytes(4).toString("hex")}`;
  writeConfig(dir, socket, registry.host);
  const subnet = `10.${randomInt(128, 250)}.${randomInt(0, 256)}.0/24`;
  writeFileSync(join(dir, "cni/10-test.conflist"), bridgeNetwork(dir, bridge, subnet));
  const remote = openRemote({ socket });
  let daemon: ChildProcess | undefined;
  const logTail = () => readFileSync(join(dir, "crio.log"), "utf8").trim().split("\n").slice(-15).join("\n");

  const crio: TestCrio = {
    socket,
    dir,
    async start() {
      const log = openSync(join(dir, "crio.log"), "a");
      const started = spawn("crio", ["--config", join(dir, "crio.conf"), "--config-dir", join(dir, "none")], {
        stdio: ["ignore", log, log],
        env: {
          PATH: process.env.PATH,
          CONTAINER_REGISTRIES_CONF: join(dir, "registries.conf"),
          CONTAINERS_STORAGE_CONF: join(dir, "storage.conf"),
        },
      });
      closeSync(log);
      daemon = started;
      await until("CRI-O to be ready", async () => {
        if (started.exitCode !== null) throw new Error(`CRI-O ended: ${logTail()}`);
        const { status } = await remote.runtime.status(cri.StatusRequest.create(), within(5000));
        return status?.conditions.every((condition) => condition.status);
      }).catch((error) => {
        throw new Error(`CRI-O did not become ready: ${logTail()}`, { cause: error });
      });
    },
    async kill() {
      const running = daemon;
      if (!running || running.exitCode !== null || running.signalCode !== null) return;
      const ended = new Promise((resolve) => running.once("exit", resolve));
      running.kill("SIGKILL");
      await ended;
    },
  };
  t.teardown(async () => {
    try {
      const { items } = await remote.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), uninterrupted);
      for (const { id: podSandboxId } of items) {
        await remote.runtime.stopPodSandbox({ podSandboxId }, uninterrupted);
        await remote.runtime.removePodSandbox({ podSandboxId }, uninterrupted);
      }
    } finally {
      await remote.close();
      await crio.kill();
      // Only after a failure above is there anything left of these.
      killAll(withDescendants(processesNaming(dir)));
      unmountBelow(dir);
      deleteInterface(bridge);
      removeFolder(dir);
    }
  });
  await crio.start();
  for (const image of [pauseImage(), ...images]) {
    const [, repository = "", tag = ""] = /^(.+):(.+)$/.exec(image.name) ?? [];
    registry.add(repository, tag, await builtImage(image));
    await remote.image.pullImage(cri.PullImageRequest.create({ image: { image: image.name } }), uninterrupted);
  }
  return crio;
}

function writeConfig(dir: string, socket: string, registryHost: string): void {
  mkdirSync(join(dir, "cni"));
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
  write("policy.json", JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
  write(
    "registries.conf",
    [
      ["skiff.test", `${registryHost}/skiff.test`],
      [registryHost, registryHost],
    ]
      .map(([prefix, location]) => `[[registry]]\nprefix = "${prefix}"\nlocation = "${location}"\ninsecure = true\n`)
      .join(""),
  );
  write("storage.conf", `[storage]\ndriver = "overlay"\ngraphroot = "${dir}/root"\nrunroot = "${dir}/run"\n`);
  // The machine may not let anyone lower an oom score, which CRI-O insists on for a pod's first process, nor have the capability for it.
  const ociRuntime = `#!/bin/sh
fit() { sed -i 's/"oomScoreAdj": *-[0-9]*/"oomScoreAdj":0/; s/"CAP_SYS_RESOURCE",//g' "$1"; }
for word; do
  case $last in
    -b | --bundle) fit "$word/config.json" ;;
    -p | --process) fit "$word" ;;
  esac
  last=$word
done
exec runc "$@"
`;
  writeFileSync(join(dir, "oci-runtime"), ociRuntime, { mode: 0o755 });
  write(
    "crio.conf",
    `[crio]
root = "${dir}/root"
runroot = "${dir}/run"
storage_driver = "overlay"
log_dir = "${dir}/logs"
version_file = "${dir}/version"
clean_shutdown_file = "${dir}/clean.shutdown"
internal_wipe = false
[crio.api]
listen = "${socket}"
stream_address = "127.0.0.1"
stream_port = "0"
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
namespaces_dir = "${dir}/ns"
container_exits_dir = "${dir}/exits"
container_attach_socket_dir = "${dir}/attach"
default_runtime = "runc"
enable_pod_events = true
[crio.runtime.runtimes.runc]
runtime_path = "${dir}/oci-runtime"
runtime_type = "oci"
runtime_root = "${dir}/runc"
monitor_path = ""
monitor_cgroup = "pod"
[crio.stats]
included_pod_metrics = ["cpu", "memory", "network", "oom"]
[crio.image]
pause_image = "${pauseImageName}"
pause_command = "/pause"
signature_policy = "${dir}/policy.json"
[crio.network]
network_dir = "${dir}/cni"
plugin_dirs = ["/usr/lib/cni"]
[crio.nri]
enable_nri = false
`,
  );
}
