// Runs the static checks and every test file on Node and Deno, reports, and ends with "N passed, N failed".

import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { removeSharedCgroup } from "./harness/left-behind.ts";
import { leaks, machineState } from "./harness/machine-state.ts";
import { otherTestRuns } from "./harness/other-runs.ts";
import { type RuntimeName, runTestFile, type TestFile, type TestResult, testFile } from "./harness/test-file.ts";

const args = process.argv.slice(2);
const flags = new Set(args.filter((arg) => arg.startsWith("--")));
const paths = args.filter((arg) => !arg.startsWith("--"));
const env: Record<string, string> = flags.has("--long") ? { SKIFF_LONG: "1" } : {};

const checks: [name: string, command: string, args: string[]][] = [
  ["types", "tsc", ["-p", "."]],
  ["format", "biome", ["format", "."]],
  ["lint", "oxlint", ["--type-aware", "--quiet"]],
  ["dead code", "knip", ["--no-progress"]],
];

function runChecks(): { passed: number; failed: number } {
  const count = { passed: 0, failed: 0 };
  for (const [name, command, commandArgs] of checks) {
    const result = spawnSync(command, commandArgs, { encoding: "utf8" });
    const isGood = result.status === 0;
    console.log(`${isGood ? "ok    " : "FAILED"} check: ${name}`);
    if (!isGood) console.log(`${result.stdout}${result.stderr}`);
    count[isGood ? "passed" : "failed"]++;
  }
  return count;
}

function findTests(): TestFile[] {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.test.ts"], {
    encoding: "utf8",
  });
  return listed
    .split("\n")
    .filter((path) => path !== "" && (paths.length === 0 || paths.some((start) => path.startsWith(start))))
    .sort((a, b) => placeOf(a) - placeOf(b))
    .map(testFile);
}

/** What takes long goes first, and waits while others work; at the end short ones keep all cores busy. */
const longestFirst = ["test/e2e/", "test/integration/", "cri/", "plugins/"];

function placeOf(path: string): number {
  const place = longestFirst.findIndex((start) => path.startsWith(start));
  return place < 0 ? longestFirst.length : place;
}

type Job = { file: TestFile; runtime: RuntimeName };

/** Everything that may share the machine first, one more at once than there are cores, since many wait; the rest one by one. */
async function runJobs(jobs: Job[], onResult: (result: TestResult) => void): Promise<void> {
  const shared = jobs.filter((job) => !job.file.alone);
  const worker = async () => {
    for (let job = shared.shift(); job; job = shared.shift()) onResult(await runTestFile(job.file, job.runtime, env));
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, worker));
  for (const job of jobs.filter((other) => other.file.alone)) onResult(await runTestFile(job.file, job.runtime, env));
}

/** What is still there when everything that was on its way out has had time to go. */
async function settledLeaks(): Promise<string[]> {
  const giveUpAt = performance.now() + 15_000;
  for (;;) {
    const left = leaks(before, machineState());
    if (left.length === 0 || performance.now() > giveUpAt) return left;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const wanted = flags.has("--deno") ? ["deno"] : flags.has("--node") ? ["node"] : ["node", "deno"];
const jobs = flags.has("--check")
  ? [{ file: testFile("test/lint/boundaries.test.ts"), runtime: "node" as const }]
  : findTests().flatMap((file) =>
      file.runtimes.filter((runtime) => wanted.includes(runtime)).map((runtime) => ({ file, runtime })),
    );
if (jobs.length === 0) {
  console.log(`no test file below ${paths.join(", ")}`);
  process.exit(1);
}

const total = { passed: 0, failed: 0, skipped: 0 };
if (paths.length === 0) {
  const count = runChecks();
  total.passed += count.passed;
  total.failed += count.failed;
}
let isAlone = otherTestRuns().length === 0;
const before = machineState();
const failed: TestResult[] = [];
await runJobs(jobs, (result) => {
  isAlone &&= otherTestRuns().length === 0;
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const mark = result.failed ? "FAILED" : "ok    ";
  console.log(`${mark} ${result.file.path} on ${result.runtime} (${result.passed} in ${result.seconds.toFixed(1)} s)`);
  for (const skip of new Set(result.skips)) console.log(`       skipped ${skip}`);
  if (!result.failed) return;
  failed.push(result);
  console.log(result.failures.slice(0, 200).join("\n"));
});

// Every containerd of a test shares it: one test must not remove it while another makes a container in it.
if (isAlone) removeSharedCgroup("k8s.io");
// Checks start nothing: what came meanwhile is somebody else's.
const left = flags.has("--check") ? [] : await settledLeaks();
isAlone &&= otherTestRuns().length === 0;
if (isAlone) {
  for (const leak of left) console.log(`LEAKED ${leak}`);
  total.failed += left.length;
} else if (left.length > 0) {
  // Nobody can tell whose they are.
  console.log(`${left.length} new things on the machine are not counted: other tests were running`);
}
if (failed.length > 0) {
  console.log(`\nfailed: ${failed.map((result) => `${result.file.path} on ${result.runtime}`).join(", ")}`);
}
if (total.skipped > 0) console.log(`${total.skipped} skipped, each with its reason above`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
