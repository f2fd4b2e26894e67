import t from "tap";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { readAll } from "../../test/harness/read-all.ts";
import { runtimeSuite } from "../../test/suites/runtime/suite.ts";
import * as cri from "../api/gen/runtime.js";
import { openFake } from "../fake/open.ts";
import { Channel } from "../remote/channel.ts";
import { openRemote } from "../remote/open.ts";
import { dialStream } from "../stream/dial.ts";
import { serveRuntime } from "./serve.ts";
import { startStreaming } from "./streaming-server.ts";
import { Tokens } from "./tokens.ts";

type Test = { teardown(then: () => Promise<void>): void };

function folder(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-serve-"));
  t.teardown(async () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const busybox = "skiff.test/busybox:1";

runtimeSuite(t, {
  name: "the fake, served on a socket and opened by cri/remote",
  lacks: { kernel: "the fake has no kernel", checkpointContainer: "the fake has no memory to save" },
  async open(t) {
    const dir = folder(t);
    const fake = openFake({ images: [busybox, "skiff.test/removable:1"] });
    fake.canPull = (name) => name.startsWith("registry.test/");
    fake.programs.set("echo-server", (io) => io.run(["pause"]));
    fake.ports.set(8080, async (connection) => {
      const said = await readAll(connection);
      await new Promise<void>((resolve) => connection.end(said, resolve));
    });
    fake.addImage("skiff.test/named-user:1", { username: "app" });
    fake.addImage("skiff.test/numbered-user:1", { uid: { value: 1000n } });
    const listen = `unix://${dir}/cri.sock`;
    let served = await serveRuntime(fake, { listen });
    t.teardown(() => served.close());
    const runtime = openRemote({ socket: listen });
    return {
      runtime,
      dir,
      image: busybox,
      images: {
        namedUser: "skiff.test/named-user:1",
        numberedUser: "skiff.test/numbered-user:1",
        removable: "skiff.test/removable:1",
      },
      echoServer: { command: ["echo-server"], port: 8080 },
      pullable: "registry.test/busybox:2",
      async restart(meanwhile) {
        await served.close();
        await meanwhile?.();
        served = await serveRuntime(fake, { listen });
        await runtime.close();
        return openRemote({ socket: listen });
      },
    };
  },
});

t.test("serveRuntime() takes a dead server's socket, not a living one's, nor a file", async (t) => {
  const dir = folder(t);
  const socket = join(dir, "made/by/itself/cri.sock");
  const served = await serveRuntime(openFake(), { listen: socket });
  t.equal(statSync(socket).mode & 0o777, 0o600);
  await t.rejects(serveRuntime(openFake(), { listen: socket }), { code: "conflict" });
  await served.close();
  t.notOk(existsSync(socket));
  writeFileSync(socket, "not a socket");
  await t.rejects(serveRuntime(openFake(), { listen: socket }), { code: "conflict" });
});

t.test("a client that goes away stops what it asked for", async (t) => {
  const fake = openFake();
  const served = await serveRuntime(fake, { listen: join(folder(t), "cri.sock") });
  t.teardown(() => served.close());
  const remote = openRemote({ socket: served.socket });
  t.teardown(() => remote.close());
  const client = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    fake.before("version", async (_request, { signal }) => {
      const ended = new Promise((done) => signal.addEventListener("abort", done));
      client.abort();
      await ended;
      resolve();
    });
  });
  await t.rejects(remote.runtime.version(cri.VersionRequest.create(), client));
  await stopped;
});

t.test("long lists come in pieces over the Stream RPCs", async (t) => {
  const images = Array.from({ length: 450 }, (_, n) => `skiff.test/many:${n}`);
  const served = await serveRuntime(openFake({ images }), { listen: join(folder(t), "cri.sock") });
  t.teardown(() => served.close());
  const channel = new Channel(served.socket);
  t.teardown(async () => channel.close());
  const collect = async (name: "streamImages") => {
    const lengths: number[] = [];
    const method = cri.ImageServiceDefinition.methods[name];
    const message = cri.StreamImagesRequest.create();
    for await (const piece of channel.stream(cri.ImageServiceDefinition, method, { message }, uninterrupted)) {
      lengths.push((piece as cri.StreamImagesResponse).images.length);
    }
    return lengths;
  };
  t.same(await collect("streamImages"), [200, 200, 50]);
  const empty: unknown[] = [];
  const { streamPodSandboxes } = cri.RuntimeServiceDefinition.methods;
  const message = cri.StreamPodSandboxesRequest.create();
  for await (const piece of channel.stream(
    cri.RuntimeServiceDefinition,
    streamPodSandboxes,
    { message },
    uninterrupted,
  )) {
    empty.push(piece);
  }
  t.same(empty, [{ podSandboxes: [] }]);
});

t.test("startStreaming() gives URLs that work once, and soon", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ images: [busybox] });
  const config = { metadata: { name: "p", uid: "1" } };
  const { podSandboxId } = await fake.runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), uninterrupted);
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    config: { metadata: { name: "c" }, image: { image: busybox } },
  });
  const { containerId } = await fake.runtime.createContainer(create, uninterrupted);
  const streaming = await startStreaming(fake, { clock });
  t.teardown(() => streaming.close());
  const request = cri.ExecRequest.create({ containerId, cmd: ["true"], stdout: true });
  await t.rejects(streaming.exec(request, uninterrupted), { code: "conflict" }, "not running");
  await fake.runtime.startContainer({ containerId }, uninterrupted);
  await t.rejects(streaming.exec({ ...request, cmd: [] }, uninterrupted), { code: "invalid" });
  await t.rejects(streaming.exec({ ...request, tty: true, stderr: true }, uninterrupted), { code: "invalid" });
  await t.rejects(streaming.exec({ ...request, stdout: false }, uninterrupted), { code: "invalid" });
  const dial = async (url: string) => {
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
    return dialStream({ url }, { stdout }, uninterrupted);
  };
  const { url } = await streaming.exec(request, uninterrupted);
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/exec\/[\w-]{22}$/);
  t.same(await dial(url), { exitCode: 0 });
  await t.rejects(dial(url), { code: "not-found" }, "twice");
  const { url: late } = await streaming.exec(request, uninterrupted);
  await clock.advance(61_000);
  await t.rejects(dial(late), { code: "not-found" }, "too late");
  t.equal((await fetch(url)).status, 400, "without an upgrade");
});

t.test("Tokens keeps a thousand at most", async (t) => {
  const clock = new FakeClock();
  const tokens = new Tokens<number>(clock);
  for (let n = 0; n < 1000; n++) tokens.add(n);
  t.throws(() => tokens.add(1000), { code: "too-many" });
  await clock.advance(60_001);
  t.equal(tokens.take(tokens.add(7)), 7);
});
