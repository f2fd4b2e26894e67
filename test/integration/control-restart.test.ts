// The control plane is killed at random moments of rollouts, scaling and deletes: what was declared is what comes of it, and at
// no moment was there a pod too many.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";

const kills = Number(process.env.SKIFF_KILLS ?? 25);
const victim = join(import.meta.dirname, "../fixtures/control-victim.ts");

/** Runs one round; killed so long after it says that it is up, or left to settle. Resolves with what it printed. */
function life(folder: string, round: number, killAfterMs: number | undefined): Promise<string> {
  const args = [...process.execArgv, victim, folder, String(round), killAfterMs === undefined ? "last" : "killed"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    const wasUp = printed.includes("up");
    printed += text;
    if (killAfterMs !== undefined && !wasUp && printed.includes("up"))
      setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      killAfterMs !== undefined || code === 0 ? resolve(printed) : reject(new Error(`the last run ended with ${code}`)),
    );
  });
}

t.setTimeout(600_000);

t.test(
  `the declared state comes of it after ${kills} kills, and never a pod too many`,
  { timeout: 300_000 },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "skiff-restart-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const delays: number[] = [];
    for (let round = 0; round < kills; round++) {
      const delay = Math.floor(Math.random() * 500);
      delays.push(delay);
      await life(folder, round, delay);
    }
    t.comment(`killed after ${delays.join(", ")} ms`);
    const printed = await life(folder, kills, undefined);
    const summary = JSON.parse(printed.trim().split("\n").at(-1) ?? "{}");
    const breaches = join(folder, "breaches");
    t.equal(existsSync(breaches) ? readFileSync(breaches, "utf8") : "", "", "no limit was ever passed");
    t.equal(summary.web, summary.replicas, "all pods are of the last template");
    t.equal(summary.db, 3);
    t.equal(summary.setsWithPods, 1);
    for (const [succeeded, podsThatDid] of summary.jobs) t.same([succeeded, podsThatDid], [6, 6], "counted once each");
    t.equal(summary.pods, summary.replicas + 3 + summary.jobs.length * 6, "and nothing else is left");
  },
);
