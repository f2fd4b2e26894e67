import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import t from "tap";
import { openProbe } from "../../test/harness/probe-plugins.ts";
import { probeSuite } from "../../test/suites/probe.ts";
import { type Call, uninterrupted } from "../kit/base/call.ts";
import type { ContainerExec } from "../kit/contracts/container-exec.ts";
import { Fault } from "../kit/base/fault.ts";
import type { Container } from "../kit/kube/objects/types.ts";
import { exec } from "./exec.ts";
import { grpc } from "./grpc.ts";
import { httpGet } from "./http-get.ts";
import { tcpSocket } from "./tcp-socket.ts";

const noCommands: ContainerExec = { exec: () => Promise.reject(new Fault("internal", "nobody runs commands here")) };
const container = (more: object = {}): Container => ({ name: "main", ...more });
const here = (more: object = {}) => ({ container: container(more), containerId: "c1", podIp: "127.0.0.1" });
const text = (said: string) => new TextEncoder().encode(said);

probeSuite(t, "exec", async () => {
  let state = "well";
  const containers: ContainerExec = {
    async exec(_, command, seconds, call) {
      if (state === "silent") await untilStopped(call, seconds);
      const stdout = text(state === "wordy" ? "x".repeat(100_000) : command.join(" "));
      return { exitCode: state === "well" ? 0 : 1, stdout, stderr: text("") };
    },
  };
  return {
    plugin: await openProbe(exec, containers),
    probe: { exec: { command: ["is", "$(NAME)", "well"] } },
    target: here({ env: [{ name: "NAME", value: "it" }] }),
    become: async (next) => void (state = next),
  };
});

/** As a runtime does: ends the command when its time is over. */
function untilStopped(call: Call, seconds: number): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", end);
      reject(new Fault("timeout", "its time was over"));
    };
    const timer = setTimeout(end, seconds * 1000);
    call.signal.addEventListener("abort", end);
  });
}

t.test("exec: variables of the container are filled in, and a runtime that fails is no verdict", async (t) => {
  const asked: (readonly string[])[] = [];
  const containers: ContainerExec = {
    async exec(id, command) {
      asked.push([id, ...command]);
      if (asked.length > 1) throw new Fault("unavailable", "the runtime is gone");
      return { exitCode: 0, stdout: text("fine"), stderr: text("") };
    },
  };
  const plugin = await openProbe(exec, containers);
  const request = {
    probe: { exec: { command: ["see", "$(A)", "$(B)"] } },
    target: here({ env: [{ name: "A", value: "1" }] }),
    timeoutMs: 1_000,
  };
  t.same(await plugin.ask(request, uninterrupted), { outcome: "success", output: "fine" });
  t.same(asked, [["c1", "see", "1", "$(B)"]]);
  await t.rejects(plugin.ask(request, uninterrupted), { code: "unavailable" });
});

async function webServer(t: { teardown(then: () => unknown): void }) {
  let state = "well";
  let rounds = 0;
  const server = createServer((request, response) => {
    if (state === "silent") return;
    if (state === "ill") response.writeHead(500).end("broken");
    else if (state === "wordy") response.writeHead(500).end("x".repeat(100_000));
    else if (request.url === "/here") response.writeHead(302, { location: "/ok" }).end();
    else if (request.url === "/round") response.writeHead(302, { location: "/round" }).end(String(rounds++));
    else if (request.url === "/same") response.writeHead(304).end();
    else if (request.url === "/half") response.writeHead(200, { "content-length": 100 }).write("half");
    else if (request.url === "/cut")
      response.writeHead(200, { "content-length": 100 }).write("half", () => response.destroy());
    else if (request.url === "/away") response.writeHead(302, { location: "http://example.invalid/" }).end();
    else response.end(`${request.headers["user-agent"]} ${request.headers["x-a"] ?? ""}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve(undefined)))));
  return {
    port: (server.address() as AddressInfo).port,
    rounds: () => rounds,
    become: async (next: string) => void (state = next),
  };
}

probeSuite(t, "httpGet", async (t) => {
  const { port, become } = await webServer(t);
  return { plugin: await openProbe(httpGet, noCommands), probe: { httpGet: { port } }, target: here(), become };
});

t.test("httpGet: headers, named ports, redirects and what went wrong in upstream's words", async (t) => {
  const { port, become, rounds } = await webServer(t);
  const plugin = await openProbe(httpGet, noCommands);
  const get = (action: object, target = here(), timeoutMs = 30_000) =>
    plugin.ask({ probe: { httpGet: { port, ...action } }, target, timeoutMs }, uninterrupted);
  t.match(await get({}), { outcome: "success", output: /^kube-probe\/1\.32/ });
  t.match(await get({ httpHeaders: [{ name: "X-A", value: "b" }] }), { output: /b$/ });
  t.match(await get({ path: "here" }), { outcome: "success", output: /^kube-probe/ });
  t.match(await get({ path: "/away" }), { outcome: "success", warning: /terminated redirects/ });
  t.match(await get({ path: "/round" }), { outcome: "failure", output: /stopped after 10 redirects/ });
  t.equal(rounds(), 10);
  t.match(await get({ path: "/same" }), { outcome: "success", warning: /terminated redirects/ });
  await t.rejects(get({ path: "/half" }, here(), 200), /deadline exceeded .* while reading body/, "no verdict");
  await t.rejects(get({ path: "/cut" }), /unexpected EOF/);
  const ports = [{ name: "web", containerPort: port }];
  t.match(await get({ port: "web" }, here({ ports })), { outcome: "success" });
  await t.rejects(get({ port: "no" }), /unknown port name: no/);
  await become("ill");
  t.match(await get({}), { outcome: "failure", output: "HTTP probe failed with statuscode: 500" });
  await become("silent");
  t.match(await get({}, here(), 200), { outcome: "failure", output: /context deadline exceeded/ });
});

probeSuite(t, "tcpSocket", async (t) => {
  let server: TcpServer | undefined;
  const sockets = new Set<Socket>();
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    server = undefined;
  };
  t.teardown(stop);
  const probe = { tcpSocket: { port: 1 } };
  return {
    plugin: await openProbe(tcpSocket, noCommands),
    probe,
    target: here(),
    never: ["silent", "wordy"],
    async become(state) {
      // What is ill is a port that somebody has just left.
      await stop();
      server = createTcpServer((socket) => void sockets.add(socket));
      await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
      probe.tcpSocket.port = (server.address() as AddressInfo).port;
      if (state === "ill") await stop();
    },
  };
});

t.test("tcpSocket: a refused connection in upstream's words", async (t) => {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const plugin = await openProbe(tcpSocket, noCommands);
  const asked = plugin.ask({ probe: { tcpSocket: { port } }, target: here(), timeoutMs: 30_000 }, uninterrupted);
  t.match(await asked, {
    outcome: "failure",
    output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
});

async function healthServer(t: { teardown(then: () => unknown): void }) {
  let state = "well";
  const server = new Server();
  const check = {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  };
  const answerTo = (_: unknown, answer: (error: null, bytes: Buffer) => void) => {
    if (state !== "silent") answer(null, Buffer.from([8, state === "well" ? 1 : 2]));
  };
  server.addService({ check }, { check: answerTo });
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  t.teardown(() => server.forceShutdown());
  return { port, become: async (next: string) => void (state = next) };
}

probeSuite(t, "grpc", async (t) => {
  const { port, become } = await healthServer(t);
  const plugin = await openProbe(grpc, noCommands);
  return { plugin, probe: { grpc: { port } }, target: here(), become, never: ["wordy"] };
});

t.test("grpc: what the service says of itself", async (t) => {
  const { port, become } = await healthServer(t);
  await become("ill");
  const plugin = await openProbe(grpc, noCommands);
  const asked = plugin.ask(
    { probe: { grpc: { port, service: "x" } }, target: here(), timeoutMs: 30_000 },
    uninterrupted,
  );
  t.match(await asked, { outcome: "failure", output: /NOT_SERVING/ });
});
