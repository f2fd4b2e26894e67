import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import t from "tap";
import { until } from "../../test/harness/until.ts";
import { monitorsBelow } from "./monitors.ts";

t.test("monitorsBelow() finds the monitors of this instance, and no other's", async (t) => {
  const runDir = `/run/skiff/${randomBytes(4).toString("hex")}`;
  const start = (argv0: string, folder: string) => {
    const child = spawn("sh", ["-c", "read forever", "sh", `--exit-dir=${folder}/exits`], {
      argv0,
      stdio: ["pipe", "ignore", "ignore"],
    });
    t.teardown(() => child.kill("SIGKILL"));
    return child.pid ?? 0;
  };
  const own = start("/usr/bin/conmon", runDir);
  start("/usr/bin/conmon", `${runDir}-of-another`);
  start("/usr/bin/editor", runDir);
  t.ok(await until("the monitor to be seen", () => monitorsBelow(runDir).length === 1));
  t.same(monitorsBelow(runDir), [own]);
});
