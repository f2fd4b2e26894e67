// Our CNI programs as one executable: acts as the plugin that its first argument (or its own name) says. Bridge, IPAM and all
// run in this one process; with an agent that listens, the work is handed to it instead.

import { readFileSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import type { ProgramInput, ProgramOutput } from "../skel/run-program.ts";
import { handOver } from "./hand-over.ts";

// The runtime's own streams are loaded only where a plain read or write cannot wait (EAGAIN): they cost a quarter of the start-up.
async function readStdin(): Promise<string> {
  try {
    return readFileSync(0, "utf8");
  } catch {
    const chunks: Buffer[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  }
}

/** Writes all of it, then ends the process. */
function finish({ stdout, exitCode }: ProgramOutput): void {
  let rest = Buffer.from(stdout, "utf8");
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
    process.exit(exitCode);
  } catch {
    process.stdout.write(rest, () => process.exit(exitCode));
  }
}

async function runHere(type: string, input: ProgramInput): Promise<ProgramOutput> {
  const [{ runProgram }, { loadPlugin }, { openKernel }] = await Promise.all([
    import("../skel/run-program.ts"),
    import("./load-plugin.ts"),
    import("../net/kernel.ts"),
  ]);
  // What is open goes with the process, which ends at once: closing it in order would only take time.
  const plugin = await loadPlugin(type, openKernel());
  if (plugin) return runProgram(plugin, input, uninterrupted);
  const msg = `"${type}" is not one of our CNI programs`;
  return { stdout: JSON.stringify({ cniVersion: "1.0.0", code: 4, msg }), exitCode: 1 };
}

async function main(): Promise<void> {
  const type = process.argv[2] ?? basename(process.argv[1] ?? "").replace(/\.[a-z]+$/, "");
  const { env } = process;
  const environment = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("CNI_")));
  const input = { environment, stdin: await readStdin() };
  finish((await handOver(env.SKIFF_CNI_SOCKET, type, input)) ?? (await runHere(type, input)));
}

void main();
