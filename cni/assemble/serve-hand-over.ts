// The agent's side of the hand-over: takes the work of CNI programs from a unix socket that only root reaches.

import { chmodSync, rmSync } from "node:fs";
import net from "node:net";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ProgramInput, ProgramOutput } from "../skel/run-program.ts";

const longestRequest = 4 << 20;

export type ProgramRunner = (type: string, input: ProgramInput, call: Call) => Promise<ProgramOutput>;

/** Serves programs until the call is stopped. The space that is sent first tells the program that its work is taken. */
export async function serveHandOver(socketPath: string, run: ProgramRunner, call: Call): Promise<void> {
  rmSync(socketPath, { force: true });
  const server = net.createServer((socket) => {
    let request = "";
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      request += chunk.toString("utf8");
      if (request.length > longestRequest) return void socket.destroy();
      if (!request.endsWith("\n")) return;
      let asked: ProgramInput & { type: string };
      try {
        asked = JSON.parse(request) as typeof asked;
      } catch {
        return void socket.destroy();
      }
      socket.write(" ");
      const { type, environment, stdin } = asked;
      Promise.resolve()
        .then(() => run(type, { environment, stdin }, call))
        // A type that is not ours: the program is told that nobody did its work.
        .then(
          (output) => socket.end(`${JSON.stringify(output)}\n`),
          () => socket.destroy(),
        );
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socketPath, resolve);
  });
  chmodSync(socketPath, 0o600);
  await new Promise<void>((resolve) => {
    if (call.signal.aborted) resolve();
    else call.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await new Promise((resolve) => server.close(resolve));
  rmSync(socketPath, { force: true });
}
