import t from "tap";
import { FakeClock } from "../kit/base/clock.ts";
import { Wake } from "./wake.ts";

t.test("next() tells a ring from the passing of time and loses none", async (t) => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const wake = new Wake(clock, { signal: stop.signal });
  wake.ring();
  t.equal(await wake.next(1000), true, "rung before");
  const first = wake.next(1000);
  await clock.advance(1000);
  t.equal(await first, false);
  const second = wake.next(1000);
  wake.ring();
  t.equal(await second, true);
  const third = wake.next(1000);
  stop.abort();
  t.equal(await third, true, "the end of the call rings");
  t.equal(await wake.next(1000), true);
  t.equal(clock.pending, 0, "no alarm is left");
  wake.close();
});

t.test("for() waits for the work or the end", async (t) => {
  const stop = new AbortController();
  const wake = new Wake(new FakeClock(), { signal: stop.signal });
  await wake.for(Promise.resolve());
  const forever = wake.for(new Promise(() => {}));
  stop.abort();
  await forever;
  t.pass("both ended");
});
