import t from "tap";
import { FakeClock } from "./clock.ts";
import { WorkQueue } from "./queue.ts";

function start(options: { workers?: number; baseDelayMs?: number; maxDelayMs?: number } = {}) {
  const clock = new FakeClock();
  const errors: [string, number][] = [];
  const queue = new WorkQueue<string>({
    clock,
    baseDelayMs: options.baseDelayMs ?? 10,
    maxDelayMs: options.maxDelayMs ?? 1000,
    onError: (key, _error, retryInMs) => errors.push([key, retryInMs]),
  });
  const stop = new AbortController();
  const run = (work: (key: string) => Promise<number | undefined | void>) =>
    queue.run(options.workers ?? 1, work, { signal: stop.signal });
  return { clock, queue, stop, run, errors };
}

t.test("WorkQueue works on a key added many times once", async (t) => {
  const { clock, queue, stop, run } = start();
  const seen: string[] = [];
  for (let i = 0; i < 5; i++) queue.add("a");
  queue.add("b");
  t.equal(queue.length, 2);
  const ended = run(async (key) => void seen.push(key));
  await clock.advance(0);
  t.same(seen, ["a", "b"]);
  stop.abort();
  await ended;
});

t.test("WorkQueue never works on one key twice at once, and runs it again if added meanwhile", async (t) => {
  const { clock, queue, stop, run } = start({ workers: 3 });
  let active = 0;
  let most = 0;
  let runs = 0;
  const gates: (() => void)[] = [];
  const ended = run(async () => {
    most = Math.max(most, ++active);
    runs++;
    await new Promise<void>((resolve) => gates.push(resolve));
    active--;
  });
  queue.add("a");
  await clock.advance(0);
  queue.add("a");
  queue.add("a");
  await clock.advance(0);
  t.equal(runs, 1);
  gates.shift()?.();
  await clock.advance(0);
  t.equal(runs, 2);
  gates.shift()?.();
  await clock.advance(0);
  t.equal(runs, 2);
  t.equal(most, 1);
  stop.abort();
  await ended;
});

t.test("WorkQueue runs different keys side by side up to the number of workers", async (t) => {
  const { clock, queue, stop, run } = start({ workers: 2 });
  const open: string[] = [];
  const gates: (() => void)[] = [];
  const ended = run(async (key) => {
    open.push(key);
    await new Promise<void>((resolve) => gates.push(resolve));
  });
  for (const key of ["a", "b", "c"]) queue.add(key);
  await clock.advance(0);
  t.same(open, ["a", "b"]);
  stop.abort();
  for (const gate of gates) gate();
  await ended;
  t.same(open, ["a", "b"]);
});

t.test("WorkQueue.addAfter() keeps the earliest wish, and add() overtakes it", async (t) => {
  const { clock, queue, stop, run } = start();
  const seen: number[] = [];
  const ended = run(async () => void seen.push(clock.monotonic()));
  queue.addAfter("a", 500);
  queue.addAfter("a", 100);
  queue.addAfter("a", 900);
  await clock.advance(2000);
  t.same(seen, [100]);
  queue.addAfter("a", 500);
  queue.add("a");
  await clock.advance(1000);
  t.equal(seen.length, 2);
  stop.abort();
  await ended;
});

t.test("WorkQueue retries what throws with doubling, capped delays, and forgets after success", async (t) => {
  const { clock, queue, stop, run, errors } = start({ baseDelayMs: 10, maxDelayMs: 50 });
  let failing = true;
  const ended = run(async () => {
    if (failing) throw new Error("no");
  });
  queue.add("a");
  await clock.advance(10 + 20 + 40 + 50);
  t.same(
    errors.map(([, delay]) => delay),
    [10, 20, 40, 50, 50],
  );
  t.equal(queue.retries("a"), 5);
  failing = false;
  await clock.advance(50);
  t.equal(queue.retries("a"), 0);
  stop.abort();
  await ended;
});

t.test("WorkQueue retries what throws also when nobody listens for errors", async (t) => {
  const clock = new FakeClock();
  const queue = new WorkQueue<string>({ clock });
  const stop = new AbortController();
  let runs = 0;
  const work = async () => {
    if (++runs < 3) throw new Error("no");
  };
  const ended = queue.run(1, work, { signal: stop.signal });
  queue.add("a");
  await clock.advance(1000);
  t.equal(runs, 3);
  stop.abort();
  await ended;
});

t.test("WorkQueue runs a key again after the time its work asks for", async (t) => {
  const { clock, queue, stop, run } = start();
  let runs = 0;
  const ended = run(async () => (++runs < 3 ? 100 : undefined));
  queue.add("a");
  await clock.advance(1000);
  t.equal(runs, 3);
  stop.abort();
  await ended;
  t.equal(clock.pending, 0);
});

t.test("WorkQueue.run() ends when stopped and leaves no timer", async (t) => {
  const { clock, queue, stop, run } = start({ workers: 4 });
  queue.addAfter("a", 1000);
  const ended = run(async () => {});
  stop.abort();
  await ended;
  t.equal(clock.pending, 0);
});

t.test("WorkQueue tells how long keys waited in line, from when they were first put there", async (t) => {
  const clock = new FakeClock();
  const waits: number[] = [];
  const queue = new WorkQueue<string>({ clock, onTaken: (waitedMs) => waits.push(waitedMs) });
  queue.add("a");
  await clock.advance(200);
  queue.add("a");
  queue.add("b");
  await clock.advance(50);
  const stop = new AbortController();
  const running = queue.run(1, async (key) => (key === "b" ? stop.abort() : undefined), stop);
  await running;
  t.same(waits, [250, 50]);
});
