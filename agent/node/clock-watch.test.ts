import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { watchClock } from "./clock-watch.ts";

t.test("watchClock() tells of a clock that is wrong at boot, and when it is set", async (t) => {
  const beats = new FakeClock(0);
  let aheadMs = 0;
  const clock = {
    now: () => beats.now() + aheadMs,
    monotonic: () => beats.monotonic(),
    after: beats.after.bind(beats),
    sleep: beats.sleep.bind(beats),
  };
  const said: string[] = [];
  const note = (_: unknown, text?: string) => void said.push(text ?? "");
  const log = { ...noLog, warn: note, info: note } as typeof noLog;
  let sets = 0;
  const stop = new AbortController();
  const laterThan = Date.UTC(2026, 5, 1);
  const running = watchClock({ clock, laterThan, log, onSet: () => sets++ }, stop);
  await beats.advance(60_000);
  t.match(said, [/^the clock is wrong/]);
  aheadMs += 30_000;
  await beats.advance(5_000);
  t.equal(sets, 0, "a small correction is no news");
  aheadMs = laterThan;
  await beats.advance(5_000);
  t.match(said, [/^the clock is wrong/, /^the clock was set/]);
  t.equal(sets, 1);
  aheadMs -= 3_600_000;
  await beats.advance(60_000);
  t.equal(sets, 2, "back is told too, once");
  stop.abort();
  await running;
});
