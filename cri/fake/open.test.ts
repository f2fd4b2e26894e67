import t from "tap";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import * as cri from "../api/gen/runtime.js";
import { type FakeRuntime, openFake } from "./open.ts";

async function startOne(fake: FakeRuntime, config: Parameters<typeof cri.ContainerConfig.create>[0] = {}) {
  const sandboxConfig = { metadata: { name: "web", uid: "1", namespace: "shop" } };
  const { podSandboxId } = await fake.runtime.runPodSandbox(
    cri.RunPodSandboxRequest.create({ config: sandboxConfig }),
    uninterrupted,
  );
  const { containerId } = await fake.runtime.createContainer(
    cri.CreateContainerRequest.create({
      podSandboxId,
      sandboxConfig,
      config: { metadata: { name: "main" }, image: { image: "web:1" }, ...config },
    }),
    uninterrupted,
  );
  await fake.runtime.startContainer({ containerId }, uninterrupted);
  return { podSandboxId, containerId };
}

const statusOf = async (fake: FakeRuntime, containerId: string) =>
  (await fake.runtime.containerStatus({ containerId, verbose: false }, uninterrupted)).status;

t.test("exit() ends a container as its own process would, and tells", async (t) => {
  const fake = openFake({ images: ["web:1"] });
  const events = fake.runtime.getContainerEvents({}, uninterrupted)[Symbol.asyncIterator]();
  const { containerId } = await startOne(fake);
  await fake.exit(containerId, { exitCode: 9, reason: "OOMKilled" });
  t.match(await statusOf(fake, containerId), {
    state: cri.ContainerState.CONTAINER_EXITED,
    exitCode: 9,
    reason: "OOMKilled",
  });
  const seen = [];
  for (let n = 0; n < 5; n++) seen.push((await events.next()).value?.containerEventType);
  t.same(seen, [0, 1, 0, 1, 2], "created and started, of the sandbox and the container, then stopped");
  await fake.close();
  await t.rejects(events.next(), { code: "unavailable" });
});

t.test("failNext() and before() fail and hold calls", async (t) => {
  const fake = openFake({ images: ["web:1"] });
  fake.failNext("runPodSandbox", new Fault("unavailable", "no network"));
  await t.rejects(startOne(fake), { code: "unavailable", message: "no network" });
  let release = () => {};
  const takeBack = fake.before("startContainer", () => new Promise((resolve) => (release = resolve)));
  const started = startOne(fake);
  while (!fake.calls.some(({ method }) => method === "startContainer")) await new Promise((r) => setImmediate(r));
  release();
  const { containerId } = await started;
  takeBack();
  t.match(await statusOf(fake, containerId), { state: cri.ContainerState.CONTAINER_RUNNING });
});

t.test("stopContainer() gives a deaf process its grace by the clock", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ clock, images: ["web:1"] });
  fake.ignoresTerm = () => true;
  const { containerId } = await startOne(fake);
  const stopped = fake.runtime.stopContainer({ containerId, timeout: 30n }, uninterrupted);
  await clock.advance(29_000);
  t.match(await statusOf(fake, containerId), { state: cri.ContainerState.CONTAINER_RUNNING });
  await clock.advance(1000);
  await stopped;
  t.match(await statusOf(fake, containerId), { state: cri.ContainerState.CONTAINER_EXITED, exitCode: 137 });
});

t.test("a world outlives the runtime opened on it", async (t) => {
  const first = openFake({ images: ["web:1"] });
  const { containerId } = await startOne(first);
  await first.close();
  const second = openFake({ world: first.world });
  t.match(await statusOf(second, containerId), { state: cri.ContainerState.CONTAINER_RUNNING });
});

t.test("programs read input, write both outputs and the CRI log", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-fake-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const fake = openFake({ images: ["web:1"], clock: new FakeClock() });
  fake.programs.set("greet", async (io) => {
    await io.stdout(`hello ${io.env.NAME}\n`);
    return io.run(["sh", "-c", "echo oops >&2; echo -n rest; exit 4"]);
  });
  const sandboxConfig = { metadata: { name: "p", uid: "2" }, logDirectory: dir };
  const { podSandboxId } = await fake.runtime.runPodSandbox(
    cri.RunPodSandboxRequest.create({ config: sandboxConfig }),
    uninterrupted,
  );
  const config = { metadata: { name: "c" }, image: { image: "web:1" }, command: ["greet"], logPath: "c/0.log" };
  const { containerId } = await fake.runtime.createContainer(
    cri.CreateContainerRequest.create({
      podSandboxId,
      sandboxConfig,
      config: { ...config, envs: [{ key: "NAME", value: "pod" }] },
    }),
    uninterrupted,
  );
  await fake.runtime.startContainer({ containerId }, uninterrupted);
  await fake.world.container(containerId).exited;
  t.match(await statusOf(fake, containerId), { exitCode: 4, reason: "Error", logPath: join(dir, "c/0.log") });
  const stamp = "2026-01-01T00:00:00.000000000Z";
  t.equal(
    readFileSync(join(dir, "c/0.log"), "utf8"),
    `${stamp} stdout F hello pod\n${stamp} stderr F oops\n${stamp} stdout P rest\n`,
  );
});

t.test("sessions carry input and output, attach and ports", async (t) => {
  const fake = openFake({ images: ["web:1"] });
  const { podSandboxId, containerId } = await startOne(fake, { stdin: true, stdinOnce: true, command: ["cat"] });
  const sink = () => {
    let text = "";
    const stream = new Writable({ write: (chunk, _, done) => ((text += chunk), done()) });
    return { stream, text: () => text };
  };
  const stdin = new PassThrough();
  stdin.end("to and fro");
  const out = sink();
  const exec = { containerId, command: ["cat"], tty: false };
  t.same(await fake.sessions.exec(exec, { stdin, stdout: out.stream }, uninterrupted), { exitCode: 0 });
  t.equal(out.text(), "to and fro");
  // A timer of our own: AbortSignal.timeout() would not keep the process alive while nothing else does.
  const stop = new AbortController();
  setTimeout(() => stop.abort(new DOMException("too long", "TimeoutError")), 1);
  const endless = fake.sessions.exec({ ...exec, command: ["sleep", "infinity"] }, {}, { signal: stop.signal });
  await t.rejects(endless, { code: "timeout" });

  fake.ports.set(80, async (connection) => void connection.end("pong"));
  const connection = new PassThrough();
  await fake.sessions.portForward(podSandboxId, 80, connection, uninterrupted);
  t.equal(connection.read()?.toString(), "pong");
  await t.rejects(fake.sessions.portForward(podSandboxId, 81, connection, uninterrupted), { code: "unavailable" });

  const typed = new PassThrough();
  const seen = sink();
  const attached = fake.sessions.attach(
    { containerId, tty: false },
    { stdin: typed, stdout: seen.stream },
    uninterrupted,
  );
  typed.end("typed");
  await attached;
  t.equal(seen.text(), "typed");
  t.match(await statusOf(fake, containerId), { exitCode: 0 }, "stdinOnce ends the input, and cat with it");
});
