// Clients that ask and do not read: what is held for them is bounded, and so is the time.

import http2 from "node:http2";
import net from "node:net";
import { connect as connectTls } from "node:tls";
import t from "tap";
import { testPki } from "../../../../test/harness/certificates.ts";
import { until } from "../../../../test/harness/until.ts";
import { BytesResponse } from "../../base/bytes-response.ts";
import { SinkResponse } from "../../base/sink-response.ts";
import { type Handler, type RunningServer, type ServeOptions, serve } from "./http-server.ts";
import { runtime } from "./runtime.ts";

const pki = testPki();
const tls = { cert: pki.server.cert, key: pki.server.key };
const noHttp2 = runtime.name === "deno" ? "HTTP/2 is not offered on Deno" : false;
// Deno's TLS clients read on while paused.
const noPausedTls = runtime.name === "deno" ? "a TLS client of Deno cannot stop reading" : false;
const request = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

const writeLimits = { timeoutMs: 100, leastBytesPerSecond: Number.POSITIVE_INFINITY };

type Teardown = { teardown(end: () => unknown): void };

async function start(t: Teardown, handler: Handler, options: Partial<ServeOptions> = {}): Promise<RunningServer> {
  const server = await serve({ handler, listen: { host: "127.0.0.1", port: 0 }, ...options });
  t.teardown(() => server.close());
  return server;
}

/** Asks without ever reading. */
const askers: Record<string, { skip: string | false; isSecure: boolean; ask(t: Teardown, port: number): void }> = {
  "HTTP/1.1": {
    skip: false,
    isSecure: false,
    ask(t, port) {
      const socket = net.connect(port, "127.0.0.1", () => socket.write(request)).on("error", () => {});
      socket.pause();
      t.teardown(() => socket.destroy());
    },
  },
  "HTTP/1.1 and TLS": {
    skip: noPausedTls,
    isSecure: true,
    ask(t, port) {
      const options = { port, host: "127.0.0.1", ca: pki.ca.cert, ALPNProtocols: ["http/1.1"] };
      const socket = connectTls(options, () => socket.write(request)).on("error", () => {});
      socket.pause();
      t.teardown(() => socket.destroy());
    },
  },
  "HTTP/2": {
    skip: noHttp2,
    isSecure: true,
    ask(t, port) {
      const session = http2.connect(`https://127.0.0.1:${port}`, { ca: pki.ca.cert }).on("error", () => {});
      const stream = session.request({ ":path": "/" }).on("error", () => {});
      stream.pause();
      t.teardown(() => session.destroy());
    },
  },
};

/** Counts which of its parts were taken to be written. */
class Counted extends Array<Uint8Array> {
  taken = 0;
  override *[Symbol.iterator](): ArrayIterator<Uint8Array> {
    for (const part of super[Symbol.iterator]()) {
      this.taken += part.length;
      yield part;
    }
  }
}

const partBytes = 128 * 1024;
const answerBytes = 128 << 20;
/** What the kernel's buffers of a connection on the loopback device take, generously. */
const kernelBytes = 32 << 20;

for (const [name, { skip, isSecure, ask }] of Object.entries(askers)) {
  t.test(`an answer that is not read stays where it is, over ${name}`, { skip }, async (t) => {
    const part = new Uint8Array(partBytes);
    const answers: Counted[] = [];
    const handler: Handler = () => {
      const parts = new Counted();
      for (let length = 0; length < answerBytes; length += partBytes) parts.push(part);
      answers.push(parts);
      return new BytesResponse(parts);
    };
    const server = await start(t, handler, isSecure ? { tls } : {});
    for (let n = 0; n < 4; n++) ask(t, server.port);
    let last = -1;
    let still = 0;
    const sum = () => answers.reduce((bytes, { taken }) => bytes + taken, 0);
    await until("all to come to rest", () => {
      still = sum() === last && answers.length === 4 && answers.every(({ taken }) => taken > 0) ? still + 1 : 0;
      last = sum();
      return still > 10;
    });
    t.ok(sum() < 4 * kernelBytes, `${sum()} of ${4 * answerBytes} bytes were taken`);
  });

  t.test(`a client that does not read is disconnected, over ${name}`, { skip }, async (t) => {
    let isSent = false;
    const part = new Uint8Array(1 << 20);
    const parts = Array.from({ length: 32 }, () => part);
    const handler: Handler = () => new BytesResponse(parts, { sent: () => (isSent = true) });
    const server = await start(t, handler, { ...(isSecure ? { tls } : {}), writeLimits });
    ask(t, server.port);
    await until("the answer to be given up", () => isSent);
    t.pass();
  });
}

t.test("a watch that has ended is not held for a client that does not read", async (t) => {
  let isClosed = false;
  const handler: Handler = () =>
    new SinkResponse((sink) => {
      sink.onClose(() => (isClosed = true));
      for (let n = 0; n < 32; n++) sink.write(new Uint8Array(1 << 20));
      sink.end();
    });
  const server = await start(t, handler, { writeLimits });
  askers["HTTP/1.1"]?.ask(t, server.port);
  await until("the connection to be given up", () => isClosed);
  t.pass();
});

t.test("sent() is called when an answer was read, once", async (t) => {
  let calls = 0;
  const server = await start(t, () => new BytesResponse([new Uint8Array(1 << 20)], { sent: () => calls++ }));
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  t.equal((await response.arrayBuffer()).byteLength, 1 << 20);
  await until("the answer to be sent", () => calls > 0);
  t.equal(calls, 1);
});

t.test("drained() of a sink waits for its reader", async (t) => {
  let written = 0;
  const chunk = new Uint8Array(256 * 1024);
  const handler: Handler = () =>
    new SinkResponse((sink) => {
      let isOpen = true;
      sink.onClose(() => (isOpen = false));
      void (async () => {
        while (isOpen && written < answerBytes) {
          sink.write(chunk);
          written += chunk.length;
          if (sink.buffered > chunk.length) await sink.drained();
        }
        sink.end();
      })();
    });
  const server = await start(t, handler);
  const response = await fetch(`http://127.0.0.1:${server.port}/`);
  const reader = response.body?.getReader();
  await reader?.read();
  let last = -1;
  let still = 0;
  await until("the writer to rest", () => {
    still = written === last ? still + 1 : 0;
    last = written;
    return still > 10;
  });
  t.ok(written < kernelBytes, `${written} bytes were written`);
  let read = 0;
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) read += next.value.length;
  t.ok(read > answerBytes / 2, "and goes on when it reads");
});
