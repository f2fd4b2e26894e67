// The event loop waits for no disk: a card takes a fifth of a second and more to confirm a write, and everything stands still meanwhile.
// Only these may wait for it on the spot.

import { readFileSync } from "node:fs";
import t from "tap";
import { sourceFiles } from "../harness/source-files.ts";

const allowed: Readonly<Record<string, string>> = {
  "control/auth/pki/files.ts":
    "authorities and keys, made at the first start, and a key that is rotated: without them nothing can go on",
  "plugins/store/sqlite/files.ts": "runs in the store's own thread",
  "plugins/store/sqlite/journal.ts": "runs in the store's own thread",
};

t.test("only what must waits for the disk on the spot", async (t) => {
  const rooms = /^(agent|control|cri|cni|plugins)\//;
  const files = sourceFiles().filter((file) => rooms.test(file) && !file.endsWith(".test.ts"));
  const waiting = files.filter((file) => /\b(fsyncSync|fdatasyncSync)\b/.test(readFileSync(file, "utf8")));
  t.same(waiting.toSorted(), Object.keys(allowed).toSorted());
});
