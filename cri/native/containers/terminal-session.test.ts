import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import t from "tap";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import { shellTerminal } from "../../../test/harness/shell-terminal.ts";
import { until } from "../../../test/harness/until.ts";
import { libc } from "../kernel/libc.ts";
import { terminalSession } from "./terminal-session.ts";

/** A shell in the place of a container's command. */
async function session(script: string, stdout: Writable, signal: AbortSignal, stdin?: Readable) {
  let killed = 0;
  const kill = (parentPid: number) => {
    killed = parentPid;
    libc.kill(parentPid, 9);
    return () => {};
  };
  const { fd, pid, exit } = await shellTerminal(script);
  const start = () => ({ pid, terminal: Promise.resolve(fd), exit });
  const ended = terminalSession(
    { clock: systemClock, start, kill },
    { stdout, ...(stdin ? { stdin } : {}) },
    Readable.from([]),
    { signal },
  );
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

t.test("terminalSession() types no faster than the program reads, and all of it", async (t) => {
  const piece = Buffer.alloc(64 * 1024, "typed ");
  const pieces = 32;
  let taken = 0;
  let said = "";
  const stdout = new Writable({ write: (data: Buffer, _encoding, done) => ((said += data.toString()), done()) });
  async function* typed() {
    await until("the program to be ready", () => said.includes("ready"));
    for (; taken < pieces; taken++) yield piece;
  }
  const stdin = Readable.from(typed(), { highWaterMark: 1 });
  const sign = join(t.testdir(), "go");
  const script = `stty raw -echo; echo ready; until [ -e ${sign} ]; do sleep 0.05; done; head -c ${pieces * piece.length} | wc -c`;
  const { ended } = await session(script, stdout, new AbortController().signal, stdin);
  await until("the client to be held up", () => stdin.isPaused());
  t.ok(taken < 8, `${taken} pieces taken`);
  writeFileSync(sign, "");
  t.equal(await ended, 0);
  t.match(said, new RegExp(`^ready\\n${pieces * piece.length}\\n$`));
});
