// Clusters of one node that a benchmark asks the same of: `skiff up` with the embedded runtime and, where its programs are on PATH,
// Kubernetes itself on etcd and containerd. One after the other, so that neither shares the machine with the other.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorsBelow } from "../../agent/assemble/monitors.ts";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { startContainerd, withoutContainerd } from "./containerd.ts";
import { busyboxImage, imageArchive } from "./images.ts";
import { processesNaming, removeCgroup } from "./left-behind.ts";
import { startSkiff } from "./skiff.ts";
import { kubeletCgroup, noStockKubelet, startStockKubelet } from "./stock-kubelet.ts";
import { noStockKubernetes, startStockKubernetes } from "./stock-kubernetes.ts";
import { until } from "./until.ts";

export interface MeasuredCluster {
  readonly name: string;
  readonly kubeconfig: string;
  /** Free for the benchmark's own files. */
  readonly dir: string;
  kubectl(...args: string[]): Promise<string>;
  apply(...objects: object[]): Promise<unknown>;
  /** What runs for it now: its programs, and what stays beside each container. */
  processes(): { readonly programs: readonly number[]; readonly keepers: readonly number[] };
}

type Owner = { teardown(end: () => unknown): void };
type Start = (owner: Owner) => Promise<MeasuredCluster>;

/** Each is ready with the busybox image when it is handed over, and gone before the next begins. */
export async function onEachCluster(measure: (cluster: MeasuredCluster) => Promise<void>): Promise<void> {
  const cannot = noStockKubernetes || noStockKubelet || withoutContainerd();
  for (const start of cannot ? [startOurs] : [startOurs, startTheirs]) {
    const endings: (() => unknown)[] = [];
    try {
      await measure(await start({ teardown: (end) => endings.unshift(end) }));
    } finally {
      for (const end of endings) await end();
    }
  }
  if (cannot) console.log(`Kubernetes itself was not measured beside it: ${cannot}`);
}

const startOurs: Start = async (owner) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-measured-"));
  owner.teardown(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "images"));
  writeFileSync(join(dir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir: dir, flags: ["--runtime=native"] });
  owner.teardown(() => skiff.stop());
  return {
    name: "skiff up",
    kubeconfig: skiff.kubeconfig,
    dir,
    kubectl: skiff.kubectl,
    apply: skiff.apply,
    processes: () => ({
      programs: [skiff.process.pid ?? 0],
      keepers: monitorsBelow(instancePaths(dir).runDir),
    }),
  };
};

const startTheirs: Start = async (owner) => {
  // Last of all: pods are in it until containerd has removed them.
  owner.teardown(() => removeCgroup(kubeletCgroup));
  const containerd = await startContainerd({ teardown: (end) => owner.teardown(end) });
  const kubernetes = await startStockKubernetes(owner);
  const nodeName = "stock";
  const kubelet = await startStockKubelet(owner, {
    nodeName,
    dir: containerd.dir,
    socket: containerd.socket,
    ca: kubernetes.ca,
    kubeconfig: { own: kubernetes.kubeconfigFor(`system:node:${nodeName}`, ["system:nodes"]) },
  });
  const kubectl = (...args: string[]) => kubernetes.kubectl(...args);
  const isSo = (expected: RegExp, ...args: string[]) =>
    until(args.join(" "), async () => expected.test(await kubectl(...args).catch(() => "")), 120_000);
  await isSo(/ Ready /, "get", "node", nodeName);
  await isSo(/default/, "get", "serviceaccount", "default");
  return {
    name: "Kubernetes on etcd and containerd",
    kubeconfig: kubernetes.kubeconfig,
    dir: containerd.dir,
    kubectl,
    apply: kubernetes.apply,
    processes() {
      const programs = [...kubernetes.pids, kubelet.pid, containerd.pid ?? 0];
      return { programs, keepers: processesNaming(containerd.dir).filter((pid) => !programs.includes(pid)) };
    },
  };
};
