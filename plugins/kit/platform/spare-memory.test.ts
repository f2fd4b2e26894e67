import t from "tap";
import { FakeClock } from "../clock.ts";
import { keepGivingBack } from "./spare-memory.ts";

const megabyte = 1024 * 1024;

t.test("keepGivingBack() gives back once for each time that the program has grown", async (t) => {
  const clock = new FakeClock();
  let resident = 100 * megabyte;
  let given = 0;
  const stop = keepGivingBack(clock, {
    residentBytes: () => resident,
    giveBack: () => {
      given++;
      resident -= 10 * megabyte;
    },
  });
  await clock.advance(60_000);
  t.equal(given, 0, "an idle program is left alone");
  resident = 130 * megabyte;
  await clock.advance(10_000);
  t.equal(given, 1);
  await clock.advance(60_000);
  t.equal(given, 1, "what it still holds, it uses");
  resident = 90 * megabyte;
  await clock.advance(10_000);
  resident = 100 * megabyte;
  await clock.advance(10_000);
  t.equal(given, 2, "it grew again after it had become smaller");
  stop();
  resident = 200 * megabyte;
  await clock.advance(60_000);
  t.equal(given, 2, "it was told to end");
});

t.test("keepGivingBack() works on this system", async (t) => {
  const clock = new FakeClock();
  const stop = keepGivingBack(clock);
  await clock.advance(60_000);
  stop();
  t.pass();
});
