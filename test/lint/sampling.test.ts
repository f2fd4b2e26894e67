// Sampling spawns nothing: what the samplers import, and what that imports, never reaches a way to start a process. A process costs
// milliseconds where a file costs microseconds, on every beat, for every container.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { sourceFiles } from "../harness/source-files.ts";

const starts = ["agent/stats/sampler.ts", "agent/stats/summary.ts", "agent/stats/cadvisor-metrics.ts"];
const plugs = sourceFiles().filter((file) => file.startsWith("plugins/stats/") && !file.endsWith(".test.ts"));
const spawning = /^(node:)?child_process$|^systeminformation$|^node-pty$/;
/** The one that machine facts come from: asked for once, when it is needed. */
const loadedLater = "agent/stats/cadvisor/inventory.ts";

/** Whatever the file loads when it runs: types cost nothing. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const statements = text.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm);
  const dynamic = text.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g);
  return [...statements, ...(file === loadedLater ? [] : dynamic)].map(([, name = ""]) => name);
}

t.test("nothing on the sampling path can start a process", async (t) => {
  const cameFrom = new Map<string, string>([...starts, ...plugs].map((file) => [file, ""]));
  const found: string[] = [];
  for (const file of cameFrom.keys()) {
    for (const name of importsOf(file)) {
      const path = name.startsWith(".") ? join(dirname(file), name) : name;
      if (spawning.test(path)) found.push(`${wayTo(file)} -> ${path}`);
      if (name.startsWith(".") && name.endsWith(".ts") && !cameFrom.has(path)) cameFrom.set(path, file);
    }
  }
  t.same(found, []);
  t.ok(cameFrom.has("agent/stats/node-sample.ts") && cameFrom.size > 15, `${cameFrom.size} files were looked at`);

  function wayTo(file: string): string {
    const before = cameFrom.get(file);
    return before ? `${wayTo(before)} -> ${file}` : file;
  }
});
