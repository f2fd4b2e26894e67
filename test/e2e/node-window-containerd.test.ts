// The window into a node on a stock containerd: its sessions are containerd's own, which the agent passes on.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { startSkiff } from "../harness/skiff.ts";
import { nodeWindow } from "../suites/node-window.ts";

t.test("the window into a node on containerd", { skip: withoutContainerd(), timeout: 600_000 }, async (t) => {
  const binDir = mkdtempSync(join(tmpdir(), "skiff-cni-bin-"));
  t.teardown(() => rmSync(binDir, { recursive: true, force: true }));
  // Until the node's own list is there, containerd has one that attaches to nothing.
  const list = JSON.stringify({ cniVersion: "1.0.0", name: "none", plugins: [{ type: "loopback" }] });
  const containerd = await startContainerd(t, { network: { binDir, list } });
  rmSync(join(containerd.dir, "cni", "10-test.conflist"));
  const skiff = await startSkiff({ flags: [`--runtime=unix://${containerd.socket}`] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  await nodeWindow(t, skiff, { knowsSizeAtOnce: false });
});
