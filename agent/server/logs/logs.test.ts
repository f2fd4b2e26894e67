// Container logs: every choice, tails without reading the file, rotation while following.

import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import { logQuery } from "./log-query.ts";
import { tailStart } from "./log-tail.ts";
import { type LogRequest, readLog } from "./read-log.ts";

const dir = mkdtempSync(join(tmpdir(), "skiff-logs-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

const stamp = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}.123456789Z`;
const sample = [
  `${stamp(1)} stdout F one`,
  `${stamp(2)} stderr P tw`,
  `${stamp(2)} stderr F o`,
  `${stamp(3)} stdout F `,
  `${stamp(4)} stdout F four ä`,
  "",
].join("\n");

async function read(text: string, request: Partial<LogRequest>): Promise<string> {
  const path = join(dir, `${Math.random()}.log`);
  writeFileSync(path, text);
  let shown = "";
  const wanted = { follow: false, timestamps: false, ...request };
  for await (const piece of readLog({ path, isAlive: () => false }, wanted, systemClock, uninterrupted))
    shown += piece.toString();
  return shown;
}

t.test("readLog() that does not follow ends where the log did when it began", async (t) => {
  const path = join(dir, "growing.log");
  // More than is read at once, so that the log grows between two reads.
  const long = "x".repeat(70_000);
  writeFileSync(path, `${stamp(1)} stdout F ${long}\n${stamp(2)} stdout F two\n`);
  let shown = "";
  const wanted = { follow: false, timestamps: false, tailLines: 2 };
  for await (const piece of readLog({ path, isAlive: () => true }, wanted, systemClock, uninterrupted)) {
    if (shown === "") appendFileSync(path, `${stamp(3)} stdout F three\n`);
    shown += piece.toString();
  }
  t.equal(shown, `${long}\ntwo\n`);
});

t.test("readLog() shows what was asked for", async (t) => {
  t.equal(await read(sample, {}), "one\ntwo\n\nfour ä\n");
  t.equal(await read(sample, { tailLines: 3 }), "two\n\nfour ä\n", "a line in pieces is one line");
  t.equal(await read(sample, { tailLines: 0 }), "");
  t.equal(await read(sample, { tailLines: 99 }), "one\ntwo\n\nfour ä\n");
  t.equal(await read(sample, { stream: "stderr" }), "two\n");
  t.equal(await read(sample, { limitBytes: 5 }), "one\nt");
  t.equal(
    await read(sample, { timestamps: true, tailLines: 3 }),
    `${stamp(2)} two\n${stamp(3)} \n${stamp(4)} four ä\n`,
    "one time for a joined line",
  );
  t.equal(
    await read(`2026-01-01T00:00:01.5+02:00 stdout F a\n`, { timestamps: true }),
    "2026-01-01T00:00:01.500000000+02:00 a\n",
  );
  t.equal(
    await read(`2026-01-01T00:00:01.5+00:00 stdout F a\n`, { timestamps: true }),
    "2026-01-01T00:00:01.500000000Z a\n",
    "no offset is Z, as kubectl shows it everywhere",
  );
  const since = logQuery(new URLSearchParams({ sinceTime: "2026-01-01T00:00:03.123456790Z" }), 0).since ?? 0n;
  t.equal(await read(sample, { since }), "four ä\n", "to the nanosecond");
  t.equal(await read(`{"log":"a\\n","stream":"stdout","time":"${stamp(1)}"}\nnonsense\n`, {}), "a\n");
});

t.test("tailStart() agrees with counting from the front, whatever the sizes", async (t) => {
  const lines = Array.from({ length: 900 }, (_, i) => `${stamp(i % 60)} stdout F ${i} ${"x".repeat((i * 37) % 700)}`);
  const path = join(dir, "long.log");
  const text = `${lines.join("\n")}\n`;
  writeFileSync(path, text);
  const file = await open(path);
  for (const count of [1, 2, 10, 150, 200, 333, 899, 900, 901]) {
    const start = await tailStart(file, text.length, count);
    t.equal(text.slice(start), `${lines.slice(-count).join("\n")}\n`, `${count} lines`);
  }
  await file.close();
});

t.test("readLog() follows through rotation and ends with the container", async (t) => {
  const path = join(dir, "follow.log");
  writeFileSync(path, `${stamp(1)} stdout F first\n`);
  let isAlive = true;
  const log = readLog(
    { path, isAlive: () => isAlive },
    { follow: true, timestamps: false },
    systemClock,
    uninterrupted,
  );
  const next = async () => String((await log.next()).value);
  t.equal(await next(), "first\n");
  appendFileSync(path, `${stamp(2)} stdout P sec`);
  appendFileSync(path, `\n${stamp(2)} stdout F ond\n`);
  t.equal(await next(), "second\n");
  renameSync(path, `${path}.1`);
  appendFileSync(`${path}.1`, `${stamp(3)} stdout F late\n`);
  writeFileSync(path, `${stamp(4)} stdout F new file\n`);
  t.equal(await next(), "late\n");
  t.equal(await next(), "new file\n");
  appendFileSync(path, `${stamp(5)} stdout F last\n`);
  isAlive = false;
  t.equal(await next(), "last\n");
  t.equal((await log.next()).done, true);
});

t.test("logQuery() refuses what makes no sense", async (t) => {
  const ask = (query: Record<string, string>) => () => logQuery(new URLSearchParams(query), 0);
  t.throws(ask({ tailLines: "-1" }), { code: "invalid" });
  t.throws(ask({ limitBytes: "0" }), { code: "invalid" });
  t.throws(ask({ sinceTime: "yesterday" }), { code: "invalid" });
  t.throws(ask({ sinceTime: "2026-01-01T00:00:00Z", sinceSeconds: "5" }), { code: "invalid" });
  t.equal(logQuery(new URLSearchParams({ sinceSeconds: "5" }), 7000).since, 2_000_000_000n);
});
