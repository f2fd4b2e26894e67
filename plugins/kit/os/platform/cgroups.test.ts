import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { Cgroups } from "./cgroups.ts";

t.test("a group that goes while it is looked at is gone, and no error", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-groups-"));
  writeFileSync(join(root, "cgroup.controllers"), "");
  mkdirSync(join(root, "stays"));
  const script = 'while :; do mkdir -p "$0/a/b"; rmdir "$0/a/b" "$0/a"; done';
  const other = spawn("sh", ["-c", script, root], { stdio: "ignore" });
  t.teardown(async () => {
    const ended = new Promise((resolve) => other.once("exit", resolve));
    other.kill("SIGKILL");
    await ended;
    rmSync(root, { recursive: true });
  });
  const groups = new Cgroups(root);
  for (let n = 0; n < 5000; n++) {
    groups.remove("/a");
    groups.allProcesses("/a");
  }
  t.equal(groups.remove("/stays"), true);
  t.equal(groups.remove("/never-was"), true);
});
