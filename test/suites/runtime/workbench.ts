// What the suite's tests work with: pods and containers in a line each, all removed in the end.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import * as cri from "../../../cri/api/gen/runtime.js";
import type { Runtime } from "../../../cri/api/contract.ts";
import { within } from "../../../plugins/kit/base/call.ts";
import { removeCgroup } from "../../harness/left-behind.ts";
import { until } from "../../harness/until.ts";
import type { Ability, RuntimeSetup, RuntimeSuite } from "./setup.ts";

export type SandboxChanges = NonNullable<Parameters<typeof cri.PodSandboxConfig.create>[0]>;
export type ContainerChanges = NonNullable<Parameters<typeof cri.ContainerConfig.create>[0]>;

export interface Pod {
  readonly id: string;
  readonly config: cri.PodSandboxConfig;
}

export interface LogLine {
  readonly time: string;
  readonly stream: string;
  readonly tag: string;
  readonly text: string;
}

/** A command that runs until it is stopped, and stops at once when asked. */
export const sleeper = ["sh", "-c", "exec sleep 1000"];

export class Workbench {
  readonly setup: RuntimeSetup;
  readonly suite: RuntimeSuite;
  runtime: Runtime;
  readonly #pods = new Set<string>();
  readonly #run = randomBytes(4).toString("hex");
  readonly #cgroup = `/skiff-suite-${this.#run}`;
  #number = 0;

  constructor(setup: RuntimeSetup, suite: RuntimeSuite) {
    this.setup = setup;
    this.suite = suite;
    this.runtime = setup.runtime;
  }

  /** For `{ skip }`: the reason why the runtime cannot, or false. */
  lacks(...abilities: Ability[]): string | false {
    return abilities.map((ability) => this.suite.lacks[ability]).find(Boolean) ?? false;
  }

  /** How a call fails for what does not exist. */
  notFound(): { code: string } | { name: string; message: RegExp } {
    if (!this.lacks("notFoundCode")) return { code: "not-found" };
    return { name: "Fault", message: /not found|does not exist|does not resolve/ };
  }

  podConfig(changes: SandboxChanges = {}): cri.PodSandboxConfig {
    const name = `suite-${this.#run}-${this.#number++}`;
    return cri.PodSandboxConfig.create({
      metadata: { name, uid: `${name}-uid`, namespace: "suite", attempt: 0 },
      hostname: name,
      logDirectory: join(this.setup.dir, "logs", name),
      labels: { "io.kubernetes.pod.name": name, "io.kubernetes.pod.uid": `${name}-uid` },
      ...changes,
      linux: { cgroupParent: this.#cgroup, ...changes.linux },
    });
  }

  async pod(changes: SandboxChanges = {}, runtimeHandler = ""): Promise<Pod> {
    const config = this.podConfig(changes);
    const request = cri.RunPodSandboxRequest.create({ config, runtimeHandler });
    const { podSandboxId: id } = await this.runtime.runtime.runPodSandbox(request, within(60_000));
    this.#pods.add(id);
    return { id, config };
  }

  /** Created, not started. */
  async container(pod: Pod, changes: ContainerChanges = {}): Promise<string> {
    const name = `c${this.#number++}`;
    const { image = "" } = changes.image ?? { image: this.setup.image };
    const request = cri.CreateContainerRequest.create({
      podSandboxId: pod.id,
      sandboxConfig: pod.config,
      config: {
        metadata: { name, attempt: 0 },
        command: sleeper,
        logPath: `${name}.log`,
        labels: { "io.kubernetes.container.name": name },
        linux: {},
        ...changes,
        // As kubelet tells it, without which CRI-O refuses.
        image: { image, userSpecifiedImage: image },
      },
    });
    return (await this.runtime.runtime.createContainer(request, within(60_000))).containerId;
  }

  async started(pod: Pod, changes: ContainerChanges = {}): Promise<string> {
    const containerId = await this.container(pod, changes);
    await this.runtime.runtime.startContainer({ containerId }, within(60_000));
    return containerId;
  }

  /** Runs a shell script to its end and returns the status. */
  async ran(pod: Pod, script: string, changes: ContainerChanges = {}): Promise<cri.ContainerStatus> {
    return this.exited(await this.started(pod, { command: ["sh", "-c", script], ...changes }));
  }

  async status(containerId: string): Promise<cri.ContainerStatus> {
    const { status } = await this.runtime.runtime.containerStatus({ containerId, verbose: false }, within(30_000));
    if (!status) throw new Error("a status without a status");
    return status;
  }

  exited(containerId: string): Promise<cri.ContainerStatus> {
    return until(`container ${containerId} to exit`, async () => {
      const status = await this.status(containerId);
      return status.state === cri.ContainerState.CONTAINER_EXITED && status;
    });
  }

  async sandbox(id: string): Promise<cri.PodSandboxStatus> {
    const request = { podSandboxId: id, verbose: false };
    const { status } = await this.runtime.runtime.podSandboxStatus(request, within(30_000));
    if (!status) throw new Error("a status without a status");
    return status;
  }

  /** Runs a command in a container; its trimmed output, or an error with all it said. */
  async sh(containerId: string, script: string): Promise<string> {
    const request = cri.ExecSyncRequest.create({ containerId, cmd: ["sh", "-c", script], timeout: 20 });
    const { stdout, stderr, exitCode } = await this.runtime.runtime.execSync(request, within(60_000));
    const text = Buffer.from(stdout).toString().trim();
    if (exitCode !== 0)
      throw new Error(`"${script}" exited with ${exitCode}: ${text} ${Buffer.from(stderr).toString()}`);
    return text;
  }

  async stop(containerId: string, timeout = 0): Promise<void> {
    await this.runtime.runtime.stopContainer({ containerId, timeout: BigInt(timeout) }, within(60_000));
  }

  async remove(containerId: string): Promise<void> {
    await this.runtime.runtime.removeContainer({ containerId }, within(60_000));
  }

  async removePod(podSandboxId: string): Promise<void> {
    await this.runtime.runtime.stopPodSandbox({ podSandboxId }, within(60_000));
    await this.runtime.runtime.removePodSandbox({ podSandboxId }, within(60_000));
    this.#pods.delete(podSandboxId);
  }

  async log(containerId: string): Promise<LogLine[]> {
    const { logPath } = await this.status(containerId);
    return parseLog(readFileSync(logPath, "utf8"));
  }

  /** Waits for a line of the log. */
  async logged(containerId: string, text: string): Promise<void> {
    await until(`"${text}" in the log`, async () => (await this.log(containerId)).some((line) => line.text === text));
  }

  async close(): Promise<void> {
    for (const id of this.#pods) await this.removePod(id);
    await this.runtime.close();
    removeCgroup(this.#cgroup);
  }
}

export function parseLog(text: string): LogLine[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const [time = "", stream = "", tag = "", ...words] = line.split(" ");
      return { time, stream, tag, text: words.join(" ") };
    });
}
