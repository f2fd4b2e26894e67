// A node on Docker with the systemd cgroup driver, in a box that is booted: pods' slices and their limits, and a machine that waits for pods
// before it goes down. What it needs of the box is a checkout and an image archive below /srv.

import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import type { BootedBox } from "./booted-box.ts";
import { copyDocker, startBoxDocker } from "./box-docker.ts";
import { busyboxImageName } from "./images.ts";
import { until } from "./until.ts";

const skiff = "/srv/checkout/skiff";
const limits = { cpu: "200m", memory: "64Mi" };

const podOf = (name: string, container: object, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "1000"], ...container },
    ],
    ...more,
  },
});

/** Takes longer to end than logind waits by itself, and says when it is done. */
const slow = podOf(
  "slow",
  {
    command: ["sh", "-c", "trap 'sleep 6; echo ended >/told/ended; exit' TERM; while true; do sleep 1; done"],
    volumeMounts: [{ name: "told", mountPath: "/told" }],
  },
  {
    terminationGracePeriodSeconds: 20,
    volumes: [{ name: "told", hostPath: { path: "/srv/told", type: "DirectoryOrCreate" } }],
  },
);

export async function testSystemdDriver(t: Test, box: BootedBox): Promise<void> {
  const kubectl = (...args: string[]) =>
    box.outside("kubectl", "--kubeconfig", join(box.root, "var/lib/skiff/admin.kubeconfig"), ...args);
  const create = async (pod: ReturnType<typeof podOf>) => {
    const file = `srv/${pod.metadata.name}.json`;
    writeFileSync(join(box.root, file), JSON.stringify(pod));
    await kubectl("apply", "-f", join(box.root, file));
    await kubectl("wait", `pod/${pod.metadata.name}`, "--for=condition=Ready", "--timeout=60s");
  };
  const slices = async () =>
    (await box.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "skiff*.slice"))
      .split("\n")
      .flatMap((line) => line.split(" ", 1)[0] || []);
  const groups = async () =>
    (await box.run("find", "/sys/fs/cgroup", "-name", "skiff*.slice")).split("\n").filter(Boolean);
  const sliceOf = async (pod: string, of = "") => {
    const uid = await kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}");
    return `skiff-kubepods-${of}pod${uid.replaceAll("-", "_")}.slice`;
  };
  const start = async () => {
    const service = ["--unit=skiff-trial", "-p", "KillMode=process", "-p", "CollectMode=inactive-or-failed"];
    await box.run("systemd-run", ...service, skiff, "up", "--runtime=docker", "--shutdown-grace-period=15");
    await until("the node", async () => /box +Ready/.test(await kubectl("get", "nodes")), 120_000);
  };
  /** What the kernel says, in either version. */
  const kernel = async (slice: string, old: string, file: string) => {
    const script = `cd /sys/fs/cgroup; cat $(find . -name "$0" | sed "s,$,/$1,") $(find . -name "$0" | sed "s,$,/$2,") 2>/dev/null || true`;
    return (await box.run("sh", "-c", script, slice, old, file)).trim();
  };

  await t.test("pods have slices with their limits", async (t) => {
    copyDocker(box);
    await startBoxDocker(box);
    mkdirSync(join(box.root, "var/lib/skiff/images"), { recursive: true });
    cpSync(join(box.root, "srv/busybox.tar"), join(box.root, "var/lib/skiff/images/busybox.tar"));
    await start();
    t.match(await kubectl("get", "--raw", "/api/v1/nodes/box/proxy/configz"), /"cgroupDriver":"systemd"/);
    await until("the image", async () =>
      /imported images/.test(await box.run("journalctl", "-u", "skiff-trial", "--no-pager")),
    );
    await create(podOf("guaranteed", { resources: { limits } }));
    await create(podOf("best-effort", {}));
    const slice = await sliceOf("guaranteed");
    t.equal(await kernel(slice, "memory.limit_in_bytes", "memory.max"), "67108864");
    t.match(await kernel(slice, "cpu.cfs_quota_us", "cpu.max"), /^20000\b/);
    t.equal(await kernel(slice, "pids.max", "pids.max").then((text) => text.split("\n")[0]), "4096");
    t.match(await box.run("systemctl", "show", "-p", "CPUQuotaPerSecUSec", "-p", "TasksMax", slice), /=200ms\n.*=4096/);
    t.ok((await slices()).includes(await sliceOf("best-effort", "besteffort-")));
    const inSlice = await box.run("find", "/sys/fs/cgroup", "-path", `*${slice}/docker-*.scope`, "-type", "d");
    t.not(inSlice.trim(), "", "the containers are in the pod's slice");
    await until("figures of both pods", async () =>
      /best-effort +\d.*guaranteed +\d/s.test(await kubectl("top", "pods")),
    );

    const more = { limits: { cpu: "300m", memory: "96Mi" }, requests: { cpu: "300m", memory: "96Mi" } };
    const patch = JSON.stringify({ spec: { containers: [{ name: "c", resources: more }] } });
    await kubectl("patch", "pod", "guaranteed", "--subresource=resize", "-p", patch);
    await until("the larger limit", async () => {
      const now = await kernel(slice, "memory.limit_in_bytes", "memory.max");
      return now === "100663296" && /^30000\b/.test(await kernel(slice, "cpu.cfs_quota_us", "cpu.max"));
    });
  });

  if (!t.passing()) return;
  await t.test("slices go with their pods, also after a kill of the agent", async (t) => {
    const pods = [await sliceOf("guaranteed"), await sliceOf("best-effort", "besteffort-")];
    await kubectl("delete", "pod", "guaranteed", "--wait=false");
    await box.run("systemctl", "kill", "--kill-whom=main", "-s", "KILL", "skiff-trial");
    await until(
      "the end of it",
      async () => (await box.run("systemctl", "is-active", "skiff-trial").catch(() => "")) === "",
    );
    await start();
    await kubectl("delete", "pod", "best-effort", "--ignore-not-found");
    await until("no slice of a pod", async () => !(await slices()).some((name) => pods.includes(name)));
    t.same(
      (await groups()).filter((path) => pods.some((name) => path.endsWith(name))),
      [],
      "in no hierarchy",
    );
  });

  if (!t.passing()) return;
  await t.test("the machine waits for pods before it goes down", async (t) => {
    await until("the lock", async () =>
      /skiff +0 .*shutdown .*delay/.test(await box.run("systemd-inhibit", "--list", "--no-pager")),
    );
    const delay = join(box.root, "etc/systemd/logind.conf.d/99-skiff.conf");
    t.match(readFileSync(delay, "utf8"), /^InhibitDelayMaxSec=15$/m);
    await create(slow);
    t.notOk(existsSync(join(box.root, "srv/told/ended")));
    await box.reboot();
    t.ok(existsSync(join(box.root, "srv/told/ended")), "the pod had the time that it needs");
    await startBoxDocker(box);
    await start();
    const reason = () => kubectl("get", "pod", "slow", "-o", "jsonpath={.status.phase} {.status.reason}");
    await until("the pod to be over", async () => (await reason()) === "Failed Terminated").catch(() => {});
    t.equal(await reason(), "Failed Terminated");
  });

  if (!t.passing()) return;
  await t.test("skiff uninstall leaves no slice and no setting of logind's", async (t) => {
    await create(podOf("left", { resources: { limits } }));
    await box.run("systemctl", "stop", "skiff-trial");
    await box.run(skiff, "uninstall", "--yes", "--this-instance-only", "--runtime=docker");
    t.same(await slices(), []);
    t.same(await groups(), []);
    t.notOk(existsSync(join(box.root, "etc/systemd/logind.conf.d")));
  });
}
