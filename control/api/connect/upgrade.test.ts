import t from "tap";
import { WebSocket } from "ws";
import { startApi } from "../../../test/harness/api-server.ts";
import { serve } from "../../../plugins/kit/platform/http-server.ts";
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
});
