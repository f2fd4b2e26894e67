import t from "tap";
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { PassThrough, Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import { testPki } from "../../test/harness/certificates.ts";
import { readAll } from "../../test/harness/read-all.ts";
import { socketPair } from "../../test/harness/socket-pair.ts";
import { until } from "../../test/harness/until.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { serve, type Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import type { SessionStreams, TerminalSize } from "../api/sessions.ts";
import { serveStream } from "./accept.ts";
import { servePortForward } from "./accept-port-forward.ts";
import { dialPortForward } from "./dial-port-forward.ts";
import { dialStream } from "./dial.ts";
import { type AcceptOptions, wantedByQuery } from "./server-session.ts";

type Hold = Parameters<typeof serveStream>[2];
type Test = Pick<typeof t, "teardown">;

async function listen(t: Test, upgrade: (upgrade: Upgrade) => void): Promise<string> {
  const server = await serve({
    handler: () => new Response("only upgrades", { status: 400 }),
    upgrade,
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

function listenFor(t: Test, hold: Hold, options: AcceptOptions = {}): Promise<string> {
  return listen(t, (upgrade) => {
    const { searchParams } = new URL(upgrade.request.url ?? "/", "http://x");
    void serveStream(upgrade, wantedByQuery(searchParams), hold, options);
  });
}

function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({ write: (chunk: Buffer, _, done) => (chunks.push(chunk), done()) });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

const write = (stream: Writable | undefined, text: string) =>
  new Promise<void>((resolve) => (stream ? stream.write(text, () => resolve()) : resolve()));

for (const over of ["spdy", "websocket"] as const) {
  t.test(`${over}: output, errors, input's end and the exit code come through`, async (t) => {
    const url = await listenFor(t, async ({ stdin, stdout, stderr }) => {
      const said = stdin ? await readAll(stdin) : "";
      await write(stdout, `you said ${said}`);
      await write(stderr, "and I object");
      return { exitCode: 7 };
    });
    const out = collector();
    const err = collector();
    const streams = { stdin: Readable.from([Buffer.from("hello")]), stdout: out.stream, stderr: err.stream };
    const result = await dialStream({ url: `${url}/?stdin=1&stdout=1&stderr=1`, over }, streams, uninterrupted);
    t.same(result, { exitCode: 7 });
    t.equal(out.text(), "you said hello");
    t.equal(err.text(), "and I object");
    t.notOk(out.stream.writableEnded, "the caller's streams stay open");
    t.equal(out.stream.listenerCount("error") + out.stream.listenerCount("close"), 0, "and as they were");
  });

  t.test(`${over}: terminals are resized and have no stderr`, async (t) => {
    const url = await listenFor(t, async ({ stdout, stderr, resizes }) => {
      t.equal(stderr, undefined);
      for await (const { width, height } of resizes ?? []) {
        await write(stdout, `${width}x${height};`);
        if (width === 120) break;
      }
    });
    const out = collector();
    async function* sizes(): AsyncGenerator<TerminalSize> {
      yield { width: 80, height: 24 };
      await until("the first size", () => out.text().includes("80x24"));
      yield { width: 120, height: 40 };
    }
    const query = "tty=true&stdout=true&stderr=true";
    const result = await dialStream(
      { url: `${url}/?${query}`, over },
      { stdout: out.stream, resizes: sizes() },
      uninterrupted,
    );
    t.same(result, { exitCode: 0 });
    t.equal(out.text(), "80x24;120x40;");
  });

  t.test(`${over}: a Fault of the server is the client's Fault`, async (t) => {
    const url = await listenFor(t, async () => {
      throw new Fault("not-found", 'container "x" does not exist');
    });
    await t.rejects(dialStream({ url: `${url}/?stdout=1`, over }, { stdout: collector().stream }, uninterrupted), {
      code: "not-found",
      message: 'container "x" does not exist',
    });
  });

  t.test(`${over}: a refusal and a missing server are told`, async (t) => {
    const url = await listen(t, ({ socket }) => socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nlost"));
    const streams = { stdout: collector().stream };
    await t.rejects(dialStream({ url, over }, streams, uninterrupted), { code: "not-found", message: /lost/ });
    await t.rejects(dialStream({ url: "http://127.0.0.1:1", over }, streams, uninterrupted), { code: "unavailable" });
    await t.rejects(dialStream({ url, over }, streams, { signal: AbortSignal.abort() }), { code: "timeout" });
  });

  t.test(`${over}: the session is stopped when the client vanishes, and the other way round`, async (t) => {
    let held: AbortSignal | undefined;
    const url = await listenFor(t, async (_streams, { signal }) => {
      held = signal;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const stop = new AbortController();
    const session = dialStream({ url: `${url}/?stdout=1`, over }, { stdout: collector().stream }, stop);
    const rejected = t.rejects(session, { code: "timeout" });
    const signal = await until("the session", () => held);
    stop.abort();
    await rejected;
    await until("the server to notice", () => signal.aborted);
    t.match(signal.reason, { code: "unavailable" });

    const dying = await listen(t, (upgrade) => {
      void serveStream(upgrade, wantedByQuery(new URLSearchParams("stdout=1")), async ({ stdout }) => {
        await write(stdout, "half a");
        upgrade.socket.destroy();
        return { exitCode: 0 };
      });
    });
    await t.rejects(dialStream({ url: dying, over }, { stdout: collector().stream }, uninterrupted), {
      code: "unavailable",
    });
  });

  t.test(`${over}: a client that vanishes is missed also while nobody takes what it sent`, async (t) => {
    let held: AbortSignal | undefined;
    const clock = new FakeClock();
    const hold: Hold = async (_streams, { signal }) => {
      held = signal;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    };
    const url = await listenFor(t, hold, { clock });
    const stop = new AbortController();
    let sent = 0;
    const stdin = new Readable({ read: () => void stdin.push(Buffer.alloc(64 * 1024, ++sent)) });
    const streams = { stdin, stdout: collector().stream };
    const session = dialStream({ url: `${url}/?stdin=1&stdout=1`, over }, streams, stop);
    const rejected = t.rejects(session, { code: "timeout" });
    const signal = await until("the session", () => held);
    let before = -1;
    await until("the client to be held up", async () => {
      const isHeldUp = before === sent;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return isHeldUp && before === sent;
    });
    stop.abort();
    await rejected;
    await until("the server to notice", async () => {
      await clock.advance(10_000);
      return signal.aborted;
    });
    t.match(signal.reason, { code: "unavailable" });
  });

  t.test(`${over}: 100 MB pass without loss, in and out, with little kept`, async (t) => {
    const megabyte = Buffer.alloc(1024 * 1024, "the quick brown fox jumps over the lazy dog. ");
    const hash = createHash("sha256");
    for (let n = 0; n < 100; n++) hash.update(megabyte);
    const expected = hash.digest("hex");
    let most = 0;
    const url = await listenFor(t, async ({ stdin, stdout }) => {
      if (!stdin || !stdout) throw new Fault("invalid", "both are needed");
      for await (const chunk of stdin) {
        most = Math.max(most, stdin.readableLength + stdout.writableLength);
        if (!stdout.write(chunk)) await new Promise((resolve) => stdout.once("drain", resolve));
      }
    });
    const seen = createHash("sha256");
    let length = 0;
    const stdout = new Writable({
      write(chunk: Buffer, _, done) {
        seen.update(chunk);
        length += chunk.length;
        setImmediate(done);
      },
    });
    const stdin = Readable.from(
      (function* () {
        for (let n = 0; n < 100; n++) yield megabyte;
      })(),
      { objectMode: false },
    );
    t.same(await dialStream({ url: `${url}/?stdin=1&stdout=1`, over }, { stdin, stdout }, uninterrupted), {
      exitCode: 0,
    });
    t.equal(length, 100 * megabyte.length);
    t.equal(seen.digest("hex"), expected);
    t.ok(most < 8 * 1024 * 1024, `at most ${most} bytes were kept at the server`);
  });

  t.test(`${over}: an idle session is ended, a busy one is not`, async (t) => {
    const clock = new FakeClock();
    let reason: unknown;
    const url = await listenFor(
      t,
      async ({ stdin, stdout }, call) => {
        stdin?.on("data", (data: Buffer) => void write(stdout, data.toString()));
        await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
        reason = call.signal.reason;
      },
      { clock, idleTimeoutMs: 1000 },
    );
    const stdin = new PassThrough();
    const out = collector();
    const session = dialStream({ url: `${url}/?stdin=1&stdout=1`, over }, { stdin, stdout: out.stream }, uninterrupted);
    for (const word of ["one", "two", "three"]) {
      stdin.write(word);
      await until(`"${word}" back`, () => out.text().endsWith(word));
      await clock.advance(800);
    }
    t.equal(reason, undefined);
    await clock.advance(300);
    t.same(await session, { exitCode: 0 });
    t.match(reason, { code: "timeout" });
  });

  t.test(`${over}: port-forward carries connections both ways, and failures`, async (t) => {
    const url = await listen(
      t,
      (upgrade) =>
        void servePortForward(upgrade, async (port, connection) => {
          if (port === 81) throw new Fault("unavailable", "connection refused");
          const said = await readAll(connection);
          await new Promise<void>((resolve) => connection.end(`${port} heard ${said}`, resolve));
        }),
    );
    const forwarder = await dialPortForward({ url, over }, uninterrupted);
    t.teardown(() => forwarder.close());
    const one = async (port: number, text: string) => {
      const [local, remote] = await socketPair(t);
      const forwarded = forwarder.forward(port, remote, uninterrupted);
      const answer = readAll(local);
      local.end(text);
      return { answer, forwarded };
    };
    const several = await Promise.all([one(80, "a"), one(443, "b"), one(80, "c")]);
    t.same(await Promise.all(several.map(({ answer }) => answer)), ["80 heard a", "443 heard b", "80 heard c"]);
    await Promise.all(several.map(({ forwarded }) => forwarded));
    const refused = await one(81, "d");
    await t.rejects(refused.forwarded, { code: "unavailable", message: /port 81.*connection refused/ });
    t.equal(await refused.answer.catch(() => ""), "");
    forwarder.close();
    await forwarder.closed;
  });
}

t.test("sessions and forwards pass TLS with a client's certificate", async (t) => {
  const pki = testPki();
  const server = await serve({
    handler: () => new Response("only upgrades", { status: 400 }),
    upgrade(upgrade) {
      const name = upgrade.peer.certificate?.commonName;
      if (upgrade.request.url?.startsWith("/forward")) {
        return void servePortForward(upgrade, async (_port, connection) => {
          await new Promise<void>((resolve) => connection.end(`hello ${name}`, resolve));
        });
      }
      void serveStream(upgrade, wantedByQuery(new URLSearchParams("stdout=1")), async ({ stdout }) => {
        await write(stdout, `hello ${name}`);
        return { exitCode: 2 };
      });
    },
    listen: { host: "127.0.0.1", port: 0 },
    tls: { cert: pki.server.cert, key: pki.server.key, clientCa: pki.ca.cert },
  });
  t.teardown(() => server.close());
  const client = pki.client("apiserver");
  const tls = { ca: pki.ca.cert, cert: client.cert, key: client.key };
  const url = `https://127.0.0.1:${server.port}`;
  for (const over of ["spdy", "websocket"] as const) {
    const out = collector();
    t.same(await dialStream({ url, tls, over }, { stdout: out.stream }, uninterrupted), { exitCode: 2 }, over);
    t.equal(out.text(), "hello apiserver");
    const forwarder = await dialPortForward({ url: `${url}/forward`, tls, over }, uninterrupted);
    const [near, far] = await socketPair(t);
    const forwarded = forwarder.forward(80, far, uninterrupted);
    near.end();
    t.equal(await readAll(near), "hello apiserver");
    await forwarded;
    forwarder.close();
    await t.rejects(
      dialStream({ url, over }, { stdout: out.stream }, uninterrupted),
      { code: "unavailable" },
      "an unknown authority",
    );
  }
});

function hexOf(message: Buffer): string {
  return message.toString("latin1");
}

async function talk(t: Test, url: string, protocol: string[], say: (socket: WebSocket) => void) {
  const socket = new WebSocket(url.replace("http", "ws"), protocol);
  t.teardown(() => socket.terminate());
  const messages: string[] = [];
  socket.on("message", (message: Buffer) => messages.push(hexOf(message)));
  socket.once("open", () => say(socket));
  const code = await new Promise<number>((resolve) => socket.once("close", resolve));
  return { messages, code, protocol: socket.protocol };
}

const echo: Hold = async ({ stdin, stdout }: SessionStreams) => {
  const first = await new Promise<Buffer>((resolve) => stdin?.once("data", resolve));
  await write(stdout, `<${first}>`);
  return { exitCode: 3 };
};

t.test("WebSocket protocols differ in frames and in how they tell the end", async (t) => {
  const url = await listenFor(t, echo);
  const status = '"details":{"causes":[{"reason":"ExitCode","message":"3"}]}';
  const query = `${url}/?stdin=1&stdout=1`;
  for (const protocol of ["v5.channel.k8s.io", "v4.channel.k8s.io"]) {
    const heard = await talk(t, query, ["other", protocol], (socket) => socket.send(Buffer.from("\0ping")));
    t.match(heard, { code: 1000, protocol });
    t.same(heard.messages.slice(0, 2), ["\x01", "\x01<ping>"]);
    t.ok(heard.messages[2]?.startsWith("\x03{") && heard.messages[2].includes(status));
  }
  const base64 = await talk(t, query, ["v4.base64.channel.k8s.io"], (socket) =>
    socket.send(`0${Buffer.from("ping").toString("base64")}`),
  );
  t.same(base64.messages.slice(0, 2), ["1", `1${Buffer.from("<ping>").toString("base64")}`]);
  t.ok(
    Buffer.from(base64.messages[2]?.slice(1) ?? "", "base64")
      .toString()
      .includes(status),
  );
  const old = await talk(t, query, [], (socket) => socket.send(Buffer.from("\0ping")));
  t.same(old.messages, ["\x01", "\x01<ping>", "\x03command terminated with exit code 3"]);
});

t.test("WebSocket v5 ends stdin by its close message, without ending the session", async (t) => {
  const url = await listenFor(t, async ({ stdin, stdout }) => {
    await write(stdout, `[${stdin ? await readAll(stdin) : ""}]`);
  });
  const heard = await talk(t, `${url}/?stdin=1&stdout=1`, ["v5.channel.k8s.io"], (socket) => {
    socket.send(Buffer.from("\0all of it"));
    socket.send(Buffer.from([255, 0]));
  });
  t.equal(heard.messages[1], "\x01[all of it]");
});

t.test("unknown protocols are refused with 403, unknown upgrades with 400", async (t) => {
  const url = await listenFor(t, echo);
  const answer = async (lines: string[]) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.write(["GET /?stdout=1 HTTP/1.1", "host: x", "connection: Upgrade", ...lines, "", ""].join("\r\n"));
    return readAll(socket);
  };
  t.match(
    await answer(["upgrade: SPDY/3.1", "x-stream-protocol-version: v9.channel.k8s.io"]),
    /^HTTP\/1.1 403 .*v4.channel.k8s.io/s,
  );
  const key = ["sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version: 13"];
  t.match(await answer(["upgrade: websocket", ...key, "sec-websocket-protocol: v9.channel.k8s.io"]), /^HTTP\/1.1 403 /);
  t.match(await answer(["upgrade: carrier-pigeon"]), /^HTTP\/1.1 400 /);
});

t.test("a SPDY client that opens no streams is let go", async (t) => {
  const clock = new FakeClock();
  const url = await listenFor(t, echo, { clock, openTimeoutMs: 1000 });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.write("POST /?stdout=1 HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n");
  const read = readAll(socket);
  await until("the server to wait", () => clock.pending > 1);
  await clock.advance(1001);
  t.match(await read, /^HTTP\/1.1 101 .*x-stream-protocol-version: channel.k8s.io/s);
});

t.test("older WebSocket port-forward names its ports and pairs channels", async (t) => {
  const url = await listen(
    t,
    (upgrade) =>
      void servePortForward(
        upgrade,
        async (port, connection) => {
          if (port === 81) throw new Fault("unavailable", "connection refused");
          const first = await new Promise<Buffer>((resolve) => connection.once("data", resolve));
          await new Promise<void>((resolve) => connection.end(`heard ${first}`, resolve));
        },
        { ports: [80, 81] },
      ),
  );
  const heard = await talk(t, url, ["v4.channel.k8s.io"], (socket) => socket.send(Buffer.from("\0hi")));
  t.same(heard.messages.filter((message) => message.length === 3).sort(), ["\0P\0", "\x01P\0", "\x02Q\0", "\x03Q\0"]);
  t.ok(heard.messages.includes("\0heard hi"));
  t.ok(heard.messages.some((message) => message.startsWith("\x03") && message.includes("connection refused")));
  t.equal(heard.code, 1000);
});
