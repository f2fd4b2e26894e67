// What a kill of the process that uses the native runtime leaves: everything accounted for, nothing lost, nothing leaked.

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import * as cri from "../../cri/api/gen/runtime.js";
import { NativePaths } from "../../cri/native/native.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { killAll, mountsBelow, processesNaming, unmountBelow, withDescendants } from "../harness/left-behind.ts";
import { removePods, startNative, withoutNative } from "../harness/native.ts";
import { until } from "../harness/until.ts";

const skip = withoutNative();
// The long form takes a minute or two.
t.setTimeout(0);
const kills = process.env.SKIFF_LONG ? 40 : 5;

async function startVictim(args: string[]): Promise<ChildProcess> {
  const [command, ...rest] = selfCommand(join(import.meta.dirname, "../fixtures/native-victim.ts"), args);
  const victim = spawn(command, rest, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve, reject) => {
    victim.stdout?.once("data", resolve);
    victim.once("exit", (code) => reject(new Error(`the victim ended with ${code}`)));
  });
  return victim;
}

async function kill(victim: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => victim.once("exit", resolve));
  victim.kill("SIGKILL");
  await ended;
}

const ids = (names: string[]) => names.filter((name) => /^[0-9a-f]{64}$/.test(name));

t.test("nativeRuntime() finds everything after its user was killed at any moment", { skip, timeout: 0 }, async (t) => {
  const native = await startNative(t);
  await native.reopen(async () => {
    for (let round = 0; round < kills; round++) {
      const victim = await startVictim([native.dir, native.bridge, native.subnet]);
      // At any moment; but the last one only after it left something behind.
      if (round < kills - 1) await new Promise((resolve) => setTimeout(resolve, randomInt(20, 500)));
      else await new Promise((resolve) => victim.stdout?.once("data", resolve));
      await kill(victim);
    }
  });
  const { runtime } = native.current();
  const { containers } = await runtime.listContainers(cri.ListContainersRequest.create(), call);
  const { items } = await runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), call);
  t.ok(items.length > 0, "something lived on");
  for (const { id, state } of containers) {
    t.not(state, cri.ContainerState.CONTAINER_UNKNOWN);
    if (state !== cri.ContainerState.CONTAINER_RUNNING) continue;
    const request = cri.ExecSyncRequest.create({ containerId: id, cmd: ["echo", "well"], timeout: 20n });
    const answer = await runtime.execSync(request, call);
    t.equal(Buffer.from(answer.stdout).toString(), "well\n");
  }
  const known = new Set([...containers, ...items].map(({ id }) => id));
  for (const folder of ["root/containers", "run/s", "run/oci", "run/p", "run/a"]) {
    t.same(
      ids(readdirSync(join(native.dir, folder))).filter((id) => !known.has(id)),
      [],
      `nothing unknown in ${folder}`,
    );
  }
  await removePods(native.current());
  await until("every conmon to end", () => processesNaming(native.dir).length === 0);
  t.same(mountsBelow(native.dir), []);
  const leases = join(native.dir, "leases", native.bridge);
  t.same(
    existsSync(leases) ? readdirSync(leases).filter((name) => /^\d+\./.test(name)) : [],
    [],
    "every address is free again",
  );
  t.same(
    [...known].filter((id) => existsSync(`/sys/fs/cgroup/memory/skiff/${id}`)),
    [],
  );
});

t.test("nativeRuntime() tells exits that happened while nobody was there", { skip }, async (t) => {
  const native = await startNative(t);
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "away", uid: "away", namespace: "test", attempt: 0 },
    logDirectory: join(native.dir, "logs"),
    linux: {},
  });
  const { podSandboxId } = await native
    .current()
    .runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const start = async (name: string, script: string, memoryLimitInBytes = 0n) => {
    const request = cri.CreateContainerRequest.create({
      podSandboxId,
      sandboxConfig: config,
      config: {
        metadata: { name, attempt: 0 },
        image: { image: "skiff.test/busybox:1" },
        command: ["sh", "-c", script],
        logPath: `${name}.log`,
        linux: { resources: { memoryLimitInBytes } },
      },
    });
    const { containerId } = await native.current().runtime.createContainer(request, call);
    await native.current().runtime.startContainer({ containerId }, call);
    return containerId;
  };
  const exits = await start("exits", "sleep 0.3; exit 42");
  const grows = await start("grows", "sleep 0.3; tail /dev/zero", 16n << 20n);
  await native.reopen(async () => {
    await until("both to end", () => processesNaming(native.dir).length === 0);
  });
  const status = async (containerId: string) =>
    (await native.current().runtime.containerStatus({ containerId, verbose: false }, call)).status;
  t.match(await status(exits), { state: cri.ContainerState.CONTAINER_EXITED, exitCode: 42, reason: "Error" });
  t.match(await status(grows), { state: cri.ContainerState.CONTAINER_EXITED, exitCode: 137, reason: "OOMKilled" });
});

t.test("nativeRuntime() may be closed while a conmon still holds the stream of its complaints", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sn-conmon-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const conmon = join(folder, "conmon");
  const held = join(folder, "held");
  // A child of its that keeps the stream until the file is gone; this happens with conmon itself for a moment after each start.
  const hold = `while [ -e ${held} ]; do sleep 0.05; done`;
  writeFileSync(conmon, `#!/bin/sh\n(${hold}) >/dev/null 3>&- 4>&- &\nexec /usr/bin/conmon "$@"\n`, { mode: 0o755 });
  writeFileSync(held, "");
  const native = await startNative(t, { changes: { conmon } });
  t.teardown(() => rmSync(held, { force: true }));
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "held", uid: "held", namespace: "test", attempt: 0 },
    logDirectory: join(native.dir, "logs"),
    linux: {},
  });
  const { runtime } = native.current();
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const request = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: "skiff.test/busybox:1" },
      command: ["sleep", "1000"],
      logPath: "main.log",
      linux: {},
    },
  });
  const { containerId } = await runtime.createContainer(request, call);
  await runtime.startContainer({ containerId }, call);
  await native.reopen();
  const { status } = await native.current().runtime.containerStatus({ containerId, verbose: false }, call);
  t.equal(status?.state, cri.ContainerState.CONTAINER_RUNNING, "and finds its container again");
});

t.test("nativeRuntime() shares no cgroup with another runtime on the machine", { skip }, async (t) => {
  const [one, other] = [await startNative(t), await startNative(t, { images: [] })];
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "apart", uid: "apart", namespace: "test", attempt: 0 },
    logDirectory: join(one.dir, "logs"),
    linux: {},
  });
  const { runtime } = one.current();
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: "skiff.test/busybox:1" },
      command: ["sleep", "1000"],
      linux: {},
    },
  });
  const { containerId } = await runtime.createContainer(create, call);
  await runtime.startContainer({ containerId }, call);
  const cgroupsOf = ({ options: { root, runDir } }: typeof one) => {
    const { defaultCgroup, conmonCgroup } = new NativePaths(root, runDir);
    return [defaultCgroup, conmonCgroup];
  };
  const { info } = await runtime.containerStatus({ containerId, verbose: true }, call);
  const { pid } = JSON.parse(info.info ?? "{}") as { pid: number };
  const [group = ""] = cgroupsOf(one);
  t.match(readFileSync(`/proc/${pid}/cgroup`, "utf8"), `:${group}/${podSandboxId}/${containerId}`);
  t.notOk(
    cgroupsOf(one).some((cgroup) => cgroupsOf(other).includes(cgroup)),
    "the other has cgroups of its own",
  );
});

t.test("nativeRuntime() finds its pods dead after a reboot, and lets them go", { skip }, async (t) => {
  const native = await startNative(t);
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "rebooted", uid: "rebooted", namespace: "test", attempt: 0 },
    logDirectory: join(native.dir, "logs"),
    linux: {},
  });
  const run = cri.RunPodSandboxRequest.create({ config });
  const { podSandboxId } = await native.current().runtime.runPodSandbox(run, call);
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: "skiff.test/busybox:1" },
      command: ["sleep", "1000"],
      logPath: "main.log",
      linux: {},
    },
  });
  const { containerId } = await native.current().runtime.createContainer(create, call);
  await native.current().runtime.startContainer({ containerId }, call);
  await native.reopen(async () => {
    // What a reboot takes: every process, every mount, and all that lies on a tmpfs.
    killAll(withDescendants(processesNaming(native.dir)));
    await until("all to end", () => processesNaming(native.dir).length === 0);
    unmountBelow(native.dir);
    rmSync(native.options.runDir, { recursive: true, force: true });
  });
  const leftBehind = [".exec-0123456789abcdef", "exec-0123456789abcdef"].map((name) =>
    join(native.options.runDir, name),
  );
  await native.reopen(async () => {
    // Files of a command that was killed with its runtime, whole and half written.
    for (const file of leftBehind) writeFileSync(file, "1");
  });
  t.notOk(leftBehind.some((file) => existsSync(file)));
  const { runtime, image } = native.current();
  const { status } = await runtime.containerStatus({ containerId, verbose: false }, call);
  t.match(status, { state: cri.ContainerState.CONTAINER_EXITED, exitCode: 255, reason: "Unknown" });
  const sandbox = await runtime.podSandboxStatus({ podSandboxId, verbose: false }, call);
  t.equal(sandbox.status?.state, cri.PodSandboxState.SANDBOX_NOTREADY);
  t.equal((await image.listImages(cri.ListImagesRequest.create(), call)).images.length, 1, "images are still there");
  await runtime.stopPodSandbox({ podSandboxId }, call);
  const next = cri.PodSandboxConfig.create({
    ...config,
    metadata: { name: "rebooted", uid: "rebooted", namespace: "test", attempt: 1 },
  });
  const again = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config: next }), call);
  const later = cri.CreateContainerRequest.create({ ...create, podSandboxId: again.podSandboxId, sandboxConfig: next });
  const second = await runtime.createContainer(later, call);
  await runtime.startContainer({ containerId: second.containerId }, call);
  await runtime.removePodSandbox({ podSandboxId }, call);
  t.equal((await runtime.listContainers(cri.ListContainersRequest.create(), call)).containers.length, 1);
});
