// An agent in a process of its own, so that a test can kill it: `node agent-process.ts <JSON of AgentProcessOptions>`.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { openAgent } from "../../agent/assemble/agent.ts";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { openLog } from "../../plugins/kit/base/log.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { runtime, selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { nodePlugins } from "../../plugins/builtins.ts";

export interface AgentProcessOptions {
  readonly socket: string;
  readonly server: string;
  readonly dataDir: string;
  readonly cgroupRoot: string;
}

export interface AgentProcess {
  readonly process: ChildProcess;
  /** What it has logged. */
  log(): string;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
}

/** Runs from source, or from `command` with the options behind it. */
export function startAgentProcess(options: AgentProcessOptions, told?: readonly string[]): AgentProcess {
  const [command = "", ...args] = told
    ? [...told, JSON.stringify(options)]
    : selfCommand(import.meta.filename, [JSON.stringify(options)]);
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (chunk: Buffer) => (text = (text + chunk.toString("utf8")).slice(-20_000)));
  return {
    process: child,
    log: () => text,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "{}") as AgentProcessOptions;
  const { socket, server, dataDir, cgroupRoot } = options;
  const log = openLog({ level: "info", human: true });
  const agent = await openAgent({
    config: agentConfig({
      nodeName: "node",
      nodeIps: ["127.0.0.1"],
      clusterDns: ["10.43.0.10"],
      pluginRegistryDir: join(dataDir, "plugins_registry"),
      dataDir,
      cgroupRoot,
    }),
    runtime: openRemote({ socket }),
    api: { fetch: httpFetch(), server },
    plugins: nodePlugins,
    log,
  });
  log.info({ runtime: runtime.name, node: agent.nodeName }, "the agent runs");
  process.on("SIGTERM", () => void agent.close().then(() => process.exit(0)));
}
