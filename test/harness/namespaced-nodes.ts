// Nodes that run from the launcher in network namespaces of their own, the native runtime and busybox's image in each. Their links and
// addresses are the test's.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inNetns } from "../../plugins/kit/os/net/netns.ts";
import { busyboxImage, imageArchive } from "./images.ts";
import { until } from "./until.ts";

const root = join(import.meta.dirname, "../..");

interface Test {
  teardown(then: () => Promise<void>): void;
  passing(): boolean;
}

interface NodeWish {
  readonly number: number;
  readonly netns: string;
  /** `up` or `agent` with the flags that are this node's alone. */
  readonly command: readonly string[];
}

export class NamespacedNodes {
  readonly #dir: string;
  readonly #flags: Readonly<Record<string, string>>;
  readonly #children: { child: ChildProcess; ended: Promise<void> }[] = [];
  #output = "";

  /** Below `dir` each node has its data; `flags` are those of every node. All are stopped when the test ends. */
  constructor(t: Test, dir: string, flags: Readonly<Record<string, string>>) {
    this.#dir = dir;
    this.#flags = flags;
    t.teardown(async () => {
      for (const { child, ended } of this.#children.toReversed()) {
        child.kill("SIGTERM");
        await ended;
      }
      if (!t.passing()) process.stderr.write(this.#output.split("\n").slice(-60).join("\n"));
    });
  }

  /** Resolves with its data dir when `node-<number>` says that it is ready. */
  async start({ number, netns, command }: NodeWish): Promise<string> {
    const dataDir = join(this.#dir, `${number}`);
    const name = `node-${number}`;
    mkdirSync(join(dataDir, "images"), { recursive: true });
    writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
    const flags = {
      "data-dir": dataDir,
      "node-name": name,
      "healthz-port": 0,
      "ui-port": 0,
      runtime: "native",
      "stop-pods-on-exit": true,
      ...this.#flags,
    };
    const args = [...command, ...Object.entries(flags).map(([flag, value]) => `--${flag}=${String(value)}`)];
    const child = inNetns(netns, () =>
      spawn(join(root, "skiff"), args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] }),
    );
    const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
    this.#children.push({ child, ended });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text.replace(/^/gm, `${name}: `);
      });
    const isReady = () => {
      if (child.exitCode !== null) throw new Error(`${name} ended`);
      return this.#output.includes(`${name}: ready`);
    };
    await until(`${name} to be ready`, isReady, 120_000);
    return dataDir;
  }
}
