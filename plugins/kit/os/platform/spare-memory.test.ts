import { readFileSync, realpathSync } from "node:fs";
import t from "tap";
import { FakeClock } from "../../base/clock.ts";
import { unchangedMappings } from "./memory-map.ts";
import { keepGivingBack } from "./spare-memory.ts";

const megabyte = 1024 * 1024;

t.test("keepGivingBack() gives back after the start, and once for each time that the program has grown", async (t) => {
  const clock = new FakeClock();
  let resident = 100 * megabyte;
  let given = 0;
  const stop = keepGivingBack(clock, {
    residentBytes: () => resident,
    giveBack: () => {
      given++;
      resident -= 40 * megabyte;
    },
  });
  await clock.advance(10_000);
  t.equal(given, 1, "what the start left behind");
  resident += 20 * megabyte;
  await clock.advance(60_000);
  t.equal(given, 1, "what is used comes back, and stays");
  resident = 130 * megabyte;
  await clock.advance(10_000);
  t.equal(given, 2, "it was busy");
  await clock.advance(60_000);
  t.equal(given, 2, "what it still holds, it uses");
  resident = 80 * megabyte;
  await clock.advance(10_000);
  resident = 90 * megabyte;
  await clock.advance(10_000);
  t.equal(given, 3, "it grew again after it had become smaller");
  stop();
  resident = 200 * megabyte;
  await clock.advance(60_000);
  t.equal(given, 3, "it was told to end");
});

t.test("keepGivingBack() works on this system, and the program goes on", async (t) => {
  const clock = new FakeClock();
  const program = realpathSync("/proc/self/exe");
  const mapped = () => unchangedMappings(readFileSync("/proc/self/smaps", "utf8"), program);
  const before = residentIn(program);
  const mappings = mapped();
  t.ok(mappings.length > 0 && before > 0);
  const stop = keepGivingBack(clock);
  await clock.advance(60_000);
  stop();
  t.same(mapped(), mappings, "nothing is unmapped");
  t.ok(residentIn(program) < before);
});

/** Kilobytes of the file that are in this program's memory. */
function residentIn(file: string): number {
  let isOfFile = false;
  let total = 0;
  for (const line of readFileSync("/proc/self/smaps", "utf8").split("\n")) {
    if (/^[0-9a-f]+-/.test(line)) isOfFile = line.endsWith(` ${file}`);
    else if (isOfFile && line.startsWith("Rss:")) total += Number.parseInt(line.slice("Rss:".length), 10);
  }
  return total;
}
