// Fuzzes every decoder of bytes from outside. The short form runs the corpus and a fixed number of mutations with a fixed seed;
// SKIFF_FUZZ_SECONDS gives each target that long in a process of its own, guided by coverage and with a small heap.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { runtime } from "../../plugins/kit/os/platform/runtime.ts";
import { fuzz } from "./engine.ts";
import { Random } from "./mutate.ts";
import type { Target } from "./target.ts";
import { targets } from "./targets.ts";

const seconds = Number(process.env["SKIFF_FUZZ_SECONDS"] ?? (process.env["SKIFF_LONG"] === "1" ? 15 : 0));
const shortRuns = 1500;
const only = process.env["SKIFF_FUZZ_TARGET"];
const here = targets
  .filter(({ runtimes }) => runtimes?.includes(runtime.name) ?? true)
  .filter(({ name }) => only === undefined || name === only);

function skipOf({ needsRoot }: Target): { skip?: string } {
  return needsRoot && process.getuid?.() !== 0 ? { skip: "device nodes and owners need root" } : {};
}

for (const target of here) {
  t.test(`${target.name}: the corpus and its mutations`, skipOf(target), async (t) => {
    await target.open?.();
    t.teardown(() => target.close?.());
    const most = target.corpus.length + (target.shortRuns ?? shortRuns);
    const { finding } = await fuzz(target, { seed: 1, wants: (runs) => runs < most });
    if (finding) t.fail(`input ${JSON.stringify(finding.input.toString("latin1"))}: ${described(finding.error)}`);
    else t.pass();
  });
}

const described = (error: unknown) => (error instanceof Error ? error.stack : String(error));

t.test("mutations of one seed are the same everywhere", async (t) => {
  const random = new Random(1);
  t.same(
    Array.from({ length: 4 }, () => random.below(1000)),
    [627, 2, 527, 981],
  );
});

const isLong = seconds > 0 && runtime.name === "node";
t.test(`each target for ${seconds} s`, { skip: isLong ? false : "SKIFF_FUZZ_SECONDS, on Node" }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skiff-fuzz-"));
  for (const target of here) {
    await t.test(target.name, skipOf(target), async (t) => {
      const input = join(folder, target.name.replaceAll(/\W/g, "-"));
      const { code, output, errors } = await inProcess(target.name, input);
      t.comment(output.trim());
      t.equal(code, 0, `input in ${input}\n${output}${errors}`);
      if (code === 0) rmSync(input);
    });
  }
  // Inputs of failed targets stay for whoever looks into them.
  if (t.passing()) rmSync(folder, { recursive: true });
});

/** How much longer than its time a process may take before what it is at counts as a hang. */
const overtimeMs = 60_000;

function inProcess(name: string, input: string): Promise<{ code: number | null; output: string; errors: string }> {
  const seed = String(process.env["SKIFF_FUZZ_SEED"] ?? Date.now() % 2 ** 31);
  const program = join(import.meta.dirname, "child.ts");
  const flags = ["--disable-warning=ExperimentalWarning", "--max-old-space-size=256"];
  const child = spawn("node", [...flags, program, name, String(seconds), seed, input], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = `seed ${seed} `;
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-10_000)));
  const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000 + overtimeMs);
  return new Promise((resolve) => {
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code, output, errors });
    });
  });
}
