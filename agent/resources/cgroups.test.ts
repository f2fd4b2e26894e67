import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { openCgroupFiles, weightOf } from "./cgroup-files.ts";
import { cgroupfsDriver } from "./cgroupfs-driver.ts";
import { PodCgroups } from "./pod-cgroups.ts";

const limits = { cpu: "500m", memory: "64Mi" };
const container = (resources: object) => [{ name: "main", image: "x", resources }];
const guaranteed = testPod("g", { containers: container({ limits }) });
const burstable = testPod("b", { containers: container({ requests: { cpu: "250m" } }) });
const bestEffort = testPod("e");

/** A tree as the kernel would show it: files that take what is written. */
function recorded(t: { teardown(then: () => void): void }, version: 1 | 2): string {
  const root = mkdtempSync(join(tmpdir(), "skiff-cgroup-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  if (version === 2) writeFileSync(join(root, "cgroup.controllers"), "cpuset cpu io memory pids\n");
  else
    for (const name of ["cpu,cpuacct", "memory", "pids", "cpuset"]) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, "cgroup.procs"), "");
    }
  return root;
}

const open = (root: string, top = "skiff") =>
  new PodCgroups({
    driver: cgroupfsDriver(openCgroupFiles(root)),
    root: top,
    clock: systemClock,
    pods: () => [burstable],
    podPids: 4096,
    allowed: () => ({ milliCpu: 2000n, memoryBytes: 1n << 30n }),
  });

t.test("PodCgroups on a tree of the first version", async (t) => {
  const root = recorded(t, 1);
  const groups = open(root);
  for (const pod of [guaranteed, burstable, bestEffort]) await groups.prepare(pod, uninterrupted);
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  t.equal(groups.parentOf(guaranteed), "/skiff/kubepods/poduid-g");
  t.equal(groups.parentOf(burstable), "/skiff/kubepods/burstable/poduid-b");
  t.equal(read("cpu,cpuacct/skiff/kubepods/poduid-g/cpu.shares"), "512");
  t.equal(read("cpu,cpuacct/skiff/kubepods/poduid-g/cpu.cfs_quota_us"), "50000");
  t.equal(read("memory/skiff/kubepods/poduid-g/memory.limit_in_bytes"), "67108864");
  t.equal(read("pids/skiff/kubepods/poduid-g/pids.max"), "4096");
  t.equal(read("memory/skiff/kubepods/memory.limit_in_bytes"), "1073741824");
  t.equal(read("cpu,cpuacct/skiff/kubepods/burstable/poduid-b/cpu.cfs_quota_us"), "-1");
  t.equal(read("cpu,cpuacct/skiff/kubepods/burstable/cpu.shares"), "256");
  t.equal(read("cpu,cpuacct/skiff/kubepods/besteffort/cpu.shares"), "2");
  t.same(groups.uids().sort(), ["uid-b", "uid-e", "uid-g"]);
});

t.test("PodCgroups on a tree of the second version", async (t) => {
  const root = recorded(t, 2);
  // The kernel puts these files into every group; here they must be there before they are read.
  for (const path of ["skiff", "skiff/kubepods", "skiff/kubepods/burstable", "skiff/kubepods/besteffort"]) {
    mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, path, "cgroup.controllers"), "cpuset cpu io memory pids\n");
  }
  const groups = open(root);
  await groups.prepare(guaranteed, uninterrupted);
  const read = (path: string) => readFileSync(join(root, "skiff/kubepods", path), "utf8");
  t.equal(read("poduid-g/cpu.max"), "50000 100000");
  t.equal(read("poduid-g/memory.max"), "67108864");
  t.equal(read("poduid-g/cpu.weight"), "20");
  t.equal(read("poduid-g/pids.max"), "4096");
  t.equal(read("cgroup.subtree_control"), "+cpu +memory +pids +cpuset +io");
});

t.test("PodCgroups.removeTree() removes nothing but the pods' groups from the top of all", async (t) => {
  const root = recorded(t, 1);
  mkdirSync(join(root, "memory/somebody-else"));
  const groups = open(root, "/");
  await groups.prepare(bestEffort, uninterrupted);
  // A group without files is what the kernel shows when nobody is in it.
  for (const [path, name] of readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes("kubepods"))
    .map((entry) => [entry.parentPath, entry.name] as const))
    rmSync(join(path, name));
  await groups.removeTree(uninterrupted);
  t.notOk(existsSync(join(root, "memory/kubepods")));
  t.ok(existsSync(join(root, "memory/somebody-else")));
});

t.test("weightOf() spans the whole range", async (t) => {
  t.equal(weightOf(2n), 1n);
  t.equal(weightOf(262_144n), 10_000n);
});

t.test("PodCgroups on this kernel", { skip: process.getuid?.() === 0 ? false : "needs root" }, async (t) => {
  const name = `skiff-test-${process.pid}`;
  const files = openCgroupFiles();
  const groups = new PodCgroups({
    driver: cgroupfsDriver(files),
    root: name,
    clock: systemClock,
    pods: () => [],
    podPids: -1,
    allowed: () => ({ milliCpu: 2000n, memoryBytes: 1n << 40n }),
  });
  t.teardown(() => files.remove(name));
  await groups.prepare(guaranteed, uninterrupted);
  t.same(groups.uids(), ["uid-g"]);
  await groups.release("uid-g", uninterrupted);
  t.same(groups.uids(), []);
  t.ok(files.remove(name));
  t.notOk(existsSync(join("/sys/fs/cgroup/memory", name)));
});

t.test(
  "PodCgroups.release() kills what outlived the containers",
  {
    skip: process.getuid?.() === 0 ? false : "needs root",
  },
  async (t) => {
    const name = `skiff-test-orphan-${process.pid}`;
    const files = openCgroupFiles();
    const killed: [string, number][] = [];
    const groups = new PodCgroups({
      driver: cgroupfsDriver(files),
      root: name,
      clock: systemClock,
      pods: () => [],
      podPids: -1,
      onKilled: (uid, processes) => killed.push([uid, processes]),
      allowed: () => ({ milliCpu: 2000n, memoryBytes: 1n << 40n }),
    });
    t.teardown(() => files.remove(name));
    await groups.prepare(guaranteed, uninterrupted);
    // As runc leaves it: in a cgroup of the container below the pod's, and in one hierarchy only.
    const container = `/${name}/kubepods/poduid-g/lost`;
    files.make(container);
    const hierarchy = files.version === 2 ? "" : "pids";
    const orphan = spawn("sleep", ["1000"], { stdio: "ignore" });
    t.teardown(() => orphan.kill("SIGKILL"));
    const exited = once(orphan, "exit");
    writeFileSync(join("/sys/fs/cgroup", hierarchy, container, "cgroup.procs"), String(orphan.pid));
    await groups.release("uid-g", uninterrupted);
    t.same(await exited, [null, "SIGKILL"]);
    t.same(killed, [["uid-g", 1]]);
    t.same(groups.uids(), []);
  },
);

t.test("PodCgroups.release() counts a process once, however long it takes to exit", async (t) => {
  const kills: number[][] = [[7], [7], [7, 8]];
  let isGone = false;
  const clock = { ...systemClock, sleep: async () => {} };
  const killed: number[] = [];
  const groups = new PodCgroups({
    driver: {
      ...cgroupfsDriver(openCgroupFiles(recorded(t, 2))),
      remove: async (group) => isGone || !group.includes("burstable"),
      kill(group) {
        if (!group.includes("burstable")) return [];
        const pids = kills.shift() ?? [];
        isGone = kills.length === 0;
        return pids;
      },
    },
    root: "x",
    clock,
    pods: () => [],
    podPids: -1,
    onKilled: (_, processes) => killed.push(processes),
    allowed: () => ({ milliCpu: 2000n, memoryBytes: 1n << 40n }),
  });
  await groups.release("uid", uninterrupted);
  t.same(killed, [2]);
});

t.test("CgroupFiles.kill() on a tree of the second version", async (t) => {
  const root = recorded(t, 2);
  const files = openCgroupFiles(root);
  const pod = join(root, "kubepods/pod1");
  mkdirSync(join(pod, "c"), { recursive: true });
  t.same(files.kill("/kubepods/pod1"), [], "nobody is in it");
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  writeFileSync(join(pod, "c", "cgroup.procs"), `0\n${child.pid}\n`);
  writeFileSync(join(pod, "cgroup.kill"), "");
  t.same(files.kill("/kubepods/pod1"), [child.pid], "a process of another PID namespace is not ours to count");
  t.equal(readFileSync(join(pod, "cgroup.kill"), "utf8"), "1", "left to the kernel where it can");
  rmSync(join(pod, "cgroup.kill"));
  t.same(files.kill("/kubepods/pod1"), [child.pid], "one by one before Linux 5.14");
  t.same(await exited, [null, "SIGKILL"]);
  t.notOk(existsSync(join(pod, "cgroup.kill")));
});

t.test("CgroupFiles.processes() on recorded trees of both versions", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-cgroups-"));
  t.teardown(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  put("one/pids/cgroup.procs", "");
  put("one/pids/kubepods/pod1/pids.current", "7\n");
  put("two/cgroup.controllers", "cpu memory pids\n");
  put("two/kubepods/pod1/pids.current", "12\n");
  t.equal(openCgroupFiles(join(root, "one")).processes("/kubepods/pod1"), 7);
  t.equal(openCgroupFiles(join(root, "two")).processes("/kubepods/pod1"), 12);
  t.equal(openCgroupFiles(join(root, "two")).processes("/kubepods/pod2"), 0, "one that is not there");
});
