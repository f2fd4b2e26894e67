// The window into a node on CRI-O, where it is on PATH: pods with its own network, and its sessions, which the agent passes on.

import t from "tap";
import { noCrio, startCrio } from "../harness/crio.ts";
import { busyboxImage } from "../harness/images.ts";
import { TestRegistry } from "../harness/registry.ts";
import { startSkiff } from "../harness/skiff.ts";
import { nodeWindow } from "../suites/node-window.ts";

t.test("the window into a node on CRI-O", { skip: noCrio, timeout: 900_000 }, async (t) => {
  const registry = await TestRegistry.start();
  t.teardown(() => registry.stop());
  const crio = await startCrio(t, registry, [busyboxImage()]);
  const skiff = await startSkiff({ flags: [`--runtime=unix://${crio.socket}`] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  await nodeWindow(t, skiff, { knowsSizeAtOnce: false });
});
