// The window into a node on the native runtime.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { noNetworkReason } from "../harness/network.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
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
  await checkpoints(t, skiff);
});

const sleeper = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "sleeper" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      { name: "main", image: busyboxImageName, imagePullPolicy: "Never", command: ["sh", "-c", "exec sleep 1000"] },
    ],
  },
};

/** The kubelet's /checkpoint on a real container: an archive where criu can make one, and in any case a container that goes on. */
async function checkpoints(t: Test, skiff: RunningSkiff): Promise<void> {
  await skiff.apply(sleeper);
  await skiff.kubectl("wait", "--for=condition=Ready", "pod/sleeper", "--timeout=120s");
  await skiff.kubectl("exec", "sleeper", "--", "sh", "-c", "echo changed >/tmp/changed");
  const ask = () => {
    const path = `/api/v1/nodes/${skiff.nodeName}/proxy/checkpoint/default/sleeper/main`;
    return skiff.kubectl("create", "--raw", path, "-f", "/dev/null");
  };
  const goesOn = async (t: Test) => {
    const path = "jsonpath={.status.containerStatuses[0].restartCount} {.status.phase}";
    t.equal(await skiff.kubectl("get", "pod", "sleeper", "-o", path), "0 Running");
    t.equal(await skiff.kubectl("exec", "sleeper", "--", "cat", "/tmp/changed"), "changed\n");
  };
  const criu = spawnSync("criu", ["check"], { encoding: "utf8" });
  const reason = criu.error
    ? "there is no criu"
    : `criu does not know this kernel: ${criu.stderr.trim().split("\n")[0]}`;

  await t.test("/checkpoint packs a running container", { skip: criu.status === 0 ? false : reason }, async (t) => {
    const { items } = JSON.parse(await ask()) as { items: string[] };
    const archive = items[0] ?? "";
    t.equal(statSync(archive).mode & 0o777, 0o600, "nobody else reads its memory");
    const names = execFileSync("tar", ["-tf", archive], { encoding: "utf8" });
    for (const name of ["checkpoint/inventory.img", "config.dump", "spec.dump", "rootfs-diff.tar"])
      t.match(names, new RegExp(`^(\\./)?${name}$`, "m"), name);
    await goesOn(t);
  });

  await t.test("/checkpoint says why it cannot", { skip: criu.status === 0 && "criu can" }, async (t) => {
    await t.rejects(ask(), { message: /Cannot checkpoint container .*main.*: \S/ });
    await goesOn(t);
  });
}
