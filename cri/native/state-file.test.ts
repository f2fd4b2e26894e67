import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
// The same process may have given bigints a toJSON.
import "../../plugins/kit/base/exact-json.ts";
import { appendState, readState, readStates, writeState } from "./state-file.ts";

function folder(t: { teardown(run: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-state-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

t.test("writeState() and readState() keep what JSON lacks", async (t) => {
  const path = join(folder(t), "deep", "x.json");
  writeState(path, { at: 1n << 60n, list: [2n], text: "a\nb" });
  t.same(readState(path), { at: 1n << 60n, list: [2n], text: "a\nb" });
  t.equal(readState(`${path}.none`), undefined);
});

t.test("appendState() makes the last whole line count", async (t) => {
  const path = join(folder(t), "x.json");
  appendState(path, { n: 1 });
  appendState(path, { n: 2n });
  t.same(readState(path), { n: 2n });
  appendFileSync(path, '\n{"n": 3, "cut');
  t.same(readState(path), { n: 2n });
  appendState(path, { n: 4 });
  t.same(readState(path), { n: 4 }, "a cut line does not spoil the next");
});

t.test("appendState() does not grow without end", async (t) => {
  const path = join(folder(t), "x.json");
  for (let n = 0; n < 100; n++) appendState(path, { n, ballast: "x".repeat(10_000) });
  t.ok(statSync(path).size < 300_000);
  t.match(readState(path), { n: 99 });
});

t.test("readStates() takes whole records and removes what a crash left", async (t) => {
  const dir = folder(t);
  writeState(join(dir, "a.json"), { id: "a" });
  writeFileSync(join(dir, "b.json"), "");
  writeFileSync(join(dir, "c.json.1-1.tmp"), "{");
  t.same([...readStates(dir)], [["a", { id: "a" }]]);
  t.same(readdirSync(dir), ["a.json"]);
  t.match(readFileSync(join(dir, "a.json"), "utf8"), /"a"/);
});
