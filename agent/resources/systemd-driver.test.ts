import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import type { SystemdManager, UnitProperty } from "../../plugins/kit/os/systemd/manager.ts";
import { openCgroupFiles } from "./cgroup-files.ts";
import { PodCgroups } from "./pod-cgroups.ts";
import { limitProperties, systemdDriver } from "./systemd-driver.ts";

const container = (resources: object) => [{ name: "main", image: "x", resources }];
const guaranteed = testPod("g-1", { containers: container({ limits: { cpu: "125m", memory: "64Mi" } }) });
const burstable = testPod("b-1", { containers: container({ requests: { cpu: "250m" } }) });

/** A systemd that makes and removes folders in the hierarchies that it uses, and remembers what it was told. */
class RecordedSystemd implements SystemdManager {
  readonly units = new Map<string, Record<string, unknown>>();
  readonly #folders: readonly string[];

  constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  async startTransient(unit: string, properties: readonly UnitProperty[]): Promise<boolean> {
    if (this.units.has(unit)) return false;
    this.units.set(unit, {});
    for (const folder of this.#folders) {
      mkdirSync(join(folder, pathOf(unit)), { recursive: true });
      // With those above it, which systemd makes by itself.
      for (let path = pathOf(unit); path !== "." && isSecond(folder); path = dirname(path))
        writeFileSync(join(folder, path, "cgroup.controllers"), "cpu memory pids\n");
    }
    await this.setProperties(unit, properties);
    return true;
  }

  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    const known = this.units.get(unit);
    if (!known) throw new Error(`there is no ${unit}`);
    for (const [name, { value }] of properties) known[name] = value;
  }

  async stop(unit: string): Promise<void> {
    this.units.delete(unit);
    // The kernel's own files go with a group.
    for (const folder of this.#folders) rmSync(join(folder, pathOf(unit)), { recursive: true, force: true });
  }

  async kill(): Promise<void> {}
  close(): void {}
}

const isSecond = (folder: string) => existsSync(join(folder, "cgroup.controllers"));

function pathOf(unit: string): string {
  const parts = unit.replace(".slice", "").split("-");
  return parts.map((_, index) => `${parts.slice(0, index + 1).join("-")}.slice`).join("/");
}

function recorded(t: { teardown(then: () => void): void }, version: 1 | 2) {
  const root = mkdtempSync(join(tmpdir(), "skiff-slices-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const hierarchies = version === 2 ? [""] : ["cpu", "memory", "pids", "freezer", "systemd"];
  for (const name of hierarchies) {
    mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, name, version === 2 ? "cgroup.controllers" : "cgroup.procs"), "");
  }
  const systemd = new RecordedSystemd(hierarchies.filter((name) => name !== "freezer").map((name) => join(root, name)));
  const groups = new PodCgroups({
    driver: systemdDriver(openCgroupFiles(root), systemd),
    root: "skiff",
    clock: systemClock,
    pods: () => [burstable],
    podPids: 4096,
    allowed: () => ({ milliCpu: 2000n, memoryBytes: 1n << 30n }),
  });
  return { root, systemd, groups };
}

t.test("PodCgroups with the systemd driver, second version", async (t) => {
  const { root, systemd, groups } = recorded(t, 2);
  for (const pod of [guaranteed, burstable]) await groups.prepare(pod, uninterrupted);
  t.equal(groups.parentOf(guaranteed), "skiff-kubepods-poduid_g_1.slice");
  t.equal(groups.parentOf(burstable), "skiff-kubepods-burstable-poduid_b_1.slice");
  t.match(systemd.units.get("skiff-kubepods.slice"), { MemoryMax: 1n << 30n, Wants: ["skiff.slice"] });
  t.match(systemd.units.get("skiff-kubepods-besteffort.slice"), { CPUWeight: 1n, Wants: ["skiff-kubepods.slice"] });
  t.match(systemd.units.get("skiff-kubepods-burstable.slice"), { CPUWeight: 10n });
  t.match(systemd.units.get("skiff-kubepods-poduid_g_1.slice"), {
    MemoryMax: 67_108_864n,
    CPUWeight: 5n,
    // Whole percents only; the file has it exactly.
    CPUQuotaPerSecUSec: 130_000n,
    TasksMax: 4096n,
    MemoryAccounting: true,
    CPUAccounting: true,
    IOAccounting: true,
    TasksAccounting: true,
    DefaultDependencies: false,
  });
  const pod = join(root, "skiff.slice/skiff-kubepods.slice/skiff-kubepods-poduid_g_1.slice");
  t.equal(readFileSync(join(pod, "cpu.max"), "utf8"), "12500 100000");
  writeFileSync(join(pod, "pids.current"), "7\n");
  t.equal(groups.processes("uid-g-1"), 7);
  t.same(groups.uids().sort(), ["uid-b-1", "uid-g-1"], "as the pods are called");
});

t.test("PodCgroups with the systemd driver, first version", async (t) => {
  const { root, systemd, groups } = recorded(t, 1);
  await groups.prepare(guaranteed, uninterrupted);
  const unit = "skiff-kubepods-poduid_g_1.slice";
  t.match(systemd.units.get(unit), {
    MemoryLimit: 67_108_864n,
    CPUShares: 128n,
    CPUQuotaPerSecUSec: 130_000n,
    TasksMax: 4096n,
    BlockIOAccounting: true,
  });

  const larger = { ...guaranteed, spec: { ...guaranteed.spec, containers: container({ limits: { memory: "96Mi" } }) } };
  await groups.prepare({ ...larger, status: { qosClass: "Guaranteed" } } as typeof guaranteed, uninterrupted);
  t.match(systemd.units.get(unit), { MemoryLimit: 100_663_296n, CPUQuotaPerSecUSec: (1n << 64n) - 1n }, "resized");

  // What the runtime makes where systemd does not look.
  const elsewhere = join(root, "freezer", pathOf(unit));
  mkdirSync(join(elsewhere, "docker-1.scope"), { recursive: true });
  const busy = join(root, "systemd", pathOf(unit), "docker-1.scope");
  mkdirSync(busy);
  const orphan = spawn("sleep", ["1000"], { stdio: "ignore" });
  t.teardown(() => orphan.kill("SIGKILL"));
  writeFileSync(join(busy, "cgroup.procs"), `${orphan.pid}\n`);
  const [exit] = await Promise.all([
    once(orphan, "exit"),
    t.rejects(groups.release("uid-g-1", uninterrupted), /failed to remove the cgroup of pod uid-g-1/, "still listed"),
  ]);
  t.same(exit, [null, "SIGKILL"]);
  t.ok(systemd.units.has(unit), "the slice is not stopped while processes are listed in it");
  rmSync(join(busy, "cgroup.procs"));
  await groups.release("uid-g-1", uninterrupted);
  t.notOk(systemd.units.has(unit));
  t.notOk(existsSync(elsewhere), "also where systemd does not look");
  await groups.release("uid-g-1", uninterrupted);
  t.same(groups.uids(), []);

  await groups.removeTree(uninterrupted);
  t.same([...systemd.units.keys()], [], "the whole tree goes when no pod is left");
  t.notOk(existsSync(join(root, "memory/skiff.slice")));
});

t.test("limitProperties() says nothing of what it was not told", async (t) => {
  t.same(limitProperties({}, 2), []);
  const infinity = (1n << 64n) - 1n;
  const none = limitProperties({ memoryBytes: 0n, cpuQuota: 0n, pids: -1 }, 2);
  t.same(
    none.map(([name, { value }]) => [name, value]),
    [
      ["MemoryMax", infinity],
      ["CPUQuotaPerSecUSec", infinity],
      ["TasksMax", infinity],
    ],
  );
});
