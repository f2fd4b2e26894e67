// A native runtime of a test's own: private root, run folder, network and images; nothing is left behind.

import { execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { networkLists } from "../../cni/invoke/network-lists.ts";
import { writeNetworkList } from "../../cni/invoke/write-network-list.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import type { Runtime } from "../../cri/api/contract.ts";
import {
  type NativeRuntime,
  nativeRuntime,
  type NativeRuntimeOptions,
  nativeUnfit,
} from "../../cri/native/native-runtime.ts";
import { NativePaths } from "../../cri/native/native.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { busyboxImage, imageArchive, type TestImage } from "./images.ts";
import {
  deleteInterface,
  killAll,
  processesNaming,
  removeCgroup,
  removeFolder,
  unmountBelow,
  withDescendants,
} from "./left-behind.ts";

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

export interface TestNative {
  readonly dir: string;
  readonly bridge: string;
  readonly subnet: string;
  readonly options: NativeRuntimeOptions;
  /** The one that is open now. */
  current(): NativeRuntime;
  /** Lets go of it without a word to its containers, and opens it anew on what it left. */
  reopen(meanwhile?: () => Promise<void>): Promise<NativeRuntime>;
  importImages(...images: TestImage[]): Promise<void>;
  /** Removes every pod and cleans up. May be called twice. */
  stop(): Promise<void>;
}

/** Why this machine cannot run the native runtime, or false: fits `{ skip }`. */
export function withoutNative(): string | false {
  const unfit = nativeUnfit();
  if (unfit) return unfit;
  try {
    execFileSync("/bin/busybox", ["true"]);
  } catch {
    return "needs /bin/busybox";
  }
  return false;
}

/** Options of a runtime that keeps to the folder, with a bridge of its own. */
export function nativeOptions(dir: string, bridge: string, subnet: string): NativeRuntimeOptions {
  const confDir = join(dir, "cni");
  mkdirSync(confDir, { recursive: true });
  writeNetworkList({ dir: confDir, podCidrs: [subnet], bridge, name: bridge, leaseDir: join(dir, "leases") });
  return {
    root: join(dir, "root"),
    runDir: join(dir, "run"),
    durable: false,
    network: networkLists({ confDir, binDirs: [], cacheDir: join(dir, "cni-cache") }),
  };
}

/** Only after a failure is there anything left of them. */
export function removeNativeCgroups({ root, runDir }: Pick<NativeRuntimeOptions, "root" | "runDir">): void {
  const { defaultCgroup, conmonCgroup } = new NativePaths(root, runDir);
  for (const cgroup of [defaultCgroup, conmonCgroup]) removeCgroup(cgroup);
}

export async function startNative(
  t: Teardown,
  options: { images?: readonly TestImage[]; changes?: Partial<NativeRuntimeOptions> } = {},
): Promise<TestNative> {
  const dir = mkdtempSync(join(tmpdir(), "sn-"));
  // The root of a user namespace is nobody outside, and must still be let through.
  chmodSync(dir, 0o711);
  const bridge = `skn${randomBytes(4).toString("hex")}`;
  const subnet = `10.${randomInt(128, 250)}.${randomInt(0, 256)}.0/24`;
  const own = { ...nativeOptions(dir, bridge, subnet), ...options.changes };
  let runtime = await nativeRuntime(own);
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    try {
      await removePods(runtime);
      await runtime.close();
    } finally {
      // Only after a failure above is there anything left of these.
      killAll(withDescendants(processesNaming(dir)));
      unmountBelow(dir);
      deleteInterface(bridge);
      removeNativeCgroups(own);
      removeFolder(dir);
    }
  };
  const native: TestNative = {
    dir,
    bridge,
    subnet,
    options: own,
    current: () => runtime,
    async reopen(meanwhile) {
      await runtime.close();
      await meanwhile?.();
      runtime = await nativeRuntime(own);
      return runtime;
    },
    async importImages(...images) {
      const archive = join(dir, `images-${randomBytes(4).toString("hex")}.tar`);
      writeFileSync(archive, await imageArchive(...images));
      await runtime.importArchive(archive, uninterrupted);
      rmSync(archive);
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
  t.teardown(() => native.stop());
  await native.importImages(...(options.images ?? [busyboxImage()]));
  return native;
}

export async function removePods({ runtime }: Runtime): Promise<void> {
  const { items } = await runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), uninterrupted);
  for (const { id: podSandboxId } of items) await runtime.removePodSandbox({ podSandboxId }, uninterrupted);
}
