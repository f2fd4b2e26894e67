// `skiff exec`: a command in a container, with this terminal's streams; its exit code is the answer.

import type { Readable, Writable } from "node:stream";
import { dialStream } from "../../cri/stream/dial.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ClusterAccess } from "./access.ts";
import { type PodWish, podContainer } from "./pod-container.ts";
import { type Screen, takeScreen } from "./screen.ts";

export interface ExecWish extends PodWish {
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
}

export interface ExecStreams {
  readonly stdin: Readable & Partial<Screen["input"]>;
  readonly stdout: Writable & Partial<Screen["output"]>;
  readonly stderr: Writable;
}

export async function execInPod(
  access: ClusterAccess,
  wish: ExecWish,
  { stdin, stdout, stderr }: ExecStreams,
  call: Call,
): Promise<number> {
  const tell = (line: string) => void stderr.write(`${line}\n`);
  const { path, container } = await podContainer(access, wish, tell, call);
  if (wish.tty && !stdin.isTTY)
    tell("this is no terminal: the command gets one, but keys are not passed on one by one");
  const query = new URLSearchParams({ container, stdout: "true" });
  if (wish.stdin) query.set("stdin", "true");
  // A terminal has one output.
  query.set(wish.tty ? "tty" : "stderr", "true");
  for (const word of wish.command) query.append("command", word);
  const way = await access.stream(`${path}/exec?${query}`, call);
  const screen = wish.tty ? takeScreen({ input: stdin, output: stdout }) : undefined;
  try {
    const streams = {
      stdout,
      ...(wish.stdin ? { stdin } : {}),
      ...(screen ? { resizes: screen.sizes } : { stderr }),
    };
    return (await dialStream(way, streams, call)).exitCode;
  } catch (error) {
    const exitCode = startFailure(error);
    if (exitCode === undefined) throw error;
    tell((error as Error).message);
    return exitCode;
  } finally {
    screen?.giveBack();
  }
}

/** A program that is missing or may not be run, as shells report it; runtimes say it on the stream in the words of runc and crun alone. */
function startFailure(error: unknown): number | undefined {
  const { message = "" } = (error ?? {}) as { message?: string };
  const why = /\bexec\b.*(executable file (?:`.*` )?not found|no such file or directory|permission denied)/is.exec(
    message,
  )?.[1];
  if (why === undefined) return undefined;
  return why.toLowerCase() === "permission denied" ? 126 : 127;
}
