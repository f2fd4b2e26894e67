// runtimes: node
// Floods on one HTTP/2 connection, written frame by frame: each is ended or refused, and others are answered.

import { connect } from "node:tls";
import t from "tap";
import { testPki } from "../../../../test/harness/certificates.ts";
import { until } from "../../../../test/harness/until.ts";
import { httpFetch } from "./http-client.ts";
import { serve } from "./http-server.ts";

const pki = testPki();
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const type = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 };
const maxConcurrentStreamsSetting = 3;
const refusedStream = 7;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `GET https://a/` in HPACK. */
const request = Buffer.from([0x82, 0x87, 0x84, 0x41, 1, 0x61]);
const field = Buffer.from([0x00, 1, 0x61, 1, 0x62]);
const open = (n: number, fields = request, flags = 5) => frame(type.headers, flags, 2 * n + 1, fields);

interface Received {
  readonly type: number;
  readonly payload: Buffer;
}

function framesIn(bytes: Buffer): Received[] {
  const frames: Received[] = [];
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({ type: bytes[at + 3] ?? 0, payload: bytes.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}

async function setUp(t: { teardown(end: () => unknown): void }) {
  let running = 0;
  let most = 0;
  let handled = 0;
  const gate = Promise.withResolvers<void>();
  const server = await serve({
    handler: async ({ url }) => {
      if (url.endsWith("/other")) return new Response("fine");
      handled++;
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      return new Response("");
    },
    listen: { host: "127.0.0.1", port: 0 },
    tls: { cert: pki.server.cert, key: pki.server.key },
    maxConcurrentStreams: 100,
  });
  t.teardown(async () => {
    gate.resolve();
    await server.close();
  });
  const flood = (make: (n: number) => Buffer, count: number, { reads = true } = {}) => {
    const options = { port: server.port, host: "127.0.0.1", ca: pki.ca.cert, ALPNProtocols: ["h2"] };
    const socket = connect(options);
    const state = { isEnded: false, received: Buffer.alloc(0) };
    for (const event of ["error", "end", "close"]) socket.on(event, () => (state.isEnded = true));
    if (reads) socket.on("data", (chunk: Buffer) => (state.received = Buffer.concat([state.received, chunk])));
    else socket.pause();
    t.teardown(() => socket.destroy());
    const send = async () => {
      socket.write(Buffer.concat([preface, frame(type.settings, 0, 0, Buffer.alloc(0))]));
      for (let n = 0; n < count && !state.isEnded; n += 100) {
        const batch = Buffer.concat(Array.from({ length: Math.min(100, count - n) }, (_, k) => make(n + k)));
        if (socket.write(batch)) continue;
        await new Promise<void>((resolve) => {
          for (const event of ["drain", "close"]) socket.once(event, () => resolve());
        });
      }
    };
    socket.once("secureConnect", () => void send());
    return state;
  };
  const isAlive = async () => {
    const fetch = httpFetch({ ca: pki.ca.cert });
    try {
      return await (await fetch(new Request(`https://127.0.0.1:${server.port}/other`))).text();
    } finally {
      fetch.close();
    }
  };
  return { flood, isAlive, handled: () => handled, most: () => most };
}

t.test("streams beyond the announced number are refused", async (t) => {
  const { flood, isAlive, most } = await setUp(t);
  const state = flood((n) => open(n), 150);
  await until(
    "50 to be refused",
    () => framesIn(state.received).filter((one) => one.type === type.reset).length === 50,
  );
  const frames = framesIn(state.received);
  t.ok(frames.every((one) => one.type !== type.reset || one.payload.readUInt32BE() === refusedStream));
  const settings =
    frames.find((one) => one.type === type.settings && one.payload.length > 0)?.payload ?? Buffer.alloc(0);
  const announced = new Map<number, number>();
  for (let at = 0; at < settings.length; at += 6)
    announced.set(settings.readUInt16BE(at), settings.readUInt32BE(at + 2));
  t.equal(announced.get(maxConcurrentStreamsSetting), 100);
  t.equal(most(), 100);
  t.equal(await isAlive(), "fine");
});

t.test("streams that are opened and reset at once end the connection", async (t) => {
  const { flood, isAlive, handled } = await setUp(t);
  const reset = (n: number) => frame(type.reset, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8]));
  const count = 50_000;
  const state = flood((n) => Buffer.concat([open(n), reset(n)]), count);
  await until("the connection to end", () => state.isEnded);
  t.ok(framesIn(state.received).some((one) => one.type === type.goAway));
  t.equal(handled(), 0, "none of them was begun");
  t.equal(await isAlive(), "fine");
});

const floods: { name: string; make: (n: number) => Buffer; reads: boolean }[] = [
  {
    name: "CONTINUATION frames without end",
    make: (n) => (n === 0 ? open(0, request, 1) : frame(type.continuation, 0, 1, field)),
    reads: true,
  },
  {
    name: "empty DATA frames",
    make: (n) => (n === 0 ? open(0, request, 4) : frame(type.data, 0, 1, Buffer.alloc(0))),
    reads: true,
  },
  { name: "PRIORITY frames", make: (n) => frame(type.priority, 0, 2 * n + 1, Buffer.alloc(5)), reads: true },
  { name: "PING frames whose answers are not read", make: () => frame(type.ping, 0, 0, Buffer.alloc(8)), reads: false },
  {
    name: "SETTINGS frames whose answers are not read",
    make: () => frame(type.settings, 0, 0, Buffer.from([0, 4, 0, 0, 255, 255])),
    reads: false,
  },
];

for (const { name, make, reads } of floods) {
  t.test(`${name} end the connection`, async (t) => {
    const { flood, isAlive } = await setUp(t);
    const state = flood(make, 1_000_000, { reads });
    await until("the connection to end", () => state.isEnded);
    t.equal(await isAlive(), "fine");
  });
}

t.test("a request with more header fields than anyone sends is refused", async (t) => {
  const { flood, isAlive, handled } = await setUp(t);
  const fields = Buffer.concat([request, ...Array.from({ length: 3000 }, () => field)]);
  const state = flood((n) => open(n, fields), 1);
  await until("it to be refused", () => framesIn(state.received).some((one) => one.type === type.reset));
  t.equal(handled(), 0);
  t.equal(await isAlive(), "fine");
});
