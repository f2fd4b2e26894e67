// The window into a node on Docker.

import t from "tap";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { startSkiff } from "../harness/skiff.ts";
import { nodeWindow } from "../suites/node-window.ts";

t.test("the window into a node on Docker", { skip: withoutDocker(), timeout: 600_000 }, async (t) => {
  const docker = await startDocker(t);
  process.env.DOCKER_HOST = `unix://${docker.socket}`;
  t.teardown(() => delete process.env.DOCKER_HOST);
  const skiff = await startSkiff({ flags: ["--runtime=docker"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  // Engines before 23 learn a terminal's size only when the command runs already.
  await nodeWindow(t, skiff, { knowsSizeAtOnce: false });
});
