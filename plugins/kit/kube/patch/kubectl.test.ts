// The same patches through kubectl's own code: `kubectl patch --local` never asks a server.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { strategicCases } from "../../../../test/fixtures/strategic-cases.ts";
import { applyMergePatch } from "./merge-patch.ts";

const skip = spawnSync("kubectl", ["version", "--client"]).status === 0 ? false : "kubectl is not on the PATH";

const dir = mkdtempSync(join(tmpdir(), "skiff-patch-"));
t.teardown(() => rmSync(dir, { recursive: true }));

// kubectl leaves directives in lists that had nothing to merge with, for a typed decoder to drop; and knows no kind of ours.
const isOurs = /where there is nothing to merge with|other groups/;

for (const [name, kind, document, patch, expected] of strategicCases.filter(([name]) => !isOurs.test(name))) {
  t.test(`kubectl agrees: applyStrategicPatch() ${name}`, { skip }, async (t) => {
    const parts = kind.split("/");
    const identity = { apiVersion: parts.slice(0, -1).join("/"), kind: parts.at(-1), metadata: { name: "x" } };
    const file = join(dir, "object.json");
    writeFileSync(file, JSON.stringify(applyMergePatch(document, identity)));
    const args = ["patch", "--local", "-f", file, "--type", "strategic", "-p", JSON.stringify(patch), "-o", "json"];
    const theirs = JSON.parse(
      execFileSync("kubectl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
    ) as object;
    t.same(theirs, applyMergePatch(expected, identity));
  });
}
