import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { delayFile, dropDelay, raiseDelay } from "./logind-delay.ts";

/** A logind that reads the file when it is told to. */
function room(t: { teardown(then: () => void): void }, ownSeconds = 5) {
  const root = mkdtempSync(join(tmpdir(), "skiff-logind-"));
  t.teardown(() => rmSync(root, { recursive: true }));
  const file = delayFile("", root);
  let seconds = ownSeconds;
  const signals: unknown[] = [];
  const manager = {
    async kill(unit: string, signal: number) {
      signals.push([unit, signal]);
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      seconds = Number(/InhibitDelayMaxSec=(\d+)/.exec(text)?.[1] ?? ownSeconds);
    },
  };
  const logind = { longestDelayMs: async () => seconds * 1000 };
  const raise = (to: number) => raiseDelay(logind, to, { file, manager, clock: systemClock }, uninterrupted);
  return { root, file, manager, signals, raise, seconds: () => seconds };
}

t.test("raiseDelay() leaves a logind alone that waits long enough", async (t) => {
  const { file, raise, signals } = room(t, 30);
  await raise(30);
  t.notOk(existsSync(file));
  t.same(signals, []);
});

t.test("raiseDelay() has logind wait longer, and follows what is configured", async (t) => {
  const { file, raise, signals, seconds, manager } = room(t);
  await raise(20);
  t.equal(seconds(), 20);
  t.same(signals, [["systemd-logind.service", 1]]);
  await raise(20);
  t.equal(signals.length, 1, "nothing is done twice");
  await raise(8);
  t.equal(seconds(), 8, "its own file is brought down again, too");
  await dropDelay({ file, manager }, uninterrupted);
  t.equal(seconds(), 5);
  t.notOk(existsSync(dirname(file)), "the folder was ours alone");
  await dropDelay({ file, manager }, uninterrupted);
  t.equal(signals.length, 3, "nothing is left to be dropped");
});

t.test("dropDelay() leaves the files of others", async (t) => {
  const { file, manager } = room(t);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  writeFileSync(join(dirname(file), "50-other.conf"), "");
  await dropDelay({ file, manager }, uninterrupted);
  t.ok(existsSync(join(dirname(file), "50-other.conf")));
});

t.test("delayFile() differs between instances", async (t) => {
  t.equal(delayFile(""), "/etc/systemd/logind.conf.d/99-skiff.conf");
  t.equal(delayFile("a1"), "/etc/systemd/logind.conf.d/99-skiff-a1.conf");
});
