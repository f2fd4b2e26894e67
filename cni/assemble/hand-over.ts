// Lets a short-lived CNI program hand its work to the agent over a unix socket: one JSON line there, one JSON line back.
// Only root reaches the socket; a program that finds nobody there does the work itself.

import { existsSync } from "node:fs";
import type { ProgramInput, ProgramOutput } from "../skel/run-program.ts";

/** The agent's answer, or undefined when no agent took the work. Once it took it, a broken connection is a failure, not a retry. */
export async function handOver(
  socketPath: string | undefined,
  type: string,
  input: ProgramInput,
): Promise<ProgramOutput | undefined> {
  if (!socketPath || !existsSync(socketPath)) return undefined;
  // Loaded only when there is somebody to talk to: start-up is most of what a program costs.
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    let answer = "";
    let isTaken = false;
    const socket = connect(socketPath);
    socket.on("connect", () => socket.write(`${JSON.stringify({ type, ...input })}\n`));
    socket.on("data", (chunk: Buffer) => {
      isTaken = true;
      answer += chunk.toString("utf8");
    });
    const finish = () => {
      try {
        resolve(JSON.parse(answer.trim()) as ProgramOutput);
      } catch {
        const body = { cniVersion: "1.0.0", code: 11, msg: "The agent went away while it worked" };
        resolve(isTaken ? { stdout: JSON.stringify(body), exitCode: 1 } : undefined);
      }
    };
    socket.on("error", finish);
    socket.on("close", finish);
  });
}
