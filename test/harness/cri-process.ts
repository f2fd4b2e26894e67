// `skiff cri …` as a process of its own, with a folder, socket and pod network of its own; nothing is left behind.

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeNetwork } from "../../cni/invoke/remove-network.ts";
import { writeNetworkList } from "../../cni/invoke/write-network-list.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { killAll, processesNaming, removeFolder, unmountBelow, withDescendants } from "./left-behind.ts";
import { removeNativeCgroups, removePods } from "./native.ts";
import { until } from "./until.ts";

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

export interface CriProcess {
  readonly dir: string;
  readonly socket: string;
  /** Kills it without warning; containers go on. */
  kill(): Promise<void>;
  /** Starts it again on what it left. */
  start(): Promise<void>;
  /** Asks it to end; resolves with its exit code. */
  end(): Promise<number | null>;
  said(): string;
}

const root = join(import.meta.dirname, "../..");

export interface CriProcessOptions {
  readonly runtime: "native" | "docker";
  /** Further flags, such as Docker's socket. */
  readonly flags?: readonly string[];
  /** All pulls go to this registry, by plain HTTP. */
  readonly registry?: string;
}

/** Starts one; removes its pods and stops it when the test ends. */
export async function startCriProcess(t: Teardown, options: CriProcessOptions): Promise<CriProcess> {
  const dir = mkdtempSync(join(tmpdir(), "scri-"));
  // The root of a user namespace is nobody outside, and must still be let through.
  chmodSync(dir, 0o711);
  const name = `skc${randomBytes(4).toString("hex")}`;
  const [confDir, dataDir, socket] = [join(dir, "cni"), join(dir, "data"), join(dir, "cri.sock")];
  for (const folder of [confDir, dataDir]) mkdirSync(folder, { mode: 0o711 });
  const subnet = `10.${randomInt(128, 250)}.${randomInt(0, 256)}.0/24`;
  writeNetworkList({ dir: confDir, podCidrs: [subnet], bridge: name, name, leaseDir: join(dir, "leases") });
  if (options.registry)
    writeFileSync(join(dataDir, "registries.yaml"), `mirrors: {"*": {endpoint: ["http://${options.registry}"]}}\n`);
  const self = process.versions.deno ? ["run", "-A", "skiff.ts"] : ["skiff.ts"];
  const flags = [`--listen=unix://${socket}`, `--data-dir=${dataDir}`, `--cni-conf-dir=${confDir}`];
  let child: ChildProcess | undefined;
  let text = "";
  const hasEnded = () => !child || child.exitCode !== null || child.signalCode !== null;
  const ended = () =>
    new Promise<number | null>((resolve) =>
      !child || hasEnded() ? resolve(child?.exitCode ?? null) : child.once("exit", (code) => resolve(code)),
    );
  const own: CriProcess = {
    dir,
    socket,
    said: () => text,
    async start() {
      text = "";
      const args = [...self, "cri", options.runtime, ...flags, ...(options.flags ?? [])];
      child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (text += String(chunk)));
      await until("the ready line", () => {
        if (hasEnded()) throw new Error(text);
        return /^ready runtime=/m.test(text);
      });
    },
    async kill() {
      if (!hasEnded()) process.kill(child?.pid as number, "SIGKILL");
      await ended();
    },
    async end() {
      // Not child.kill(): a runtime takes its own signal for the reason of any end.
      if (!hasEnded()) process.kill(child?.pid as number, "SIGTERM");
      return ended();
    },
  };
  t.teardown(async () => {
    try {
      if (hasEnded()) await own.start();
      const remote = openRemote({ socket });
      await removePods(remote);
      await remote.close();
    } finally {
      await own.end();
      // Only after a failure above is there anything left of these.
      killAll(withDescendants(processesNaming(dir)));
      unmountBelow(dir);
      await removeNetwork({ name, bridge: name }, uninterrupted);
      if (options.runtime === "native") removeNativeCgroups({ root: join(dataDir, "runtime"), runDir: "" });
      removeFolder(dir);
    }
  });
  await own.start();
  return own;
}
