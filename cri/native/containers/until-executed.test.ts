import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import t from "tap";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import { until } from "../../../test/harness/until.ts";
import { untilExecuted } from "./until-executed.ts";

t.test("untilExecuted() waits while the OCI runtime's program is in the command's place", async (t) => {
  const script = "printf 'runc:[2:INIT]' > /proc/$$/comm; read go; exec sleep 1000";
  const child = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"] });
  const { pid = 0 } = child;
  const ended = once(child, "exit");
  const name = () => readFileSync(`/proc/${pid}/comm`, "utf8");
  await until("the process to bear the name", () => name().startsWith("runc:["));
  const seen = untilExecuted(pid, systemClock).then(name);
  child.stdin.write("go\n");
  t.equal(await seen, "sleep\n");
  child.kill("SIGKILL");
  await ended;
  await untilExecuted(pid, systemClock);
});
