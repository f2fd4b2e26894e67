// The window into a node on the native runtime.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, imageArchive } from "../harness/images.ts";
import { noNetworkReason } from "../harness/network.ts";
import { startSkiff } from "../harness/skiff.ts";
import { nodeWindow } from "../suites/node-window.ts";

t.test("the window into a node", { skip: noNetworkReason(), timeout: 600_000 }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-window-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await nodeWindow(t, skiff, { knowsSizeAtOnce: true });
});
