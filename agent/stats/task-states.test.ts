import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { until } from "../../test/harness/until.ts";
import { LoadAverages, taskStates } from "./task-states.ts";

t.test("taskStates() counts threads by what they do, whatever they are called", async (t) => {
  const proc = mkdtempSync(join(tmpdir(), "skiff-tasks-"));
  t.teardown(() => rmSync(proc, { recursive: true, force: true }));
  const put = (thread: number, name: string, state: string, wchan = "0") => {
    mkdirSync(join(proc, String(thread)));
    writeFileSync(join(proc, String(thread), "stat"), `${thread} (${name}) ${state} 1 1 1`);
    writeFileSync(join(proc, String(thread), "wchan"), wchan);
  };
  put(1, "sh", "S");
  put(2, "a) R (b", "S");
  put(3, "burn", "R");
  put(4, "held", "T");
  put(5, "traced", "t");
  put(6, "disk", "D", "io_schedule_timeout");
  put(7, "nfs", "D", "rpc_wait_bit_killable");
  put(8, "gone", "Z");
  const found = taskStates([1, 2, 3, 4, 5, 6, 7, 8, 9], proc);
  t.same(found, { running: 1, sleeping: 2, stopped: 2, uninterruptible: 1, ioWaiting: 1 });
});

t.test("taskStates() of real processes", async (t) => {
  const sleeper = spawn("sleep", ["1000"], { stdio: "ignore" });
  const pid = sleeper.pid ?? 0;
  // Signals go by its number: Deno sends a child none after the first.
  t.teardown(async () => {
    const ended = new Promise((resolve) => sleeper.once("exit", resolve));
    process.kill(pid, "SIGKILL");
    await ended;
  });
  await until("it to sleep", () => taskStates([pid]).sleeping === 1);
  process.kill(pid, "SIGSTOP");
  await until("it to be held", () => taskStates([pid]).stopped === 1);
});

t.test("LoadAverages begin at the first number and follow the later ones", async (t) => {
  const loads = new LoadAverages();
  t.equal(loads.average("a", 0, 2), 2);
  t.equal(loads.average("a", 10_000, 0).toFixed(3), (2 / Math.E).toFixed(3), "ten seconds leave a third of it");
  t.equal(loads.average("a", 1_000_000, 4).toFixed(3), "4.000");
  t.equal(loads.average("a", 999_000, 0).toFixed(3), "4.000", "a clock that goes back changes nothing");
  loads.retain(new Set());
  t.equal(loads.average("a", 0, 1), 1, "forgotten");
});
