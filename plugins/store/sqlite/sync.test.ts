// What the kernel saw of a writer: that no write was acknowledged before an fdatasync of the journal that holds it had succeeded.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import { selfCommand } from "../../kit/os/platform/runtime.ts";

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const acknowledgements = 2500;

/** A call as strace wrote it down: where it began and where it had ended, in lines. */
interface Traced {
  readonly text: string;
  readonly began: number;
  readonly ended: number;
}

/** Joins what strace split because another thread's call came in between. */
function callsIn(trace: string): Traced[] {
  const begunByThread = new Map<string, { text: string; began: number }>();
  const calls: Traced[] = [];
  for (const [at, line] of trace.split("\n").entries()) {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const begun = begunByThread.get(thread);
    if (text.endsWith("<unfinished ...>")) begunByThread.set(thread, { text, began: at });
    else if (text.startsWith("<...") && begun) calls.push({ text: begun.text + text, began: begun.began, ended: at });
    else calls.push({ text, began: at, ended: at });
  }
  return calls.sort((a, b) => a.ended - b.ended);
}

/** The trace of a writer that was killed when it had acknowledged enough. */
async function traceWriter(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "skiff-sync-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(import.meta.dirname, "../../../test/fixtures/store-writer.ts");
  const trace = join(folder, "trace");
  const calls = "trace=write,pwrite64,fsync,fdatasync";
  const flags = ["-f", "-y", "-qq", "-s", "4096", "-e", calls, "-e", "signal=none", "-o", trace];
  const command = selfCommand(script, [join(folder, "store"), "1"]);
  const writer = spawn("strace", [...flags, ...command], { stdio: ["ignore", "pipe", "inherit"], detached: true });
  let left = acknowledgements;
  for await (const _ of createInterface({ input: writer.stdout })) {
    // The group: strace and what it traces.
    if (left-- === 0) process.kill(-(writer.pid as number), "SIGKILL");
  }
  return readFileSync(trace, "utf8");
}

t.test(
  "every acknowledged write was synced before",
  { skip: !canTrace && "there is no strace, or it may not trace" },
  async (t) => {
    const calls = callsIn(await traceWriter(t));
    const isOfJournal = ({ text }: Traced) => text.includes("store.db-wal>");
    const written = calls.filter((call) => call.text.startsWith("pwrite64") && isOfJournal(call));
    const synced = calls.filter(
      (call) => /^f(data)?sync/.test(call.text) && isOfJournal(call) && call.text.endsWith("= 0"),
    );
    const unsynced: string[] = [];
    let seen = 0;
    for (const { text, began } of calls) {
      const [, key, n] = /^write\(1<.*\\"key\\":\\"(\/firm\/\d)\\",\\"n\\":(\d+)/.exec(text) ?? [];
      // A deletion leaves no text of its own to look for.
      if (!key || !n || Number(n) % 5 === 0) continue;
      seen++;
      const frame = written.find((call) => call.text.includes(`${key}${n}`) && call.ended < began);
      if (!frame || !synced.some((call) => call.began > frame.ended && call.ended < began))
        unsynced.push(`${key} ${n}`);
    }
    t.same(unsynced, []);
    t.ok(seen > acknowledgements / 2, `${seen} acknowledged writes were looked at`);
    const restarts = written.filter(({ text }) => /, 32, 0( |\))/.test(text)).length;
    t.ok(restarts > 1, `the journal began ${restarts} times`);
  },
);
