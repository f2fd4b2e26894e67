// runtimes: node

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import t from "tap";
import { getLink, openRoutes } from "../../plugins/kit/os/net/links.ts";
import { addAddress } from "../../plugins/kit/os/net/routes.ts";
import { parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { leaks, machineState } from "./machine-state.ts";
import { noNetworkReason, playHost } from "./network.ts";
import { otherTestRuns } from "./other-runs.ts";

t.test("leaks() names temporary files and addresses on lo", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const before = machineState();
  const dir = mkdtempSync(join(tmpdir(), "skiff-leak-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const routes = openRoutes();
  await addAddress(routes, (await getLink(routes, "lo")).index, parsePrefix("10.43.0.10/32"));
  routes.close();
  const found = leaks(before, machineState());
  t.ok(found.includes("address on lo 10.43.0.10"), found.join("\n"));
  t.ok(found.includes(`temporary file ${basename(dir)}`));
});

t.test("otherTestRuns() finds runs of others, and neither our own files nor whoever started us", async (t) => {
  const run = (pid: number, parent: number, command: string) => ({ pid, parent, command });
  const all = [
    run(1, 0, "init"),
    run(10, 1, "sh\0test/run.sh"),
    run(11, 10, "node\0test/run.ts"),
    run(12, 11, "node\0--flag\0plugins/a.test.ts"),
    run(13, 1, "node\0plugins/b.test.ts\0"),
    run(20, 1, "node\0--disable-warning=X\0test/run.ts\0--node\0a.test.ts"),
    run(21, 20, "deno\0run\0c.test.ts"),
    run(30, 1, "grep\0test.tsx"),
  ];
  t.same(otherTestRuns(11, all), [13, 20, 21]);
  t.same(otherTestRuns(12, all), [13, 20, 21]);
});
