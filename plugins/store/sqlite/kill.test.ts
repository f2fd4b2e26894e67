import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t from "tap";
import { uninterrupted as call } from "../../kit/base/call.ts";
import { selfCommand } from "../../kit/os/platform/runtime.ts";
import { openSqliteStore } from "../sqlite.ts";

const kills = process.env["SKIFF_LONG"] === "1" ? 1000 : 25;
t.setTimeout(kills * 5000);

interface Found {
  revision: number;
  found: [key: string, n: number][];
}
interface Acknowledged {
  key: string;
  n: number;
  revision: number;
}

/** What was acknowledged over all lives of the writer, and whether what is found agrees with it. */
class Record {
  readonly problems: string[] = [];
  readonly #newestByKey = new Map<string, number>();
  #highest = 0;
  #highestBefore = 0;
  readonly #revisions = new Set<number>();
  acknowledged = 0;

  note({ key, n, revision }: Acknowledged): void {
    this.acknowledged++;
    if (revision <= this.#highestBefore || this.#revisions.has(revision)) this.problems.push(`${revision} came twice`);
    this.#revisions.add(revision);
    this.#highest = Math.max(this.#highest, revision);
    this.#newestByKey.set(key, n);
  }

  /** `generation` is the life that was killed: its next operation may have been done without an answer. */
  compare({ revision, found }: Found, generation: number): void {
    if (revision < this.#highest) this.problems.push(`revision ${revision} is below ${this.#highest}`);
    this.#highestBefore = this.#highest;
    this.#revisions.clear();
    const foundByKey = new Map(found);
    for (const [key, acknowledged] of this.#newestByKey) {
      if (!key.startsWith("/firm/") && key !== "/lazy/firm") continue;
      const isOfThisLife = Math.floor(acknowledged / 1_000_000) === generation;
      const underway = isOfThisLife ? acknowledged + 1 : generation * 1_000_000 + 1;
      const is = foundByKey.get(key);
      if (is !== stateAfter(acknowledged) && is !== stateAfter(underway)) {
        this.problems.push(`${key} is ${is}, but ${acknowledged} was acknowledged`);
      }
      // What was found is what the next life begins with.
      this.#newestByKey.set(key, is === stateAfter(acknowledged) ? acknowledged : underway);
    }
  }
}

function stateAfter(n: number): number | undefined {
  return n % 5 === 0 ? undefined : n;
}

function read(line: string): Found | Acknowledged | undefined {
  try {
    return JSON.parse(line) as Found | Acknowledged;
  } catch {
    return undefined;
  }
}

/** One life of the writer: killed right after starting, or after some writes. */
async function live(folder: string, generation: number, record: Record): Promise<void> {
  const script = join(import.meta.dirname, "../../../test/fixtures/store-writer.ts");
  const [command, ...args] = selfCommand(script, [folder, String(generation)]);
  const writer = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let left = randomInt(10) === 0 ? 0 : randomInt(400);
  let lines = 0;
  let cut = 0;
  for await (const line of createInterface({ input: writer.stdout })) {
    const told = read(line);
    // The kill may cut the last line short; that write was then not acknowledged to anyone.
    if (!told) cut++;
    else if ("found" in told) record.compare(told, generation - 1);
    else record.note(told);
    lines++;
    if (left-- === 0) writer.kill("SIGKILL");
  }
  if (cut > 1) record.problems.push(`life ${generation} printed ${cut} lines that cannot be read`);
  if (lines === 0) record.problems.push(`life ${generation} could not open the store`);
}

t.test(`a writer killed ${kills} times loses nothing that was acknowledged and gives no revision twice`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skiff-kill-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const record = new Record();
  for (let generation = 1; generation <= kills; generation++) await live(folder, generation, record);
  const store = await openSqliteStore({ folder, lazyPrefixes: ["/lazy/"] });
  const { entries } = await store.list("", {}, call);
  const found = entries.map(({ key, value }) => [key, Number(new TextDecoder().decode(value))] as [string, number]);
  record.compare({ revision: store.revision, found }, kills);
  await store.close();
  t.same(record.problems, []);
  t.comment(`${record.acknowledged} acknowledged writes`);
  t.ok(record.acknowledged > kills, "the writers wrote");
});
