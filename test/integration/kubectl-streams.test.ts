// kubectl itself against our streaming servers: exec, attach, cp and port-forward, over WebSocket and over SPDY.

import t from "tap";
import { execFile, execFileSync, spawn } from "node:child_process";
import { connect } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openFake } from "../../cri/fake/open.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import { serveStream } from "../../cri/stream/accept.ts";
import { servePortForward } from "../../cri/stream/accept-port-forward.ts";
import { wantedByQuery } from "../../cri/stream/server-session.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { serve, type Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import { readAll } from "../harness/read-all.ts";
import { until } from "../harness/until.ts";

function withoutKubectl(): string | false {
  try {
    execFileSync("kubectl", ["version", "--client"], { stdio: "ignore" });
    return false;
  } catch {
    return "needs kubectl";
  }
}

/** Just enough of an API server for kubectl to find one pod. */
const objects: Record<string, object> = {
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [{ name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get", "list"] }],
  },
  "/api/v1/namespaces/default/pods/web": {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name: "web", namespace: "default", uid: "1" },
    spec: { containers: [{ name: "main", image: "web:1", stdin: true, ports: [{ containerPort: 8080 }] }] },
    status: { phase: "Running", containerStatuses: [{ name: "main", ready: true, state: { running: {} } }] },
  },
};

async function startServer(t: { teardown(then: () => Promise<void>): void }) {
  const fake = openFake({ images: ["web:1"] });
  const received: number[] = [];
  fake.programs.set("tar", async (io) => {
    if (!io.args[0]?.includes("x")) return 1;
    let length = 0;
    for await (const chunk of io.stdin) length += (chunk as Buffer).length;
    received.push(length);
    return 0;
  });
  fake.ports.set(8080, async (connection) => {
    connection.pipe(connection);
    await new Promise((resolve) => connection.once("close", resolve));
  });
  const { podSandboxId } = await fake.runtime.runPodSandbox(
    cri.RunPodSandboxRequest.create({ config: { metadata: { name: "web", uid: "1" } } }),
    uninterrupted,
  );
  const config = {
    metadata: { name: "main" },
    image: { image: "web:1" },
    command: ["cat"],
    stdin: true,
    stdinOnce: true,
  };
  const create = cri.CreateContainerRequest.create({ podSandboxId, config });
  const { containerId } = await fake.runtime.createContainer(create, uninterrupted);
  await fake.runtime.startContainer({ containerId }, uninterrupted);
  const protocols: string[] = [];
  const upgrade = (upgrade: Upgrade) => {
    const { pathname, searchParams } = new URL(upgrade.request.url ?? "/", "http://x");
    protocols.push(upgrade.request.headers["sec-websocket-protocol"] ?? String(upgrade.request.headers.upgrade));
    if (pathname.endsWith("/portforward")) {
      return void servePortForward(upgrade, (port, connection, call) =>
        fake.sessions.portForward(podSandboxId, port, connection, call),
      );
    }
    const wanted = wantedByQuery(searchParams);
    const { tty } = wanted;
    void serveStream(upgrade, wanted, (streams, call) =>
      pathname.endsWith("/exec")
        ? fake.sessions.exec({ containerId, command: searchParams.getAll("command"), tty }, streams, call)
        : fake.sessions.attach({ containerId, tty }, streams, call),
    );
  };
  const server = await serve({
    handler(request) {
      const found = objects[new URL(request.url).pathname];
      return found ? Response.json(found) : Response.json({ kind: "Status", code: 404 }, { status: 404 });
    },
    upgrade,
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(() => server.close());
  const dir = mkdtempSync(join(tmpdir(), "skiff-kubectl-"));
  t.teardown(async () => rmSync(dir, { recursive: true, force: true }));
  return { url: `http://127.0.0.1:${server.port}`, dir, protocols, received };
}

t.test("kubectl", { skip: withoutKubectl(), timeout: 600_000 }, async (t) => {
  for (const over of ["websocket", "spdy"] as const) {
    t.test(over, async (t) => {
      const server = await startServer(t);
      const useWebSocket = String(over === "websocket");
      const env = {
        ...process.env,
        HOME: server.dir,
        KUBECTL_REMOTE_COMMAND_WEBSOCKETS: useWebSocket,
        KUBECTL_PORT_FORWARD_WEBSOCKETS: useWebSocket,
      };
      const args = (...rest: string[]) => ["--server", server.url, ...rest];
      const kubectl = (rest: string[], input = "") =>
        new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
          const child = execFile("kubectl", args(...rest), { env }, (error, stdout, stderr) =>
            resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
          );
          child.stdin?.end(input);
        });

      t.test("exec shows both outputs and exits with the command's code", async (t) => {
        const answer = await kubectl(["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 5"]);
        t.match(answer, { code: 5, stdout: "out\n", stderr: /^err\n/ });
      });

      t.test("exec -i ends the command's input", async (t) => {
        const text = "0123456789".repeat(100_000);
        const answer = await kubectl(["exec", "-i", "web", "--", "cat"], text);
        t.equal(answer.code, 0, answer.stderr);
        t.ok(answer.stdout === text, "a megabyte came back");
      });

      t.test("exec tells what cannot be", async (t) => {
        const answer = await kubectl(["exec", "web", "--", "no-such-program"]);
        t.match(answer, { code: 127, stderr: /no-such-program: not found/ });
      });

      t.test("cp sends a file", async (t) => {
        const file = join(server.dir, "file");
        writeFileSync(file, "x".repeat(300_000));
        const answer = await kubectl(["cp", file, "web:/tmp/file"]);
        t.equal(answer.code, 0, answer.stderr);
        t.ok((server.received.at(-1) ?? 0) > 300_000);
      });

      t.test("port-forward carries connections", async (t) => {
        const child = spawn("kubectl", args("port-forward", "pod/web", ":8080", "--address", "127.0.0.1"), { env });
        t.teardown(() => child.kill("SIGKILL"));
        let said = "";
        child.stdout.on("data", (data: Buffer) => (said += data.toString()));
        child.stderr.on("data", (data: Buffer) => (said += data.toString()));
        const port = await until("kubectl to listen", () => Number(/127\.0\.0\.1:(\d+) ->/.exec(said)?.[1]));
        const through = (text: string) => {
          const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
          const answer = readAll(socket);
          socket.end(text);
          return answer;
        };
        t.equal(await through("first"), "first");
        const much = "abcdefghij".repeat(200_000);
        const [one, other] = await Promise.all([through(much), through("at the same time")]);
        t.ok(one === much, "two megabytes came back");
        t.equal(other, "at the same time");
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await ended;
      });

      t.test("attach types into the container", async (t) => {
        const answer = await kubectl(["attach", "-i", "web"], "typed\n");
        t.match(answer, { code: 0, stdout: /typed\n$/ });
      });

      t.test("the wire was the one asked for", async (t) => {
        const seen = [...new Set(server.protocols)].sort();
        t.same(seen, over === "spdy" ? ["SPDY/3.1"] : ["SPDY/3.1+portforward.k8s.io", "v5.channel.k8s.io"]);
      });
    });
  }
});
