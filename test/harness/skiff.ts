// Starts a whole Skiff for a test: own data dir, ports, address ranges and node name, so that several run side by side.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { claimName } from "../../plugins/kit/os/net/claim.ts";
import { inNetns } from "../../plugins/kit/os/net/netns.ts";

export interface StartOptions {
  readonly command?: "up" | "server" | "agent";
  readonly flags?: readonly string[];
  /** Takes over the data dir of one that was stopped. */
  readonly dataDir?: string;
  readonly runtime?: "node" | "deno";
  /** What it must say to count as started, where it cannot become ready. */
  readonly says?: string;
  /** The network namespace that it runs in; the test's own where absent. */
  readonly netns?: string;
  /** Its clock in place of the system's: from so many milliseconds since 1970 on, so many times as fast. */
  readonly clock?: { readonly startsAt: number; readonly speed: number };
  /** Besides that of the test. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningSkiff {
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly ports: { readonly https: number; readonly kubelet: number };
  readonly clusterCidr: string;
  readonly clusterDns: string;
  readonly process: ChildProcess;
  /** The `ready …` line, or the one that was waited for instead. */
  readonly ready: string;
  /** Everything it logged, for a failing test to show. */
  log(): string;
  kubectl(...args: string[]): Promise<string>;
  /** `kubectl apply` of the given objects. */
  apply(...objects: object[]): Promise<string>;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
  /** Removes the data dir. */
  remove(): void;
}

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

/** A port that nobody listens on right now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/**
 * The second octet of addresses 10.x.0.0/16 that no other test of this machine uses: held by a name that goes with this process.
 */
export function freeOctet(): number {
  const [first, count] = [64, 186];
  const start = randomInt(count);
  for (let step = 0; step < count; step++) {
    const octet = first + ((start + step) % count);
    if (claimName(`skiff-test 10.${octet}.0.0/16`) !== undefined) return octet;
  }
  throw new Error("no address range is free");
}

/** From its source, into which another clock can be put. */
function withClock({ startsAt, speed }: NonNullable<StartOptions["clock"]>): string[] {
  const clock = `${join(root, "test/fixtures/fast-clock.ts")}?startsAt=${startsAt}&speed=${speed}`;
  const flags = ["--disable-warning=ExperimentalWarning", "--expose-gc", "--max-semi-space-size=1"];
  return [process.execPath, ...flags, "--import", clock, join(root, "skiff.ts")];
}

const octets = new Map<string, number>();

/** A cluster keeps its address ranges over restarts. */
function octetOf(dataDir: string): number {
  const octet = octets.get(dataDir) ?? freeOctet();
  octets.set(dataDir, octet);
  return octet;
}

/** Resolves when the node is Ready, or has said what it should; rejects with what it said when it ends before. */
export async function startSkiff(options: StartOptions = {}): Promise<RunningSkiff> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "skiff-up-"));
  const octet = octetOf(dataDir);
  const nodeName = `node-${octet}-${randomInt(10_000)}`;
  const ports = { https: await freePort(), kubelet: await freePort() };
  const clusterCidr = `10.${octet}.0.0/17`;
  const clusterDns = `10.${octet}.128.10`;
  const control = { "https-port": ports.https, "service-cidr": `10.${octet}.128.0/17`, "cluster-cidr": clusterCidr };
  const node = {
    "node-name": nodeName,
    "kubelet-port": ports.kubelet,
    "healthz-port": 0,
    "proxy-healthz-port": 0,
    "proxy-metrics-port": 0,
    "ui-port": 0,
    "stop-pods-on-exit": true,
  };
  const command = options.command ?? "up";
  const flags = { "data-dir": dataDir, ...(command === "agent" ? {} : control), ...(command === "server" ? {} : node) };
  const args = [
    ...(options.runtime === "deno" ? ["--deno"] : []),
    command,
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
    ...(options.flags ?? []),
  ];
  const env = { ...process.env, ...options.env };
  const program = options.clock ? withClock(options.clock) : [join(root, "skiff")];
  const [command_ = "", ...words] = [...program, ...args];
  const launch = () => spawn(command_, words, { cwd: root, stdio: ["ignore", "pipe", "pipe"], env });
  const child = options.netns ? inNetns(options.netns, launch) : launch();
  let output = "";
  let onText = () => {};
  const keep = (text: string) => {
    output = (output + text).slice(-200_000);
    onText();
  };
  child.stderr.setEncoding("utf8").on("data", keep);
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const ready = await new Promise<string>((resolve, reject) => {
    onText = () => {
      const isIt = (line: string) => (options.says ? line.includes(options.says) : line.startsWith("ready"));
      const line = output.split("\n").find(isIt);
      if (line) resolve(line);
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    void ended.then(() => reject(new Error(`skiff ended before it was ready:\n${output}`)));
  });
  const end = (signal: NodeJS.Signals) => async () => {
    child.kill(signal);
    await ended;
  };
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  const kubectl = async (kubectlArgs: readonly string[], input = "") => {
    const running = run("kubectl", ["--kubeconfig", kubeconfig, ...kubectlArgs], { maxBuffer: 64 << 20 });
    running.child.stdin?.end(input);
    return (await running).stdout;
  };
  return {
    dataDir,
    kubeconfig,
    nodeName,
    ports,
    clusterCidr,
    clusterDns,
    process: child,
    ready,
    log: () => output,
    kubectl: (...kubectlArgs) => kubectl(kubectlArgs),
    apply: (...objects) =>
      kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects })),
    stop: end("SIGTERM"),
    kill: end("SIGKILL"),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
}
