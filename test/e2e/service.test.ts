// The service in a booted systemd: a Debian system made from its packages, Skiff installed from a checkout and brought up to date
// from a release archive, pods that outlive restarts, kills, hangs and a reboot, and an uninstall after which the box is as it was.

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { readLockFile, runPackages } from "../../release/lock-file.ts";
import { type BootedBox, bootBox } from "../harness/booted-box.ts";
import { withoutDocker } from "../harness/docker.ts";
import { busyboxImageName } from "../harness/images.ts";
import { installationState, leavesNothing, unpackRelease } from "../harness/installation.ts";
import { testSystemdDriver } from "../harness/systemd-driver.ts";
import { until } from "../harness/until.ts";

const project = join(import.meta.dirname, "../..");
const run = promisify(execFile);

async function boxOrReason(): Promise<BootedBox | string> {
  if (process.getuid?.() !== 0) return "booting a system needs root";
  try {
    return await bootBox();
  } catch (error) {
    const { message } = error as Error;
    return `${message.split("\n")[0]} (systemd-analyze verify and a notify-socket test run in test/integration/install.test.ts)`;
  }
}

/** A checkout on which `skiff setup run` was called while there was a network. */
async function copyCheckout(root: string): Promise<void> {
  const folder = join(root, "srv/checkout");
  const parts = ["skiff", "skiff.ts", "install.sh", "package.json", "package-lock.json", "deno.json", "LICENSE"];
  parts.push("README.md", "docs", "agent", "control", "cri", "cni", "plugins", "test", "release", ".generated");
  const packages = runPackages(readLockFile(join(project, "package-lock.json")), process.arch).map(([path]) => path);
  for (const part of [...parts, ...packages]) {
    if (!existsSync(join(project, part))) continue; // an optional package of another machine
    mkdirSync(dirname(join(folder, part)), { recursive: true });
    cpSync(join(project, part), join(folder, part), {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
    });
  }
  await run("sh", ["-c", 'cksum <"$0/package-lock.json" >"$0/node_modules/.skiff-run"', folder]);
}

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "keep" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "c",
        image: busyboxImageName,
        imagePullPolicy: "Never",
        command: ["sh", "-c", "trap 'echo told to end; exit' TERM; sleep 100000 & wait"],
      },
    ],
  },
};

t.test("the service in a booted systemd", { timeout: 700_000 }, async (t) => {
  const box = await boxOrReason();
  if (typeof box === "string") return void t.pass("not here", { skip: box });
  t.teardown(() => box.remove());
  const before = await installationState(box);
  await unpackRelease(join(box.root, "srv"));
  await copyCheckout(box.root);
  const kubectl = (...args: string[]) =>
    box.outside("kubectl", "--kubeconfig", join(box.root, "var/lib/skiff/admin.kubeconfig"), ...args);
  const property = async (name: string) => (await box.run("systemctl", "show", "skiff", "--value", "-p", name)).trim();
  const running = () =>
    until("the service to be active", async () => (await property("ActiveState")) === "active", 120_000);
  /** The container, how often it was started, and its process: all three stay when it is untouched. */
  const container = async () => {
    const path = "jsonpath={.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}";
    const process = await box.run("pgrep", "-f", "^sleep 100000");
    return `${await kubectl("get", "pod", "keep", "-o", path)} process ${process.trim()}`;
  };
  const podIsReady = () =>
    until("the pod to be ready", () => kubectl("wait", "pod/keep", "--for=condition=Ready", "--timeout=60s"), 180_000);

  await t.test("install.sh changes nothing while something is wrong", async (t) => {
    const listener = box.start("busybox", "nc", "-l", "-p", "6443");
    await until("somebody to have the port", () =>
      box.run("sh", "-c", "grep -i ':192B .* 0A ' /proc/net/tcp /proc/net/tcp6"),
    );
    const refused = await box.run("sh", "/srv/skiff/install.sh").then(
      () => ({ stderr: "it installed" }),
      (error: { stderr: string }) => error,
    );
    t.match(refused.stderr, /problem: port 6443 is taken\n {2}fix: .*\n.*nothing was changed/);
    listener.kill();
    await box.run("pkill", "-x", "busybox");
    await leavesNothing(t, box, before);
  });

  if (!t.passing()) return;
  await t.test("install.sh installs and starts it from a checkout", async (t) => {
    const said = await box.run("sh", "/srv/checkout/install.sh");
    t.match(said, /starting the service now, and waiting until it is ready/);
    t.equal(await property("ActiveState"), "active", "ready as soon as the install is done");
    t.match(await box.run("skiff", "status"), /box +Ready/);
    t.match(await box.run("journalctl", "-u", "skiff", "--no-pager"), /ready node=box/, "it logs to the journal");
    const query = "/api/v1/nodes/box/proxy/logs/?query=skiff&pattern=ready";
    t.match(await kubectl("get", "--raw", query), /ready node=box/, "and the kubelet's API tells it from there");
    t.ok(existsSync(join(box.root, "opt/skiff/skiff.ts")), "the program is the checkout's");
    t.notOk(existsSync(join(box.root, "opt/skiff/test")), "without what only tests need");
    cpSync(join(box.root, "srv/busybox.tar"), join(box.root, "var/lib/skiff/images/busybox.tar"));
    // A pod that came before its image would wait for the next try.
    await until("the image", async () =>
      /imported images/.test(await box.run("journalctl", "-u", "skiff", "--no-pager")),
    );
    writeFileSync(join(box.root, "srv/pod.json"), JSON.stringify(pod));
    await kubectl("apply", "-f", join(box.root, "srv/pod.json"));
    await podIsReady();
  });

  if (!t.passing()) return;
  await t.test("install.sh of a release archive brings it up to date, without harm to what runs", async (t) => {
    const untouched = await container();
    t.match(await box.run("sh", "/srv/skiff/install.sh"), /keeping the settings/);
    t.notOk(existsSync(join(box.root, "opt/skiff/skiff.ts")), "the program is the archive's");
    t.equal(await property("ActiveState"), "active");
    await podIsReady();
    t.equal(await container(), untouched);
  });

  if (!t.passing()) return;
  await t.test("a restart, a kill and a hang leave the containers untouched", async (t) => {
    const untouched = await container();
    await box.run("systemctl", "restart", "skiff");
    await podIsReady();
    t.equal(await container(), untouched, "after a restart");

    await ends(box, property, () => box.run("systemctl", "kill", "--kill-whom=main", "-s", "KILL", "skiff"));
    await running();
    await podIsReady();
    t.equal(await container(), untouched, "after a kill");

    // A shorter patience than the service's own minute; taken away again.
    mkdirSync(join(box.root, "etc/systemd/system/skiff.service.d"), { recursive: true });
    writeFileSync(join(box.root, "etc/systemd/system/skiff.service.d/test.conf"), "[Service]\nWatchdogSec=4\n");
    await box.run("systemctl", "daemon-reload");
    await box.run("systemctl", "restart", "skiff");
    await podIsReady();
    await ends(box, property, () => box.run("systemctl", "kill", "--kill-whom=main", "-s", "STOP", "skiff"));
    await running();
    await podIsReady();
    t.match(await box.run("journalctl", "-u", "skiff", "--no-pager"), /Watchdog timeout/, "systemd saw the hang");
    t.equal(await container(), untouched, "after a hang");
    await box.run("rm", "-r", "/etc/systemd/system/skiff.service.d");
    await box.run("systemctl", "daemon-reload");
  });

  if (!t.passing()) return;
  await t.test("after a reboot everything is back", async (t) => {
    await box.reboot();
    await running();
    await podIsReady();
    t.match(await container(), /process \d+$/);
    t.match(await box.run("skiff", "logs", "-p", "keep"), /told to end/, "the container was ended in order");
    t.match(await box.run("skiff", "status"), /box +Ready.*default +keep +1\/1 +Running/s);
  });

  if (!t.passing()) return;
  await t.test("skiff uninstall leaves the box as it was", async (t) => {
    const said = await box.run("skiff", "uninstall", "--yes");
    t.match(said, /removing pod default\/keep/);
    await leavesNothing(t, box, before);
  });

  if (!t.passing()) return;
  const skip = withoutDocker();
  await t.test("a node on the systemd cgroup driver", { skip }, (t) => testSystemdDriver(t, box));
});

/** Until the service runs as another process than before. */
async function ends(
  box: BootedBox,
  property: (name: string) => Promise<string>,
  how: () => Promise<string>,
): Promise<void> {
  const old = await property("MainPID");
  await how();
  await until("another process", async () => !["0", old].includes(await property("MainPID")), 120_000);
  await box.run("true");
}
