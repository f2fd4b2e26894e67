import t from "tap";
import { uninterrupted } from "./call.ts";
import { FakeClock, systemClock } from "./clock.ts";

t.test("FakeClock.advance() rings each alarm at its own moment, in order", async (t) => {
  const clock = new FakeClock(1000);
  const rung: [string, number][] = [];
  clock.after(30, () => rung.push(["c", clock.now()]));
  clock.after(10, () => {
    rung.push(["a", clock.now()]);
    clock.after(10, () => rung.push(["b", clock.now()]));
  });
  await clock.advance(25);
  t.same(rung, [
    ["a", 1010],
    ["b", 1020],
  ]);
  t.equal(clock.now(), 1025);
  t.equal(clock.monotonic(), 25);
  t.equal(clock.pending, 1);
});

t.test("after() can be cancelled, twice", async (t) => {
  for (const clock of [new FakeClock(), systemClock]) {
    const cancel = clock.after(5, () => t.fail("rang"));
    cancel();
    cancel();
  }
  await systemClock.sleep(10, uninterrupted);
});

t.test("sleep() ends after its time, or with the reason it was stopped for, and leaves no alarm", async (t) => {
  const clock = new FakeClock();
  const slept = clock.sleep(50, uninterrupted);
  await clock.advance(50);
  await slept;
  const stop = new AbortController();
  const stopped = t.rejects(clock.sleep(50, { signal: stop.signal }), { message: "enough" });
  stop.abort(new Error("enough"));
  await stopped;
  await t.rejects(clock.sleep(50, { signal: stop.signal }), { message: "enough" });
  t.equal(clock.pending, 0);
});

t.test("systemClock waits longer than a timer can", async (t) => {
  const cancel = systemClock.after(2 ** 40, () => t.fail("rang"));
  await systemClock.sleep(1, uninterrupted);
  cancel();
});
