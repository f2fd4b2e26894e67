import t from "tap";
import { WebSocket } from "ws";
import { startApi } from "../../../test/harness/api-server.ts";
import { until } from "../../../test/harness/until.ts";
import { serve } from "../../../plugins/kit/os/platform/http-server.ts";
import type { NodeConnector } from "./connector.ts";

t.test("a log over a WebSocket", async (t) => {
  const connector = {
    fetch: async ({ path }: { path: string }) =>
      path.includes("/c") ? new Response("container is alive\n") : new Response("no such container", { status: 404 }),
  } as unknown as NodeConnector;
  const api = await startApi({ connector });
  const server = await serve({
    handler: api.server.handler,
    upgrade: (upgrade) => api.server.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(async () => {
    await server.close();
    await api.close();
  });
  await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  await api.ask("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "pi" } });
  await api.ask("POST", "/api/v1/namespaces/n/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { nodeName: "pi", containers: [{ name: "c", image: "i" }] },
  });
  const read = (protocols: string[], query = "container=c", pod = "p") =>
    new Promise<{ protocol: string; text: string; code: number }>((resolve, reject) => {
      const socket = new WebSocket(
        `ws://127.0.0.1:${server.port}/api/v1/namespaces/n/pods/${pod}/log?${query}`,
        protocols,
      );
      let text = "";
      socket.on(
        "message",
        (message: Buffer, isBinary: boolean) => (text += `${isBinary ? "bytes" : "text"} ${message}`),
      );
      socket.on("close", (code) => resolve({ protocol: socket.protocol, text, code }));
      socket.on("error", reject);
    });
  const waiting = { metadata: { name: "waiting" }, spec: { containers: [{ name: "c", image: "i" }] } };
  await api.ask("POST", "/api/v1/namespaces/n/pods", waiting);
  t.same(await read([], "", "waiting"), { protocol: "", text: "", code: 1000 }, "a pod without a node has no log");
  t.match(await api.ask("GET", "/api/v1/namespaces/n/pods/waiting/log"), { status: 200, text: "" });
  const whole = "bytes container is alive\n";
  t.same(await read(["binary.k8s.io"]), { protocol: "binary.k8s.io", text: whole, code: 1000 });
  t.same(await read([]), { protocol: "", text: whole, code: 1000 });
  const encoded = Buffer.from("container is alive\n").toString("base64");
  t.match(await read(["other", "base64.binary.k8s.io"]), { protocol: "base64.binary.k8s.io", text: `text ${encoded}` });
  await t.rejects(read(["other"]), /403/);
  await t.rejects(read(["binary.k8s.io"], "container=none"), /40[04]/);
  await t.rejects(read([], "", "%ff"), /400/, "a path that cannot be read");
  const counted = (await api.ask("GET", "/metrics")).text
    .split("\n")
    .filter((line) => /^apiserver_request_total\{.*verb="CONNECT".*subresource="log"/.test(line));
  t.equal(counted.filter((line) => /code="101"\} \d+$/.test(line)).length, 1, "connections are counted");
  t.ok(
    counted.some((line) => /code="40[04]"\} 1$/.test(line)),
    "and refusals",
  );
  const other = await api.ask("GET", "/api/v1/namespaces/n/pods/waiting/log?container=none");
  t.match(other.body, { code: 400, message: "container none is not valid for pod waiting" });
});

t.test("a watch over a WebSocket", async (t) => {
  const api = await startApi();
  const server = await serve({
    handler: api.server.handler,
    upgrade: (upgrade) => api.server.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(async () => {
    await server.close();
    await api.close();
  });
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  const events: string[] = [];
  const open = (path: string, protocols: string[] = []) => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, protocols);
    const closed = new Promise<number>((resolve, reject) => socket.on("close", resolve).on("error", reject));
    return { socket, closed };
  };
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from("t").toString("base64url")}`;
  const { socket, closed } = open("/api/v1/namespaces/n/configmaps?watch=true", [token, "of.the.client"]);
  socket.on("message", (message: Buffer, isBinary: boolean) => {
    const { type, object } = JSON.parse(String(message));
    events.push(`${isBinary ? "bytes" : "text"} ${type} ${object.metadata.name}`);
  });
  await new Promise((resolve) => socket.once("open", resolve));
  t.equal(socket.protocol, "of.the.client");
  await api.ask("POST", "/api/v1/namespaces/n/configmaps", { metadata: { name: "a" } });
  await api.ask("DELETE", "/api/v1/namespaces/n/configmaps/a");
  await until("both events", () => events.length === 2);
  t.same(events, ["text ADDED a", "text DELETED a"]);
  socket.close();
  await closed;
  t.equal(await open("/api/v1/watch/namespaces?timeoutSeconds=1").closed, 1000, "it ends in its time");
  await t.rejects(open("/api/v1/namespaces/n/configmaps?watch=true&resourceVersion=x").closed, /400/);
  await t.rejects(open("/api/v1/nopes?watch=true").closed, /404/);
  await t.rejects(open("/api/v1/configmaps").closed, /200/, "a list is answered as a list");
  await t.rejects(open("/api/v1/nodes/w/status").closed, /404/);
  await t.rejects(open("/api/v1/proxy/nodes/w").closed, /404/);
  await t.rejects(open("/api/v1/configmaps?watch=true", ["a", "b"]).closed, /400/);
});
