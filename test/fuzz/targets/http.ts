// Bytes on a connection to our HTTP server, whose handler reads everything that a request has: each connection must end, and
// nothing may be reported as an internal error.

import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Duplex } from "node:stream";
import { type RunningServer, serve } from "../../../plugins/kit/os/platform/http-server.ts";
import { testPki } from "../../harness/certificates.ts";
import { check, type Target } from "../target.ts";

async function handler(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const headers = [...request.headers.keys()];
  let body = 0;
  try {
    body = (await request.arrayBuffer()).byteLength;
  } catch {
    // The client went away in the middle of its body.
  }
  return Response.json({ method: request.method, pathname, query: searchParams.size, headers: headers.length, body });
}

interface Connected {
  readonly server: RunningServer;
  readonly errors: unknown[];
}

async function serving(options: { tls?: { cert: string; key: string } }): Promise<Connected> {
  const errors: unknown[] = [];
  const server = await serve({
    ...options,
    handler,
    listen: { host: "127.0.0.1", port: 0 },
    upgrade: ({ socket }) => socket.end(),
    onError: (error) => errors.push(error),
  });
  return { server, errors };
}

/** How long the server of HTTP/2 has for its answer: it drops a connection whose client has ended. */
const answerMs = 20;

/** Sends everything, ends (after a while where the protocol wants that), and reads until the server has ended too. */
function exchange(socket: Duplex, input: Buffer, endsAfterMs = 0): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const answer: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error("the connection stays open although the client has ended"));
    }, 15_000);
    socket.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (answer.length < 64) answer.push(chunk);
    });
    // A server that has refused may close while we still send.
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(timer);
      if (size > 1024 * (input.length + 64)) reject(new Error(`${input.length} bytes are answered with ${size}`));
      else resolve(Buffer.concat(answer));
    });
    if (endsAfterMs === 0) socket.end(input);
    else socket.write(input, () => setTimeout(() => socket.end(), endsAfterMs));
  });
}

let plain: Connected;

export const http1: Target = {
  name: "HTTP/1",
  corpus: [
    "GET /api/v1/pods?watch=1&x=%zz HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: b\r\n\r\n",
    "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: x\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "GET http://a/../%2e%2e/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /x HTTP/1.1\r\nHost: a-.1\r\n\r\n",
    "GET // HTTP/1.1\r\nHost: a@b:99999\r\n\r\n",
  ],
  words: [
    "\r\n",
    "\r\n\r\n",
    " HTTP/1.1\r\n",
    "Host: a\r\n",
    "Content-Length: ",
    "Transfer-Encoding: chunked\r\n",
    "GET ",
    "POST ",
    "CONNECT ",
    "%2e%2e",
    "//",
    "?",
    "#",
    "\n",
    "\0",
    "Connection: Upgrade\r\nUpgrade: ",
    "Expect: 100-continue\r\n",
    "0\r\n\r\n",
    "Host: \r\n",
    "http://",
  ],
  shortRuns: 150,
  async open() {
    plain = await serving({});
  },
  async run(input) {
    const answer = await exchange(connect({ port: plain.server.port, host: "127.0.0.1" }), input);
    check(plain.errors.length === 0, `the server reports ${String(plain.errors[0])}`);
    const status = [...answer.toString("latin1").matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    check(!status.includes("500"), "the server answers 500");
    return status.slice(0, 4).join();
  },
  async close() {
    await plain.server.close();
  },
};

const h2 = (type: number, flags: number, stream: number, payload: Uint8Array | string = ""): Buffer => {
  const body = Buffer.from(payload as Uint8Array);
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
};
const literal = (name: string, value: string) =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);
/** :method GET, :scheme https, :path / by their indexes, and an authority. */
const get = Buffer.concat([Buffer.from([0x82, 0x87, 0x84, 0x41, 1]), Buffer.from("a")]);
const post = Buffer.concat([
  Buffer.from([0x83, 0x87, 0x84, 0x41, 1]),
  Buffer.from("a"),
  literal("content-length", "5"),
]);
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const begin = Buffer.concat([preface, h2(4, 0, 0)]);

let secure: Connected;

export const http2: Target = {
  name: "HTTP/2",
  corpus: [
    Buffer.concat([begin, h2(1, 5, 1, get)]),
    Buffer.concat([begin, h2(1, 4, 1, post), h2(0, 1, 1, "hello"), h2(8, 0, 0, "\0\0\x10\0"), h2(6, 0, 0, "12345678")]),
    Buffer.concat([begin, h2(1, 1, 1, get.subarray(0, 3)), h2(9, 4, 1, get.subarray(3)), h2(3, 0, 1, "\0\0\0\x08")]),
    Buffer.concat([begin, h2(1, 5, 1, get), h2(3, 0, 1, "\0\0\0\x08"), h2(1, 5, 3, get), h2(3, 0, 3, "\0\0\0\x08")]),
    Buffer.concat([
      begin,
      h2(4, 0, 0, "\0\x04\xff\xff\xff\xff"),
      h2(2, 0, 1, "\0\0\0\0\0"),
      h2(7, 0, 0, "\0\0\0\0\0\0\0\0"),
    ]),
    Buffer.concat([begin, h2(1, 5, 1, Buffer.concat([get, literal("x", "y".repeat(100)), literal("te", "trailers")]))]),
    Buffer.concat([preface, h2(1, 5, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7f]))]),
  ],
  words: [
    "\0\0\0\x04\x01\0\0\0\0",
    "\0\0\x04\x03\0\0\0\0\x01",
    "\0\0\x04\x08\0",
    "\0\0\x05\x01\x05\0\0\0\x03",
    "\x82\x87\x84",
    "\0\x01a\x01b",
    "\xff\xff\xff",
  ],
  shortRuns: 60,
  // On Deno our server offers HTTP/1.1 only.
  runtimes: ["node"],
  async open() {
    const { server } = testPki();
    secure = await serving({ tls: { cert: server.cert, key: server.key } });
  },
  async run(input) {
    const socket = connectTls({
      port: secure.server.port,
      host: "127.0.0.1",
      ALPNProtocols: ["h2"],
      rejectUnauthorized: false,
    });
    const answer = await exchange(socket, input, answerMs);
    check(secure.errors.length === 0, `the server reports ${String(secure.errors[0])}`);
    const types: number[] = [];
    for (let at = 0; at + 9 <= answer.length && types.length < 8; at += 9 + answer.readUIntBE(at, 3))
      types.push(answer.readUInt8(at + 3));
    return types.join();
  },
  async close() {
    await secure.server.close();
  },
};
