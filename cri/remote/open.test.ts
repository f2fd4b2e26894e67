import t from "tap";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { startContainerd, withoutContainerd } from "../../test/harness/containerd.ts";
import { until } from "../../test/harness/until.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import * as cri from "../api/gen/runtime.js";
import { grpcService } from "../api/grpc-service.ts";
import { translate } from "./containerd-events.ts";
import { Envelope, TaskEvent } from "./gen/events.js";
import { openRemote } from "./open.ts";

type Answer = (error: { code: number; details: string } | null, message?: unknown) => void;

t.test("openRemote() says so when there is no socket", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-remote-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const missing = openRemote({ socket: `unix://${dir}/none.sock` });
  t.teardown(() => missing.close());
  await t.rejects(missing.runtime.version(cri.VersionRequest.create(), uninterrupted), {
    code: "unavailable",
    message: `Cannot reach the container runtime at unix://${dir}/none.sock: there is no such socket; is the runtime running?`,
  });
  writeFileSync(join(dir, "file.sock"), "");
  const notOne = openRemote({ socket: `${dir}/file.sock` });
  t.teardown(() => notOne.close());
  await t.rejects(notOne.runtime.version(cri.VersionRequest.create(), uninterrupted), { code: "unavailable" });
});

t.test("a stopped call fails at once", async (t) => {
  const remote = openRemote({ socket: "/nowhere.sock" });
  t.teardown(() => remote.close());
  await t.rejects(remote.runtime.version(cri.VersionRequest.create(), { signal: AbortSignal.abort() }), {
    code: "timeout",
  });
  for await (const _ of remote.runtime.getContainerEvents({}, { signal: AbortSignal.abort() })) t.fail("no event");
});

t.test("answers of CRI-O become those of the contract", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-remote-"));
  const socket = join(dir, "cri.sock");
  const server = new Server();
  let isPresent = false;
  server.addService(grpcService(cri.RuntimeServiceDefinition), {
    execSync: (_: unknown, answer: Answer) =>
      answer(null, cri.ExecSyncResponse.create({ exitCode: -1, stderr: Buffer.from("command timed out") })),
  });
  server.addService(grpcService(cri.ImageServiceDefinition), {
    removeImage: (_: unknown, answer: Answer) => answer({ code: 2, details: "identifier is not an image" }),
    imageStatus: (_: unknown, answer: Answer) =>
      answer(null, cri.ImageStatusResponse.create(isPresent ? { image: { id: "a" } } : {})),
  });
  await promisify(server.bindAsync.bind(server))(`unix:${socket}`, ServerCredentials.createInsecure());
  const remote = openRemote({ socket });
  t.teardown(async () => {
    await remote.close();
    server.forceShutdown();
    rmSync(dir, { recursive: true });
  });
  const exec = cri.ExecSyncRequest.create({ containerId: "a", cmd: ["sleep", "9"], timeout: 1 });
  await t.rejects(remote.runtime.execSync(exec, uninterrupted), {
    code: "timeout",
    message: "ExecSync: the command was ended after 1 s: command timed out",
  });
  const removal = cri.RemoveImageRequest.create({ image: { image: "a" } });
  t.same(await remote.image.removeImage(removal, uninterrupted), {}, "an image that is gone is removed");
  isPresent = true;
  await t.rejects(remote.image.removeImage(removal, uninterrupted), { message: /is not an image/ });
});

t.test("translate() tells a container's exit from that of an exec", async (t) => {
  const envelope = (topic: string, event: { containerId: string; id?: string }) =>
    Envelope.create({
      topic,
      timestamp: { seconds: 5n, nanos: 7 },
      event: { value: TaskEvent.encode(TaskEvent.create(event)).finish() },
    });
  t.match(translate(envelope("/tasks/exit", { containerId: "a", id: "a" })), {
    containerId: "a",
    containerEventType: cri.ContainerEventType.CONTAINER_STOPPED_EVENT,
    createdAt: 5_000_000_007n,
  });
  t.equal(translate(envelope("/tasks/exit", { containerId: "a", id: "exec1" })), undefined);
  t.equal(translate(envelope("/images/create", { containerId: "a" })), undefined);
});

t.test("containerd", { skip: withoutContainerd() }, async (t) => {
  const containerd = await startContainerd(t);
  const remote = openRemote({ socket: containerd.socket });
  t.teardown(() => remote.close());

  t.test("openRemote() finds a runtime again that was killed and restarted", async (t) => {
    const version = () => remote.runtime.version(cri.VersionRequest.create(), uninterrupted);
    t.match(await version(), { runtimeName: "containerd", runtimeApiVersion: "v1" });
    await containerd.kill();
    await t.rejects(
      until("the loss", async () => (await version()) && false, 1),
      { cause: { code: "unavailable" } },
    );
    await containerd.start();
    t.match(await until("the runtime", version), { runtimeName: "containerd" });
  });

  t.test("getContainerEvents() ends as unavailable when the runtime is lost", async (t) => {
    const events = remote.runtime.getContainerEvents({}, uninterrupted)[Symbol.asyncIterator]();
    const next = events.next();
    const sandbox = await remote.runtime.runPodSandbox(
      cri.RunPodSandboxRequest.create({
        config: { metadata: { name: "lost", uid: "lost", namespace: "remote" }, linux: {} },
      }),
      uninterrupted,
    );
    t.match(await next, { value: { containerId: sandbox.podSandboxId } });
    const lost = (async () => {
      while (!(await events.next()).done);
    })();
    const rejected = t.rejects(lost, { code: "unavailable" });
    await containerd.kill();
    await rejected;
    await containerd.start();
  });
});
