// Commands run in containers without a session: output, exit code, time limit, bounded answer.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function execSync(t: Test, bench: Workbench): void {
  const exec = (containerId: string, cmd: string[], timeout = 20) =>
    bench.runtime.runtime.execSync(cri.ExecSyncRequest.create({ containerId, cmd, timeout }), within(60_000));

  t.test("output and exit code come back, apart", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { envs: [{ key: "GREETING", value: "hello = there" }] });
    const answer = await exec(id, ["sh", "-c", "echo out; echo err >&2; exit 9"]);
    t.equal(Buffer.from(answer.stdout).toString(), "out\n");
    t.equal(Buffer.from(answer.stderr).toString(), "err\n");
    t.equal(answer.exitCode, 9);
    const env = await exec(id, ["env"]);
    t.match(Buffer.from(env.stdout).toString(), /^GREETING=hello = there$/m, "with the container's environment");
    await bench.removePod(pod.id);
  });

  t.test("a command that is not there is told", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const outcome = await exec(id, ["/no/such/program"]).then(
      ({ exitCode }) => exitCode,
      (error: Error) => error.message,
    );
    t.match(String(outcome), /126|127|no such file|not found/);
    await bench.removePod(pod.id);
  });

  t.test("a command that takes too long is killed, and the call is a timeout", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    await t.rejects(exec(id, ["sleep", "987"], 1), { code: "timeout" });
    if (!bench.lacks("kernel")) {
      t.notMatch(await bench.sh(id, "ps -o args"), /sleep 987/, "nothing of it is left");
      const dead = () => bench.sh(id, "cat /proc/[0-9]*/stat | grep -c '(sleep) Z' || true");
      if (bench.lacks("burial")) await until("the machine to bury it", async () => (await dead()) === "0");
      else t.equal(await dead(), "0", "not even a dead process that nobody buries");
    }
    t.match(await bench.status(id), { state: cri.ContainerState.CONTAINER_RUNNING }, "the container lives on");
    await bench.removePod(pod.id);
  });

  t.test("endless output is cut, not kept", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const outcome = await exec(id, ["dd", "if=/dev/zero", "bs=1M", "count=20"]).then(
      ({ stdout }) => stdout.length,
      (error: { code: string }) => error.code,
    );
    // containerd cuts at 16 MiB and then finds that its own message limit is as large.
    t.ok(outcome === "too-many" || Number(outcome) <= 16 * 1024 * 1024, `${outcome}`);
    t.equal((await exec(id, ["echo", "still", "well"])).exitCode, 0);
    await bench.removePod(pod.id);
  });
}
