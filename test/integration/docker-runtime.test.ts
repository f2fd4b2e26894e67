// What only a real Docker daemon can show of cri/docker, beyond the suite of every runtime: logs across breaks and rotation, credentials,
// what is left half made, a lost daemon, and several of us on one.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { packTar, unpackTar } from "modern-tar";
import t from "tap";
import * as cri from "../../cri/api/gen/runtime.js";
import type { Runtime } from "../../cri/api/contract.ts";
import { dockerRuntime } from "../../cri/docker/docker-runtime.ts";
import { Engine } from "../../cri/docker/engine/engine.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { startDocker, type TestDocker, withoutDocker } from "../harness/docker.ts";
import { imageOf, layerOf, busyboxImage as pulledImage } from "../harness/image-builder.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { TestRegistry } from "../harness/registry.ts";
import { until } from "../harness/until.ts";

const skip = withoutDocker();

async function runPod({ runtime }: Runtime, docker: TestDocker, name: string): Promise<[string, cri.PodSandboxConfig]> {
  const config = cri.PodSandboxConfig.create({
    metadata: { name, uid: name, namespace: "test", attempt: 0 },
    logDirectory: join(docker.dir, "logs", name),
  });
  const request = cri.RunPodSandboxRequest.create({ config });
  return [(await runtime.runPodSandbox(request, call)).podSandboxId, config];
}

type ContainerChanges = NonNullable<Parameters<typeof cri.ContainerConfig.create>[0]>;

async function start(
  { runtime }: Runtime,
  pod: [string, cri.PodSandboxConfig],
  config: ContainerChanges,
): Promise<string> {
  const request = cri.CreateContainerRequest.create({
    podSandboxId: pod[0],
    sandboxConfig: pod[1],
    config: { image: { image: busyboxImageName }, logPath: `${config.metadata?.name}.log`, ...config },
  });
  const { containerId } = await runtime.createContainer(request, call);
  await runtime.startContainer({ containerId }, call);
  return containerId;
}

const stateOf = async ({ runtime }: Runtime, containerId: string) =>
  (await runtime.containerStatus({ containerId, verbose: false }, call)).status?.state;

const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" "));

t.test("cri/docker on a real daemon", { skip, timeout: 600_000 }, async (t) => {
  const docker = await startDocker(t);
  const engine = new Engine(docker.socket);
  t.teardown(() => engine.close());

  t.test("logs lose and double nothing across restarts and rotation, on both streams", async (t) => {
    const pod = await runPod(docker.current(), docker, "logs");
    const script =
      "n=0; while [ $n -lt 400 ]; do echo o$n; echo e$n >&2; n=$((n+1)); [ $((n%10)) = 0 ] && sleep 0.05; done";
    const id = await start(docker.current(), pod, { metadata: { name: "count" }, command: ["sh", "-c", script] });
    const path = join(docker.dir, "logs", "logs", "count.log");
    const files = [path];
    for (let round = 1; round <= 4; round++) {
      await until("more lines", () => existsSync(path) && linesOf(path).length > 20);
      if (round % 2 === 0) {
        files.unshift(`${path}.${round}`);
        renameSync(path, `${path}.${round}`);
        await docker.current().runtime.reopenContainerLog({ containerId: id }, call);
      }
      await docker.reopen();
    }
    await until("the end", async () => (await stateOf(docker.current(), id)) === cri.ContainerState.CONTAINER_EXITED);
    const lines = [...files].reverse().toSorted().flatMap(linesOf);
    const of = (stream: string) => lines.filter((line) => line[1] === stream).map((line) => Number(line[3]?.slice(1)));
    const expected = Array.from({ length: 400 }, (_, at) => at);
    t.same(
      of("stdout").toSorted((a, b) => a - b),
      expected,
    );
    t.same(
      of("stderr").toSorted((a, b) => a - b),
      expected,
    );
    await docker.current().runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
  });

  t.test("what a container wrote while nobody was there is in its log later, and a terminal's too", async (t) => {
    const pod = await runPod(docker.current(), docker, "away");
    const script = "echo first; sleep 0.3; echo last";
    const plain = await start(docker.current(), pod, { metadata: { name: "plain" }, command: ["sh", "-c", script] });
    const tty = await start(docker.current(), pod, {
      metadata: { name: "tty" },
      tty: true,
      command: ["sh", "-c", script],
    });
    await docker.reopen(async () => {
      for (const id of [plain, tty]) await engine.call("POST", `/containers/${id}/wait`, {}, call);
    });
    for (const id of [plain, tty]) await stateOf(docker.current(), id);
    const texts = (name: string) => linesOf(join(docker.dir, "logs", "away", `${name}.log`)).map((line) => line[3]);
    t.same(texts("plain"), ["first", "last"]);
    t.same(texts("tty"), ["first\r", "last\r"]);
    await docker.current().runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
  });

  t.test("pullImage() uses the credentials it is given, by password and by token", async (t) => {
    for (const auth of ["basic", "token"] as const) {
      const registry = await TestRegistry.start({ users: { ann: "secret" }, auth });
      t.teardown(() => registry.stop());
      const name = registry.add("private/busybox", "1", pulledImage());
      const pull = (password: string) =>
        docker
          .current()
          .image.pullImage(
            cri.PullImageRequest.create({ image: { image: name }, auth: { username: "ann", password } }),
            call,
          );
      await t.rejects(pull("wrong"), { name: "Fault", message: /Cannot pull image/ }, auth);
      const { imageRef } = await pull("secret");
      t.match(imageRef, /^sha256:/);
      const status = await docker
        .current()
        .image.imageStatus(cri.ImageStatusRequest.create({ image: { image: name } }), call);
      t.ok(status.image?.repoTags.includes(name));
      t.ok(status.image?.repoDigests[0]?.includes("@sha256:"));
      await docker.current().image.removeImage({ image: status.image?.spec }, call);
    }
  });

  t.test("pulls() tells of a pull while it goes on", async (t) => {
    const registry = await TestRegistry.start();
    t.teardown(() => registry.stop());
    // Larger than what the daemon swallows before it says a word.
    const layer = layerOf([{ name: "big", content: randomBytes(4 << 20) }], "none");
    const name = registry.add("slow/app", "1", imageOf([layer]));
    registry.faults.stallBlob = { afterBytes: 2 << 20, times: 1 };
    const stop = new AbortController();
    const request = cri.PullImageRequest.create({ image: { image: name } });
    const pulling = docker.current().image.pullImage(request, { signal: stop.signal });
    const told = () => docker.current().pulls?.() ?? [];
    await until("half of it", () => (told()[0]?.bytes ?? 0) > 0);
    t.match(told(), [{ image: name, totalBytes: layer.blob.length }]);
    stop.abort();
    await t.rejects(pulling);
    t.same(told(), []);
  });

  t.test("importArchive() loads OCI layouts and what docker save writes, compressed or not", async (t) => {
    const run = async (name: string) => {
      const pod = await runPod(docker.current(), docker, name.replace(/\W/g, "-"));
      await start(docker.current(), pod, { metadata: { name: "main" }, image: { image: name }, command: ["true"] });
      await docker.current().runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
    };
    const whole = Buffer.from(
      await imageArchive(busyboxImage({ name: "skiff.test/saved:1", env: ["PATH=/bin", "A=1"] })),
    );
    const members = await unpackTar(
      await imageArchive(busyboxImage({ name: "skiff.test/layout:1", env: ["PATH=/bin", "B=1"] })),
    );
    const layout = Buffer.from(
      await packTar(
        members
          .filter(({ header }) => header.name !== "manifest.json")
          .map(({ header, data }) => ({ header, body: data ?? new Uint8Array() })),
      ),
    );
    const archives: [string, Buffer, string][] = [
      ["saved.tar.gz", gzipSync(whole, { level: 1 }), "skiff.test/saved:1"],
      ["layout.tar.zst", zstdCompressSync(layout), "skiff.test/layout:1"],
    ];
    for (const [file, bytes, name] of archives) {
      writeFileSync(join(docker.dir, file), bytes);
      t.same(await docker.current().importArchive(join(docker.dir, file), call), [name], file);
      await run(name);
    }
    writeFileSync(join(docker.dir, "other.tar"), Buffer.from(await packTar([])));
    await t.rejects(docker.current().importArchive(join(docker.dir, "other.tar"), call), { code: "invalid" });
  });

  t.test("what is left without its sandbox, or half made, is removed at the next start", async (t) => {
    const pod = await runPod(docker.current(), docker, "orphan");
    const id = await start(docker.current(), pod, { metadata: { name: "main" }, command: ["sleep", "1000"] });
    const whole = await runPod(docker.current(), docker, "whole");
    const half = await runPod(docker.current(), docker, "half");
    await docker.reopen(async () => {
      await engine.call("DELETE", `/containers/${pod[0]}`, { query: { force: true } }, call);
      const { State } = await engine.get<{ State: { Pid: number } }>(`/containers/${half[0]}/json`, {}, call);
      await docker.options.network.del(
        { containerId: half[0], netnsPath: `/proc/${State.Pid}/ns/net`, ifName: "eth0" },
        call,
      );
    });
    const { runtime } = docker.current();
    await t.rejects(stateOf(docker.current(), id), { code: "not-found" });
    const { items } = await runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), call);
    t.same(
      items.map((item) => item.id),
      [whole[0]],
    );
    await runtime.removePodSandbox({ podSandboxId: whole[0] }, call);
  });

  t.test("two of us on one daemon do not see each other", async (t) => {
    const pod = await runPod(docker.current(), docker, "mine");
    const other = await dockerRuntime({ ...docker.options, root: join(docker.dir, "other") });
    t.teardown(() => other.close());
    const { items } = await other.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), call);
    t.same(items, []);
    await other.runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
    const status = { podSandboxId: pod[0], verbose: false };
    await t.rejects(other.runtime.podSandboxStatus(status, call), { code: "not-found" });
    t.equal((await docker.current().runtime.podSandboxStatus(status, call)).status?.id, pod[0]);
    await docker.current().runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
  });

  t.test("a lost daemon is told, and a new one is found without a restart", async (t) => {
    const { runtime } = docker.current();
    const isReady = async () =>
      (await runtime.status(cri.StatusRequest.create(), call)).status?.conditions.find(
        ({ type }) => type === "RuntimeReady",
      )?.status;
    const listening = (async () => {
      for await (const _event of runtime.getContainerEvents({}, call)) continue;
    })();
    const lost = t.rejects(listening, { code: "unavailable" });
    t.ok(await isReady());
    await docker.killDaemon();
    t.notOk(await isReady());
    await lost;
    await t.rejects(runtime.listContainers(cri.ListContainersRequest.create(), call), {
      code: "unavailable",
    });
    await docker.startDaemon();
    await until("it to be ready again", isReady);
    const pod = await runPod(docker.current(), docker, "after");
    await runtime.removePodSandbox({ podSandboxId: pod[0] }, call);
  });
});
