// How many durable puts each store takes per second with 1 and 64 writers, how long one waits, and how long the event
// loop stands still meanwhile; beside a bare node:sqlite loop with one commit per put in the same folder.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { uninterrupted as call, within } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { openEtcdStore } from "../../plugins/store/etcd.ts";
import { memoryStore } from "../../plugins/store/memory.ts";
import { openSqliteStore } from "../../plugins/store/sqlite.ts";
import { noEtcd, startEtcd } from "../harness/etcd.ts";

/** What one subject did in one round. */
interface Round {
  readonly putsPerSecond: number;
  readonly tookMs: readonly number[];
  readonly stallMs: number | undefined;
}

interface Subject {
  readonly name: string;
  readonly writers: number;
  readonly rounds: Round[];
  round(): Round | Promise<Round>;
}

// Many short rounds, each subject once in each, and medians over them: what else the machine does comes and goes, and would
// otherwise decide which subject looks good.
const rounds = 7;
const roundSeconds = 0.6;
/** A pod's size, more or less. */
const value = new Uint8Array(1500).fill(120);
const keyOf = (writer: number, n: number) => `/registry/core/configmaps/bench/w${writer}-${n % 200}`;

/** `node test/bench/main.ts store [folder]`; the folder should lie on the disk in question. */
export async function run(args: string[]): Promise<void> {
  const root = mkdtempSync(join(args[0] ?? tmpdir(), "skiff-bench-store-"));
  const cleanUps: (() => unknown)[] = [() => rmSync(root, { recursive: true, force: true })];
  try {
    console.log(
      `store: puts of ${value.byteLength} bytes in ${root}, median of ${rounds} rounds of ${roundSeconds} s each`,
    );
    const idle: Subject = { name: "idle event loop", writers: 0, rounds: [], round: idleRound };
    const bare = bareSubject(join(root, "bare.db"), cleanUps);
    const subjects: Subject[] = [idle, bare];
    for (const [name, open] of Object.entries(stores(root, cleanUps)))
      for (const writers of [1, 64]) subjects.push(await storeSubject(name, writers, open, cleanUps));
    for (let n = 0; n <= rounds; n++) {
      for (const subject of subjects) {
        const round = await subject.round();
        if (n > 0) subject.rounds.push(round); // the first one warms up
      }
    }
    for (const subject of subjects) print(subject);
    verdict(bare, subjects.find(({ name, writers }) => name === "sqlite" && writers === 64) as Subject, idle);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

function verdict(bare: Subject, grouped: Subject, idle: Subject): void {
  const ratio = median(grouped.rounds.map((round, n) => round.putsPerSecond / (bare.rounds[n]?.putsPerSecond ?? 1)));
  console.log(`sqlite with 64 writers / bare loop: ${ratio.toFixed(1)} (goal: at least 5)`);
  const [stall, machine] = [grouped, idle].map(({ rounds }) => median(rounds.map(({ stallMs }) => stallMs ?? 0)));
  console.log(
    `longest stall meanwhile: ${stall?.toFixed(1)} ms (goal: under 10), an idle loop of this machine: ${machine?.toFixed(1)} ms`,
  );
}

async function storeSubject(
  name: string,
  writers: number,
  open: () => Promise<Store>,
  cleanUps: (() => unknown)[],
): Promise<Subject> {
  const store = await open();
  cleanUps.push(() => store.close());
  return { name, writers, rounds: [], round: () => writeFor(store, writers) };
}

function stores(root: string, cleanUps: (() => unknown)[]): Record<string, () => Promise<Store>> {
  let folders = 0;
  const known: Record<string, () => Promise<Store>> = {
    memory: async () => memoryStore(),
    sqlite: () => openSqliteStore({ folder: join(root, `sqlite-${folders++}`) }),
    "sqlite, lazy": () => openSqliteStore({ folder: join(root, `sqlite-${folders++}`), lazyPrefixes: ["/registry/"] }),
  };
  if (noEtcd) console.log(`etcd is left out: ${noEtcd}`);
  else known["etcd"] = () => openEtcd(root, cleanUps);
  return known;
}

async function openEtcd(root: string, cleanUps: (() => unknown)[]): Promise<Store> {
  const members = await startEtcd({ teardown: (end) => cleanUps.push(end) }, 1, undefined, root);
  const limit = within(30_000);
  for (;;) {
    try {
      return await openEtcdStore({ endpoints: members.map(({ url }) => url) }, limit);
    } catch {
      // Not up yet; the limit ends the wait.
      await systemClock.sleep(50, limit);
    }
  }
}

/** What one commit per put costs with nothing around it; it blocks, so it has no stall to tell. */
function bareSubject(path: string, cleanUps: (() => unknown)[]): Subject {
  const db = new DatabaseSync(path);
  cleanUps.push(() => db.close());
  db.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
  db.exec("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB)");
  const put = db.prepare("INSERT OR REPLACE INTO entries VALUES (?, ?)");
  const round = () => {
    const tookMs: number[] = [];
    const start = performance.now();
    for (let n = 0; performance.now() - start < roundSeconds * 1000; n++) {
      const from = performance.now();
      put.run(keyOf(0, n), value);
      tookMs.push(performance.now() - from);
    }
    return roundOf(tookMs, start, undefined);
  };
  return { name: "bare node:sqlite loop", writers: 1, rounds: [], round };
}

async function idleRound(): Promise<Round> {
  const start = performance.now();
  const stall = watchStalls();
  await systemClock.sleep(roundSeconds * 1000, call);
  return roundOf([], start, stall());
}

async function writeFor(store: Store, writers: number): Promise<Round> {
  const tookMs: number[] = [];
  const start = performance.now();
  const stall = watchStalls();
  const write = async (writer: number) => {
    for (let n = 0; performance.now() - start < roundSeconds * 1000; n++) {
      const from = performance.now();
      await store.put(keyOf(writer, n), value, "any", call);
      tookMs.push(performance.now() - from);
      // A store that never waits would otherwise keep the loop to itself for as long as the bench runs.
      if (n % 8 === 7) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return roundOf(tookMs, start, stall());
}

function roundOf(tookMs: number[], start: number, stallMs: number | undefined): Round {
  return { putsPerSecond: tookMs.length / ((performance.now() - start) / 1000), tookMs, stallMs };
}

/**
 * Measures by how much a timer of 1 ms is late at worst, until the returned function is called; without the time that this thread
 * could have run and the kernel gave its core to somebody else, which says nothing about the loop.
 */
function watchStalls(): () => number {
  let last = performance.now();
  let lastWaited = waitedMs();
  let longest = 0;
  const timer = setInterval(() => {
    const [now, waited] = [performance.now(), waitedMs()];
    longest = Math.max(longest, now - last - 1 - (waited - lastWaited));
    [last, lastWaited] = [now, waited];
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** How long this thread has waited for a core since it began; the second number of the kernel's three, in nanoseconds. */
function waitedMs(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[1]) / 1e6;
}

const at = (sorted: readonly number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const median = (numbers: readonly number[]) => at(ascending(numbers), 0.5);

function print({ name, writers, rounds }: Subject): void {
  const took = ascending(rounds.flatMap(({ tookMs }) => tookMs));
  const stalls = rounds.flatMap(({ stallMs }) => (stallMs === undefined ? [] : [stallMs]));
  const columns = [
    name.padEnd(22),
    `${writers} writers`.padStart(10),
    `${Math.round(median(rounds.map(({ putsPerSecond }) => putsPerSecond)))} puts/s`.padStart(14),
    `p50 ${at(took, 0.5).toFixed(2)} ms`.padStart(14),
    `p99 ${at(took, 0.99).toFixed(2)} ms`.padStart(14),
    stalls.length === 0
      ? "blocks"
      : `longest stall ${median(stalls).toFixed(1)} ms (worst ${Math.max(...stalls).toFixed(1)})`,
  ];
  console.log(columns.join("  "));
}
