// A node that is treated badly: the agent in a process of its own that can be killed, on a real containerd, with an API server in this
// process behind a line that can be cut. Everything of it is checked to be gone at the end.

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { boundPod, conditionOf, makeNamespaces } from "./agent-node.ts";
import { type AgentProcess, startAgentProcess } from "./agent-process.ts";
import { serveApi, type TestApi } from "./api-server.ts";
import { startContainerd, type TestContainerd } from "./containerd.ts";
import { type CutLine, openLine } from "./cut-line.ts";
import { unmountBelow } from "./left-behind.ts";
import { until } from "./until.ts";

// An agent that is killed again and again on a busy machine takes its time.
const patienceMs = 300_000;

const cgroupRoot = `skiff-rough-${process.pid}`;

interface Test {
  teardown(then: () => Promise<void>): void;
}

export class RoughNode {
  readonly containerd: TestContainerd;
  readonly runtime: Runtime;
  readonly api: TestApi;
  readonly line: CutLine;
  readonly dataDir: string;
  readonly cgroupRoot = cgroupRoot;
  #agent: AgentProcess | undefined;
  #startedAt = 0;

  private constructor(containerd: TestContainerd, api: TestApi, line: CutLine, dataDir: string) {
    this.containerd = containerd;
    this.runtime = openRemote({ socket: containerd.socket });
    this.api = api;
    this.line = line;
    this.dataDir = dataDir;
  }

  /** The agent is not running yet. All of it is taken down when the test ends. */
  static async open(t: Test): Promise<RoughNode> {
    const dataDir = await mkdtemp(join(tmpdir(), "skiff-rough-"));
    // Last registered, first run: this is for what a failed test leaves.
    t.teardown(async () => {
      unmountBelow(dataDir);
      await rm(dataDir, { recursive: true, force: true });
      // A group is busy for a moment after its last process.
      await until("the cgroups to go", () => openCgroupFiles().remove(cgroupRoot), 20_000);
    });
    const containerd = await startContainerd(t);
    const api = await serveApi();
    t.teardown(() => api.close());
    const line = await openLine(api.url);
    t.teardown(() => line.close());
    await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
    const node = new RoughNode(containerd, api, line, dataDir);
    t.teardown(async () => {
      await node.killAgent();
      await node.runtime.close();
    });
    return node;
  }

  startAgent(): void {
    const { containerd, line, dataDir } = this;
    this.#startedAt = performance.now();
    this.#agent = startAgentProcess({
      socket: containerd.socket,
      server: line.url,
      dataDir,
      cgroupRoot,
    });
  }

  /** SIGKILL, and waits for the end. */
  async killAgent(): Promise<void> {
    await this.#agent?.kill();
  }

  /** Waits until the agent has opened everything. */
  async agentRuns(): Promise<{ tookMs: number }> {
    await this.becomes("the agent to run", () => this.#agent?.log().includes("the agent runs") ?? false);
    return { tookMs: performance.now() - this.#startedAt };
  }

  /** Of the agent that runs now. */
  agentMemoryBytes(): number {
    const status = readFileSync(`/proc/${this.#agent?.process.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  }

  async get(name: string): Promise<Pod | undefined> {
    const { status, body } = await this.api.ask("GET", `/api/v1/namespaces/default/pods/${name}`);
    return status === 200 ? (body as Pod) : undefined;
  }

  async create(name: string, spec: Record<string, unknown>): Promise<void> {
    const { status, text } = await this.api.ask("POST", "/api/v1/namespaces/default/pods", boundPod(name, spec));
    if (status !== 201) throw new Error(text);
  }

  async remove(name: string): Promise<void> {
    await this.api.ask("DELETE", `/api/v1/namespaces/default/pods/${name}`);
  }

  /** Waits, and tells what the agent and containerd said at last when it waited for nothing. */
  async becomes<T>(what: string, ask: () => T | Promise<T>): Promise<void> {
    try {
      await until(what, ask, patienceMs);
    } catch (error) {
      const said = { agent: this.#agent?.log() ?? "", containerd: readFileSync(this.containerd.logFile, "utf8") };
      const words = Object.entries(said).map(([who, text]) => `${who} said at last:\n${lastLines(text)}`);
      throw new Error(`still waiting for ${what}; ${words.join("\n")}`, { cause: error });
    }
  }

  ready(name: string): Promise<void> {
    return this.becomes(`${name} to be ready`, async () => conditionOf(await this.get(name), "Ready") === "True");
  }

  gone(name: string): Promise<void> {
    return this.becomes(`${name} to be gone`, async () => (await this.get(name)) === undefined);
  }

  nodeReady(status: "True" | "False"): Promise<void> {
    return this.becomes(`the node's readiness to be ${status}`, async () => {
      const { body } = await this.api.ask("GET", "/api/v1/nodes/node");
      return conditionOf(body, "Ready") === status;
    });
  }

  call(): Call {
    return within(30_000);
  }

  /** Containers of the pod, newest first. */
  async containers(podName: string) {
    const { containers } = await this.runtime.runtime.listContainers({}, this.call());
    return containers
      .filter(({ labels }) => labels["io.kubernetes.pod.name"] === podName)
      .sort((a, b) => Number(b.createdAt - a.createdAt));
  }

  /** What pods left behind; empty when all is well. */
  async leftBehind(): Promise<string[]> {
    const { runtime } = this.runtime;
    const below = (folder: string) => readdirSync(join(this.dataDir, folder)).map((name) => `${folder}/${name}`);
    const mounts = readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "")
      .filter((path) => path.startsWith(`${this.dataDir}/pods/`));
    const cgroups = ["", "burstable", "besteffort"]
      .flatMap((folder) => openCgroupFiles().children(`${cgroupRoot}/kubepods/${folder}`))
      .filter((name) => name.startsWith("pod"));
    // What containerd itself still has: a pod that its CRI plugin forgot would not be listed by that.
    const tasks = await this.containerd.ctr("tasks", "ls", "-q");
    const inContainerd = await this.containerd.ctr("containers", "ls", "-q");
    return [
      ...tasks
        .split("\n")
        .filter(Boolean)
        .map((id) => `task ${id}`),
      ...inContainerd
        .split("\n")
        .filter(Boolean)
        .map((id) => `in containerd ${id}`),
      ...(await runtime.listPodSandbox({}, this.call())).items.map(({ id }) => `sandbox ${id}`),
      ...(await runtime.listContainers({}, this.call())).containers.map(({ id }) => `container ${id}`),
      ...below("pods"),
      ...below("logs/pods"),
      ...mounts.map((path) => `mount ${path}`),
      ...cgroups.map((name) => `cgroup ${name}`),
    ];
  }

  /**
   * When its client is killed while it makes a sandbox, containerd 1.6 may say that it no longer knows that sandbox's state, leave its
   * process alone from then on, and find it again only at its own next start: no client can mend that.
   */
  async #mendContainerd(): Promise<void> {
    if (!readFileSync(this.containerd.logFile, "utf8").includes("marking sandbox state as SANDBOX_UNKNOWN")) return;
    await this.containerd.kill();
    await this.containerd.start();
  }

  /** Waits until nothing is left. */
  async nothingLeft(): Promise<void> {
    let left: readonly string[] = [];
    await this.#mendContainerd();
    await this.becomes("nothing to be left", async () => {
      left = await this.leftBehind();
      return left.length === 0;
    }).catch((error: unknown) => {
      throw new Error(`left behind: ${left.join(", ")}; ${(error as Error).message}`, { cause: error });
    });
  }
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-12).join("\n");
}
