// SIGKILL at any instruction of ADD and DEL: what is left is known and collected, and nothing of it stands in the way.

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { noNetworkReason, playHost, testNetns } from "../../test/harness/network.ts";
import { openKernel } from "../net/kernel.ts";
import { elementsOf } from "../net/owner.ts";
import { networkLists } from "./network-lists.ts";
import { writeNetworkList } from "./write-network-list.ts";

t.setTimeout(600_000);

t.test("killed attachments leave nothing after gc()", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-killed-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const confDir = join(dir, "net.d");
  writeNetworkList({
    dir: confDir,
    podCidrs: ["10.73.0.0/24", "fd73::/64"],
    name: "net",
    bridge: "br0",
    leaseDir: join(dir, "leases"),
  });
  const pods = Array.from({ length: 6 }, () => testNetns(t));
  const script = fileURLToPath(new URL("../../test/fixtures/attach-worker.ts", import.meta.url));
  const lists = networkLists({ confDir, binDirs: [], cacheDir: join(dir, "cache"), kernel });

  const killAfter = async (steps: number) => {
    const [command, ...args] = selfCommand(script, [confDir, join(dir, "cache"), ...pods]);
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    let lines = 0;
    child.stdout.on("data", (chunk: Buffer) => {
      lines += chunk.toString().split("\n").length - 1;
      if (lines >= steps) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.once("close", resolve));
    return lines;
  };
  const leases = () =>
    readdirSync(join(dir, "leases", "net")).filter(
      (name) => /^[0-9a-f]+[.:]/.test(name) && readFileSync(join(dir, "leases", "net", name), "utf8") !== "",
    );
  const elements = async () =>
    (await kernel.nft.list("list ruleset", uninterrupted))
      .filter((entry) => !/near/.test(JSON.stringify(entry).slice(0, 120)))
      .flatMap(elementsOf).length;
  const veths = async () => (await kernel.host.listLinks()).filter((link) => link.kind === "veth").length;

  for (let round = 0; round < 6; round++) {
    const steps = randomInt(1, 25);
    t.ok((await killAfter(steps)) >= steps);
    await lists.gc([], uninterrupted);
    t.same(
      [
        leases(),
        await veths(),
        await elements(),
        readdirSync(join(dir, "cache", "attachments")).filter((name) => name.endsWith(".json")),
      ],
      [[], 0, 0, []],
      `killed after ${steps} steps`,
    );
  }
  const results = await Promise.all(
    pods.map((netnsPath, index) => lists.add({ containerId: `pod${index}`, netnsPath }, uninterrupted)),
  );
  t.equal(
    new Set(results.flatMap(({ ips }) => ips.map(({ address }) => address))).size,
    12,
    "every pod gets its addresses",
  );
  await lists.gc([], uninterrupted);
  t.same(leases(), []);
});
