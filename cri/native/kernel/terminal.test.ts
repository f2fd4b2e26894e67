import t from "tap";
import { shellTerminal } from "../../../test/harness/shell-terminal.ts";
import { until } from "../../../test/harness/until.ts";
import { type Clock, FakeClock, systemClock } from "../../../plugins/kit/base/clock.ts";
import { libc } from "./libc.ts";
import { holdTerminal, silenceMs, type Terminal } from "./terminal.ts";

async function inTerminal(script: string, clock: Clock = systemClock): Promise<Terminal & { readonly pid: number }> {
  const { fd, pid, exit } = await shellTerminal(script);
  return { ...(await holdTerminal(fd, exit, clock)), pid };
}

const isRunning = (pid: number) => libc.kill(pid, 0);

function heard(terminal: Terminal): () => string {
  const chunks: Buffer[] = [];
  terminal.onData((chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

t.test("holdTerminal() gives a terminal of the size, and tells the exit code", async (t) => {
  const terminal = await inTerminal("stty size; exit 7");
  const text = heard(terminal);
  t.equal(await terminal.ended, 7);
  t.equal(text(), "24 80\r\n");
  terminal.resize({ width: 10, height: 10 });
  const killed = await inTerminal("kill -9 $$");
  heard(killed);
  t.equal(await killed.ended, 137);
});

t.test("holdTerminal() loses nothing although this process sleeps over the program's end", async (t) => {
  const terminal = await inTerminal("printf 'begin %s' $$; head -c 2000 /dev/zero | tr '\\0' x; printf end");
  const text = heard(terminal);
  const deadline = Date.now() + 60_000;
  // Nothing of this thread runs meanwhile: not the reader, and no timer.
  const nap = new Int32Array(new SharedArrayBuffer(4));
  while (isRunning(terminal.pid) && Date.now() < deadline) Atomics.wait(nap, 0, 0, 20);
  Atomics.wait(nap, 0, 0, 400);
  t.equal(await terminal.ended, 0);
  t.match(text(), /^begin \d+x{2000}end$/);
});

t.test("holdTerminal() waits for a slow listener", async (t) => {
  const terminal = await inTerminal("head -c 200000 /dev/zero | tr '\\0' x; printf end");
  let bytes = 0;
  let last = "";
  terminal.onData((chunk) => {
    bytes += chunk.length;
    last = chunk.toString().slice(-3);
    terminal.pause();
    setTimeout(() => terminal.resume(), 5);
  });
  t.equal(await terminal.ended, 0);
  t.equal(bytes, 200_003);
  t.equal(last, "end");
});

t.test("holdTerminal() waits for a listener that stops at the end for long", async (t) => {
  const terminal = await inTerminal(
    "printf one; read line; printf two; head -c 1000 /dev/zero | tr '\\0' x; printf end",
  );
  const text = heard(terminal);
  await until("the first word", () => text() === "one");
  terminal.pause();
  terminal.write("\n");
  await until("the program's end", () => !isRunning(terminal.pid));
  // More than node-pty's own reader would have had.
  await new Promise((resolve) => setTimeout(resolve, 400));
  terminal.resume();
  t.equal(await terminal.ended, 0);
  t.match(text(), /^one\r\ntwox{1000}end$/);
});

t.test("holdTerminal() does not wait for ever for what the program left behind", async (t) => {
  const clock = new FakeClock();
  const terminal = await inTerminal("trap '' HUP; sleep 543 & echo $!", clock);
  const text = heard(terminal);
  let isEnded = false;
  const ended = terminal.ended.finally(() => (isEnded = true));
  await until("the process's number", () => text().endsWith("\n"));
  t.teardown(() => process.kill(Number(text()), "SIGKILL"));
  await until("the program's end", () => !isRunning(terminal.pid));
  await until("the session's end", async () => {
    await clock.advance(silenceMs);
    return isEnded;
  });
  t.equal(await ended, 0);
});

t.test("holdTerminal() passes on what is typed, up to the end-of-file character", async (t) => {
  const terminal = await inTerminal("stty -echo; echo ready; cat; stty size");
  const text = heard(terminal);
  await until("the program", () => text().includes("ready"));
  terminal.resize({ width: 132, height: 50 });
  terminal.write("typed\n");
  await until("the echo", () => text().includes("typed"));
  terminal.write("\x04");
  t.equal(await terminal.ended, 0);
  t.equal(text(), "ready\r\ntyped\r\n50 132\r\n");
});
