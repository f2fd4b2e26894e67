import { Readable, Writable } from "node:stream";
import t from "tap";
import { systemClock } from "../../../plugins/kit/clock.ts";
import { shellTerminal } from "../../../test/harness/shell-terminal.ts";
import { until } from "../../../test/harness/until.ts";
import { libc } from "../kernel/libc.ts";
import { terminalSession } from "./terminal-session.ts";

/** A shell in the place of a container's command. */
async function session(script: string, stdout: Writable, signal: AbortSignal) {
  let killed = 0;
  const kill = (parentPid: number) => {
    killed = parentPid;
    libc.kill(parentPid, 9);
    return () => {};
  };
  const { fd, pid, exit } = await shellTerminal(script);
  const start = () => ({ pid, terminal: Promise.resolve(fd), exit });
  const ended = terminalSession({ clock: systemClock, start, kill }, { stdout }, Readable.from([]), { signal });
  return { ended, killed: () => killed };
}

/** Takes the first bytes and never asks for more. */
function fullListener() {
  const seen = { bytes: 0 };
  const stream = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer) => void (seen.bytes += chunk.length),
  });
  return { seen, stream };
}

t.test("terminalSession() ends when stopped, although nobody takes what is said", async (t) => {
  const stop = new AbortController();
  const { seen, stream } = fullListener();
  const { ended, killed } = await session("while :; do echo more; done", stream, stop.signal);
  const rejected = t.rejects(ended, { message: "enough" });
  await until("the first words", () => seen.bytes > 0);
  stop.abort(new Error("enough"));
  await rejected;
  t.notOk(libc.kill(killed(), 0), "the program is gone");
});

t.test("terminalSession() goes on when the listener goes away", async (t) => {
  const { seen, stream } = fullListener();
  const { ended } = await session("head -c 300000 /dev/zero; exit 4", stream, new AbortController().signal);
  await until("the first words", () => seen.bytes > 0);
  stream.destroy();
  t.equal(await ended, 4);
});
