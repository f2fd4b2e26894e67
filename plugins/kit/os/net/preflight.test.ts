import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import t from "tap";
import { noNetworkReason } from "../../../../test/harness/network.ts";
import { uninterrupted } from "../../base/call.ts";
import { createNetns } from "./netns.ts";
import { networkProblems } from "./preflight.ts";
import { preflightNamespace } from "./preflight-probe.ts";

t.test(
  "networkProblems() finds nothing fatal where the other network tests run, and leaves nothing",
  { skip: noNetworkReason() },
  async (t) => {
    const problems = await networkProblems(uninterrupted);
    t.same(
      problems.filter(({ severity }) => severity === "fatal"),
      [],
    );
    for (const { problem, fix } of problems) t.ok(problem !== "" && fix !== "");
    t.notOk(existsSync(preflightNamespace(process.pid)));
  },
);

t.test("networkProblems() removes what a killed process left", { skip: noNetworkReason() }, async (t) => {
  const { pid } = spawnSync("true"); // it has ended, so nobody has this id
  createNetns(preflightNamespace(pid));
  await networkProblems(uninterrupted);
  t.notOk(existsSync(preflightNamespace(pid)));
});
