// Kubernetes' own kubelet from PATH, on any CRI socket, for tests and as a peer of benchmarks; everything of it is gone with its owner.

import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import type { Owner } from "./etcd.ts";
import { removeCgroup, unmountBelow } from "./left-behind.ts";
import { freePort } from "./skiff.ts";
import { without } from "./stock-kubernetes.ts";

/** A folder that a kubelet cannot be told to have elsewhere; it clears the sockets of others from it. */
const deviceFolder = "/var/lib/kubelet/device-plugins";
/** Others that it makes wherever its own are; it leaves them empty. */
const madeFolders = ["/var/lib/kubelet", "/var/log/containers"];

export const noStockKubelet: string | false =
  without("kubelet", "kubectl") || (existsSync(deviceFolder) && `${deviceFolder} is another kubelet's`);

/** The group that it makes those of pods in. */
export const kubeletCgroup = `skiff-kubelet-${process.pid}`;

export interface StockKubeletOptions {
  readonly nodeName: string;
  /** Its files lie below. */
  readonly dir: string;
  /** The runtime's CRI socket. */
  readonly socket: string;
  /** The file of the authority that those who ask it are signed by. */
  readonly ca: string;
  /** Of the node's own identity, or of one that may ask for it. */
  readonly kubeconfig: { readonly own: string } | { readonly bootstrap: string };
  /** More of KubeletConfiguration. */
  readonly settings?: object;
}

export interface StockKubelet {
  readonly pid: number;
  /** The end of its log. */
  said(): string;
}

export async function startStockKubelet(t: Owner, options: StockKubeletOptions): Promise<StockKubelet> {
  const { dir, kubeconfig } = options;
  makeCgroup(kubeletCgroup);
  t.teardown(() => removeCgroup(kubeletCgroup));
  const config = join(dir, "kubelet.yaml");
  const settings = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    containerRuntimeEndpoint: `unix://${options.socket}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${kubeletCgroup}`,
    failSwapOn: false,
    authentication: { x509: { clientCAFile: options.ca }, webhook: { enabled: true }, anonymous: { enabled: false } },
    authorization: { mode: "Webhook" },
    port: await freePort(),
    healthzPort: 0,
    podLogsDir: join(dir, "logs"),
    evictionHard: { "memory.available": "1Mi" },
    // The machine's rules are not for a test to change.
    makeIPTablesUtilChains: false,
    volumePluginDir: join(dir, "volume-plugins"),
    ...options.settings,
  };
  writeFileSync(config, writeYaml(settings));
  const flags = {
    config,
    ...("own" in kubeconfig
      ? { kubeconfig: kubeconfig.own }
      : { kubeconfig: join(dir, "kubelet.kubeconfig"), "bootstrap-kubeconfig": kubeconfig.bootstrap }),
    "root-dir": join(dir, "kubelet"),
    "cert-dir": join(dir, "pki"),
    "hostname-override": options.nodeName,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const newFolders = madeFolders.filter((folder) => !existsSync(folder));
  const kubelet = spawn("kubelet", args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  kubelet.stderr.on("data", (chunk) => (said = (said + String(chunk)).slice(-20_000)));
  const ended = new Promise((resolve) => kubelet.once("exit", resolve));
  t.teardown(async () => {
    kubelet.kill("SIGKILL");
    await ended;
    unmountBelow(join(dir, "kubelet"));
    rmSync(deviceFolder, { recursive: true, force: true });
    for (const folder of newFolders) if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  });
  return { pid: kubelet.pid ?? 0, said: () => said };
}

/** Kubelet makes its own groups, but not the one that it is told to make them in. */
function makeCgroup(name: string): void {
  for (const controller of readdirSync("/sys/fs/cgroup")) {
    const root = join("/sys/fs/cgroup", controller);
    if (!existsSync(join(root, "cgroup.procs"))) continue;
    mkdirSync(join(root, name), { recursive: true });
    for (const file of ["cpuset.cpus", "cpuset.mems"])
      if (existsSync(join(root, name, file))) copyFileSync(join(root, file), join(root, name, file));
  }
}
