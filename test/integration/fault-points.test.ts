// runtimes: node
// (The same code writes on both runtimes.)
// The store, the addresses of pods, image layers and live volumes, each killed behind its writes one by one, and cut off from its disk there:
// what was acknowledged holds, nothing half-written counts, and the next attempt completes what was under way and leaves nothing behind.

import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { hostLocal } from "../../cni/host-local/plugin.ts";
import { LayerStore } from "../../cri/native/images/layer-store.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { openSqliteStore } from "../../plugins/store/sqlite.ts";
import { writeContent } from "../../plugins/volume/atomic-content.ts";
import { contents } from "../fixtures/fault-victims/contents.ts";
import { layerLimits, layers } from "../fixtures/fault-victims/layers.ts";
import { leaseArgs } from "../fixtures/fault-victims/lease-args.ts";
import { everyPoint, type Life, liveUntil, noFaultPoints, somePoints } from "../harness/fault-points.ts";
import { cuttableDisk } from "../harness/power-cut.ts";

const isLong = process.env["SKIFF_LONG"] === "1";
const chosenPoints = (names: readonly string[]) => (isLong ? everyPoint(names, 20) : somePoints(names, 16));
t.setTimeout(isLong ? 3_600_000 : 600_000);

/** What must hold of a folder in which a victim was killed; `isCut` when what it had not written back is gone, too. */
type Check = (folder: string, life: Life, isCut: boolean) => Promise<string[]>;

function survives(name: string, victim: string, check: Check): void {
  t.test(
    `${name} survives a kill behind each of its writes, and a power cut there`,
    { skip: noFaultPoints, somePoints },
    async (t: Test) => {
      const disk = cuttableDisk(t, isLong ? 128 : 48);
      if (typeof disk === "string") return (t.comment(disk), t.end());
      const script = join(import.meta.dirname, `../fixtures/fault-victims/${victim}.ts`);
      const live = (writes: number) => {
        const folder = join(disk.path, `life-${writes}`);
        mkdirSync(folder);
        disk.sync();
        return liveUntil({ script, args: [folder], folder }, writes).then((life) => ({ folder, life }));
      };
      const whole = await live(Number.POSITIVE_INFINITY);
      t.ok(whole.life.isComplete);
      t.same(await check(whole.folder, whole.life, false), [], "when nobody kills it");
      const points = chosenPoints(whole.life.points);
      for (const writes of points) {
        const { folder, life } = await live(writes);
        const at = `behind write ${life.points.length}: ${life.points.at(-1)}`;
        await disk.cut(async (path) => {
          t.same(await check(join(path, `life-${writes}`), life, true), [], `power cut ${at}`);
        });
        t.same(await check(folder, life, false), [], `killed ${at}`);
        rmSync(folder, { recursive: true });
      }
      t.comment(`${points.length} of ${whole.life.points.length} writes`);
    },
  );
}

survives("the store", "store", async (folder, { output }) => {
  const problems: string[] = [];
  const acknowledged = new Map(output.map((line) => line.split(" ") as [string, string]));
  const store = await openSqliteStore({ folder: join(folder, "store") });
  for (let index = 0; index < 10; index++) {
    const key = `/k/${index}`;
    const entry = await store.get(key, call);
    const text = entry && new TextDecoder().decode(entry.value);
    if (text !== undefined && !/^(1{3000}|2{3000})$/.test(text)) problems.push(`${key} is half written`);
    const states = index === 9 ? [undefined, "1", undefined] : [undefined, "1", "2"];
    const least = Number(acknowledged.get(key) ?? 0);
    if (!states.slice(least).includes(text?.[0]))
      problems.push(`${key} is ${text?.[0]} after ${least} was acknowledged`);
  }
  const result = await store.put("/after", new Uint8Array(10), "any", call);
  if (!result.ok) problems.push("nothing can be written");
  await store.close();
  return problems;
});

survives("the store that a snapshot replaces", "restore", async (folder, { isComplete }) => {
  const store = await openSqliteStore({ folder: join(folder, "store") });
  const { entries } = await store.list("", {}, call);
  await store.close();
  const keys = entries.map(({ key }) => key).join();
  return keys === "/old" || (keys === "/new" && !isComplete) ? [] : [`it has ${keys}`];
});

survives("the addresses of pods", "leases", async (folder, { output }, isCut) => {
  const problems: string[] = [];
  const add = async (id: string) => (await hostLocal.add(leaseArgs(folder, id), call)).ips[0]?.address ?? "";
  // A power cut ends the containers, too.
  const held = new Map(isCut ? [] : output.map((line) => line.split(" ") as [string, string]));
  held.delete("b");
  const taken = await add("d");
  if ([...held.values()].includes(taken)) problems.push(`${taken} was given out twice`);
  for (const id of ["a", "b", "c", "d"]) await hostLocal.del(leaseArgs(folder, id), call);
  const ids = ["1", "2", "3", "4", "5"];
  const addresses = new Set<string>();
  for (const id of ids) addresses.add(await add(id));
  if (addresses.size !== ids.length) problems.push("an address is lost");
  return problems;
});

/** What a volume shows. */
function shown(folder: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of ["a", "b", "c", "d/e"]) {
    try {
      files[name] = readFileSync(join(folder, name), "utf8");
    } catch {
      // It is not part of this content, or has no name yet.
    }
  }
  return files;
}

const textsOf = (index: number) =>
  Object.fromEntries([...(contents[index] ?? [])].map(([path, { data }]) => [path, new TextDecoder().decode(data)]));

survives("a live volume", "content", async (folder, _life, isCut) => {
  const problems: string[] = [];
  const files = Object.entries(shown(folder));
  const isOf = (index: number) => files.every(([path, text]) => textsOf(index)[path] === text);
  // Nobody reads a volume after a power cut before it is mounted anew.
  if (!isCut && !isOf(0) && !isOf(1)) problems.push(`a mixture is shown: ${JSON.stringify(files)}`);
  await writeContent(folder, contents[1] ?? new Map(), { now: 5000 });
  const [is, wanted] = [shown(folder), textsOf(1)].map((each) => JSON.stringify(each));
  if (is !== wanted) problems.push(`${is} is shown in the end`);
  const expected = ["..data", "a", "c", "d", readlinkSync(join(folder, "..data"))].sort().join();
  const found = readdirSync(folder).sort().join();
  if (found !== expected) problems.push(`there is ${found}`);
  return problems;
});

/** Names, kinds, owners, modes and contents below the folder. */
function tree(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below))
    .sort()
    .flatMap((name) => {
      const path = join(below, name);
      const { mode, uid, nlink } = lstatSync(join(folder, path));
      const kind = mode & 0o170000;
      if (kind === 0o040000) return [`${path} ${mode.toString(8)} ${uid}`, ...tree(folder, path)];
      if (kind === 0o120000) return [`${path} to ${readlinkSync(join(folder, path))}`];
      const content = readFileSync(join(folder, path));
      return [`${path} ${mode.toString(8)} ${uid} ${nlink} ${content.length} ${content[0]} ${content.at(-1)}`];
    });
}

const layerTrees = [
  ["a 40750 3", "a/file 100644 5 2 100000 7 7", "a/hard 100644 5 2 100000 7 7", "a/soft to file"],
  ["b 100644 0 1 1 98 98"],
];

survives("an image layer", "layer", async (folder) => {
  const problems: string[] = [];
  const store = new LayerStore({ root: folder, limits: layerLimits, durable: true });
  const look = (when: string) => {
    for (const [index, { diffId }] of layers.entries()) {
      const is = store.has(diffId) ? tree(store.path(diffId)).join("\n") : "";
      if (store.has(diffId) && is !== layerTrees[index]?.join("\n")) problems.push(`layer ${index} is ${is} ${when}`);
    }
  };
  look("after it");
  for (const { diffId, tar } of layers)
    await store.ensure(
      diffId,
      async function* () {
        yield tar;
      },
      call,
    );
  look("in the end");
  await store.sweep(new Set(layers.map(({ diffId }) => diffId)));
  const left = readdirSync(join(folder, "l")).length + readdirSync(join(folder, "layers")).length;
  if (left !== 4) problems.push(`${left} things are there`);
  return problems;
});
