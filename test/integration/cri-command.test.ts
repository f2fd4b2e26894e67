// `skiff cri docker|native`: a runtime of ours behind a socket, used as crictl or a stock kubelet would.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import t from "tap";
import { instancePaths } from "../../agent/assemble/paths.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import { openRemote } from "../../cri/remote/open.ts";
import { within } from "../../plugins/kit/base/call.ts";
import { startCriProcess } from "../harness/cri-process.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImage as pulledImage } from "../harness/image-builder.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { removeFolder } from "../harness/left-behind.ts";
import { withoutNative } from "../harness/native.ts";
import { TestRegistry } from "../harness/registry.ts";
import { until } from "../harness/until.ts";
import { echoServer } from "../suites/runtime/setup.ts";
import { runtimeSuite } from "../suites/runtime/suite.ts";

const root = join(import.meta.dirname, "../..");

function skiff(args: string[]): { child: ChildProcess; said: () => string } {
  const runtime = process.versions.deno ? ["run", "-A", "skiff.ts"] : ["skiff.ts"];
  const child = spawn(process.execPath, [...runtime, ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  return { child, said: () => text };
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) =>
    child.exitCode === null ? child.once("exit", (code) => resolve(code)) : resolve(child.exitCode),
  );

t.test("skiff cri docker serves pods, commands and their end on its socket", { skip: withoutDocker() }, async (t) => {
  const docker = await startDocker(t);
  const socket = join(docker.dir, "cri.sock");
  const { child, said } = skiff([
    "cri",
    "docker",
    `--listen=unix://${socket}`,
    `--data-dir=${join(docker.dir, "served")}`,
    `--docker-socket=${docker.socket}`,
    `--cni-conf-dir=${join(docker.dir, "cni")}`,
  ]);
  t.teardown(() => child.kill("SIGKILL"));
  await until("the ready line", () => {
    if (child.exitCode !== null) throw new Error(said());
    return /^ready runtime=docker/m.test(said());
  });
  const { runtime, sessions, close } = openRemote({ socket });
  t.teardown(() => close());
  t.match(await runtime.version({ version: "v1" }, within(20_000)), { runtimeName: "docker" });
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "served", uid: "served", namespace: "test", attempt: 0 },
    hostname: "served",
  });
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), within(30_000));
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: { metadata: { name: "main" }, image: { image: busyboxImageName }, command: ["sleep", "1000"] },
  });
  const { containerId } = await runtime.createContainer(create, within(30_000));
  await runtime.startContainer({ containerId }, within(30_000));
  let output = "";
  const stdout = new Writable({ write: (chunk, _encoding, done) => ((output += String(chunk)), done()) });
  const session = { containerId, command: ["hostname"], tty: false };
  t.same(await sessions.exec(session, { stdout }, within(30_000)), { exitCode: 0 });
  t.equal(output, "served\n");
  await runtime.removePodSandbox({ podSandboxId }, within(30_000));
  // Not child.kill(): a runtime takes its own signal for the reason of any end.
  process.kill(child.pid as number, "SIGTERM");
  t.equal(await ended(child), 0, said());
  t.notOk(existsSync(socket), "the socket is gone");
});

const unfit = withoutNative();
if (unfit) t.test("skiff cri native", { skip: unfit }, async () => {});
else {
  runtimeSuite(
    t,
    {
      name: "skiff cri native, a process of its own",
      lacks: {},
      async open(t) {
        const registry = await TestRegistry.start();
        t.teardown(() => registry.stop());
        registry.add("busybox", "1", pulledImage());
        const served = await startCriProcess(t, { runtime: "native", registry: registry.host });
        const runtime = openRemote({ socket: served.socket });
        t.teardown(() => runtime.close());
        await runtime.image.pullImage(
          cri.PullImageRequest.create({ image: { image: busyboxImageName } }),
          within(60_000),
        );
        const { dir } = served;
        const images = { namedUser: "", numberedUser: "", removable: "" };
        const restart = async (meanwhile?: () => Promise<void>) => {
          await served.kill();
          await meanwhile?.();
          await served.start();
          // The same client: it finds the way back by itself.
          return runtime;
        };
        return { runtime, dir, image: busyboxImageName, images, echoServer, restart };
      },
    },
    ["lifecycle", "logs", "execSync", "streaming", "stats", "recovery"],
  );

  t.test("skiff cri native imports archives that appear in its data dir", async (t) => {
    const served = await startCriProcess(t, { runtime: "native" });
    const remote = openRemote({ socket: served.socket });
    t.teardown(() => remote.close());
    writeFileSync(join(served.dir, "data", "images", "box.tar"), await imageArchive(busyboxImage()));
    const image = cri.ImageSpec.create({ image: busyboxImageName });
    const isThere = async () => (await remote.image.imageStatus({ image, verbose: false }, within(20_000))).image;
    await until("the image to be there", isThere, 60_000);
  });

  t.test("two of skiff cri native stand side by side, and know nothing of each other", async (t) => {
    const registry = await TestRegistry.start();
    t.teardown(() => registry.stop());
    registry.add("busybox", "1", pulledImage());
    const both = await Promise.all(
      [1, 2].map(async () => {
        const served = await startCriProcess(t, { runtime: "native", registry: registry.host });
        const remote = openRemote({ socket: served.socket });
        t.teardown(() => remote.close());
        return { served, ...remote };
      }),
    );
    const config = cri.PodSandboxConfig.create({
      metadata: { name: "twin", uid: "twin", namespace: "test", attempt: 0 },
      hostname: "twin",
    });
    const pods = await Promise.all(
      both.map(async ({ runtime, image }) => {
        const pull = cri.PullImageRequest.create({ image: { image: busyboxImageName } });
        await image.pullImage(pull, within(60_000));
        const run = cri.RunPodSandboxRequest.create({ config });
        const { podSandboxId } = await runtime.runPodSandbox(run, within(60_000));
        const create = cri.CreateContainerRequest.create({
          podSandboxId,
          sandboxConfig: config,
          config: { metadata: { name: "main" }, image: { image: busyboxImageName }, command: ["sleep", "1000"] },
        });
        const { containerId } = await runtime.createContainer(create, within(60_000));
        await runtime.startContainer({ containerId }, within(60_000));
        return podSandboxId;
      }),
    );
    for (const [at, { runtime }] of both.entries()) {
      const { items } = await runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), within(60_000));
      t.same(
        items.map(({ id }) => id),
        [pods[at]],
      );
    }
    await both[0]?.runtime.removePodSandbox({ podSandboxId: pods[0] ?? "" }, within(60_000));
    t.equal(await both[0]?.served.end(), 0);
    const [ofFirst, ofSecond] = both.map(({ served }) => instancePaths(join(served.dir, "data")).runDir);
    t.notOk(existsSync(ofFirst ?? ""), "one without pods leaves no folder");
    t.ok(existsSync(ofSecond ?? ""));
    const { containers = [] } =
      (await both[1]?.runtime.listContainers(cri.ListContainersRequest.create(), within(60_000))) ?? {};
    t.equal(containers[0]?.state, cri.ContainerState.CONTAINER_RUNNING, "the other's goes on");
  });
}

t.test("skiff cri refuses a runtime that it does not have", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-cri-"));
  t.teardown(() => removeFolder(dir));
  const { child, said } = skiff(["cri", "podman", `--data-dir=${dir}`, `--listen=unix://${dir}/cri.sock`]);
  t.equal(await ended(child), 2);
  t.match(said(), /docker or native/);
});
