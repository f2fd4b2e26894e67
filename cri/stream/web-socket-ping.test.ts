import net from "node:net";
import t from "tap";
import { until } from "../../test/harness/until.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";
import { acceptWebSocket } from "./web-socket.ts";

const head = (port: number) =>
  `GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${Buffer.alloc(16).toString("base64")}\r\n\r\n`;
/** A masked ping of 125 zeros. */
const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125)]);

async function start(t: { teardown(end: () => unknown): void }) {
  let isClosed = false;
  const server = await serve({
    handler: () => new Response(""),
    upgrade: (upgrade) =>
      void acceptWebSocket(upgrade, "", (socket) => socket.on("error", () => {}).on("close", () => (isClosed = true))),
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(() => server.close());
  const socket = net.connect(server.port, "127.0.0.1").on("error", () => {});
  socket.write(head(server.port));
  t.teardown(() => socket.destroy());
  return { socket, isClosed: () => isClosed };
}

t.test("acceptWebSocket() answers pings", async (t) => {
  const { socket } = await start(t);
  let received = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
  await until("the upgrade", () => received.includes("\r\n\r\n"));
  socket.write(ping);
  await until("the pong", () => received.includes(Buffer.from([0x8a, 125])));
  t.pass();
});

t.test("acceptWebSocket() cuts off a client that pings and does not read", async (t) => {
  const { socket, isClosed } = await start(t);
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => ping));
  for (let n = 0; n < 2000 && !isClosed() && !socket.destroyed; n++)
    if (!socket.write(pings))
      await new Promise<void>((resolve) => {
        for (const event of ["drain", "close"]) socket.once(event, () => resolve());
      });
  await until("the connection to be closed", isClosed);
  t.pass();
});
