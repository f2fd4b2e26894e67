// One test file: on which runtimes it runs, whether it may run beside others, and running it.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { summarizeTap, type TapSummary } from "./tap-summary.ts";

export type RuntimeName = "node" | "deno";

export interface TestFile {
  readonly path: string;
  readonly runtimes: readonly RuntimeName[];
  /** Needs the machine to itself. */
  readonly alone: boolean;
}

export interface TestResult extends TapSummary {
  file: TestFile;
  runtime: RuntimeName;
  seconds: number;
}

/**
 * Reads the file's directives. A line `// runtimes: node` narrows where it runs; `// alone` keeps others away.
 * End-to-end tests run on Node unless they say otherwise.
 */
export function testFile(path: string): TestFile {
  const text = readFileSync(path, "utf8");
  const named = /^\/\/ runtimes: (.+)$/m.exec(text)?.[1]?.split(/[ ,]+/) as RuntimeName[] | undefined;
  return {
    path,
    runtimes: named ?? (path.startsWith("test/e2e/") ? ["node"] : ["node", "deno"]),
    alone: /^\/\/ alone$/m.test(text),
  };
}

const commands: Record<RuntimeName, (path: string) => [string, string[]]> = {
  node: (path) => ["node", ["--disable-warning=ExperimentalWarning", path]],
  deno: (path) => ["deno", ["run", "-A", "--quiet", "--preload=test/harness/deno-preload.ts", path]],
};

// The fuzzer's long form takes its seconds for each of some thirty targets.
const longestRunMs = (12 + Number(process.env["SKIFF_FUZZ_SECONDS"] ?? 0)) * 60_000;

export async function runTestFile(
  file: TestFile,
  runtime: RuntimeName,
  env: Record<string, string>,
): Promise<TestResult> {
  const startedAt = performance.now();
  const [command, args] = commands[runtime](file.path);
  const child = spawn(command, args, {
    // Tests wait for conditions; how long one may take at most is decided here, once for the whole file.
    // Compiled code is kept, for the next file and for the programs it starts.
    env: { ...process.env, NODE_COMPILE_CACHE: resolve(".cache/compiled"), NO_COLOR: "1", TAP_TIMEOUT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-20_000)));
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    killGroup(child.pid);
  }, longestRunMs);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  const summary = summarizeTap(output);
  if (code !== 0 || !summary.complete) {
    if (summary.failed === 0) summary.failed = 1;
    const why = isOverdue ? `stopped after ${longestRunMs / 60_000} minutes` : `ended with code ${code}`;
    summary.failures.push(`    ${file.path} on ${runtime} ${why}`, ...output.split("\n").slice(-5), errors);
  }
  return { ...summary, file, runtime, seconds: (performance.now() - startedAt) / 1000 };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // the group is gone already
  }
}
