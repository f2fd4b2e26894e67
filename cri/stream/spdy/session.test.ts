import t from "tap";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { constants, createDeflate } from "node:zlib";
import fc from "fast-check";
import { readAll } from "../../../test/harness/read-all.ts";
import { socketPair } from "../../../test/harness/socket-pair.ts";
import { until } from "../../../test/harness/until.ts";
import { headerDictionary } from "./dictionary.ts";
import { controlFrame, dataHead, type Frame, FrameReader, frameType, numbers } from "./frames.ts";
import { HeaderReader, HeaderWriter } from "./header-block.ts";
import { SpdySession } from "./session.ts";
import type { SpdyStream } from "./stream.ts";

type Test = Pick<typeof t, "teardown">;

async function sessions(t: Test, onStream: (stream: SpdyStream) => void) {
  const [near, far] = await socketPair(t);
  const client = new SpdySession(near, { role: "client" });
  const server = new SpdySession(far, { role: "server", onStream });
  return { client, server, near, far };
}

t.test("the dictionary is SPDY/3's", async (t) => {
  t.equal(headerDictionary.length, 1423);
});

t.test("HeaderWriter and HeaderReader carry blocks over one zlib stream", async (t) => {
  const writer = new HeaderWriter();
  const reader = new HeaderReader();
  t.teardown(() => reader.close());
  for (const headers of [{ streamtype: "error", port: "80" }, {}, { streamtype: "données", requestid: "1" }]) {
    t.same({ ...(await reader.decode(writer.encode(headers))) }, headers);
  }
});

t.test("HeaderReader reads what a compressing peer writes", async (t) => {
  const deflate = createDeflate({ dictionary: headerDictionary });
  const chunks: Buffer[] = [];
  deflate.on("data", (chunk: Buffer) => chunks.push(chunk));
  const reader = new HeaderReader();
  t.teardown(() => reader.close());
  for (const value of ["stdin", "stdout", "stdin"]) {
    const text = (word: string) => Buffer.concat([numbers(word.length), Buffer.from(word)]);
    deflate.write(Buffer.concat([numbers(1), text("streamtype"), text(value)]));
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    await until("the sync marker", () =>
      Buffer.concat(chunks)
        .subarray(-4)
        .equals(Buffer.from([0, 0, 255, 255])),
    );
    t.equal((await reader.decode(Buffer.concat(chunks.splice(0)))).streamtype, value);
  }
});

t.test("HeaderReader refuses bombs and rubbish", async (t) => {
  const reader = new HeaderReader();
  await t.rejects(reader.decode(Buffer.from("rubbish")), { code: "invalid" });
  const bomb = new HeaderReader();
  const deflate = createDeflate({ dictionary: headerDictionary });
  deflate.end(Buffer.concat([numbers(1), numbers(1_000_000), Buffer.alloc(1_000_000)]));
  await t.rejects(bomb.decode(await buffer(deflate)), { code: "invalid", message: /too long/ });
  const short = new HeaderReader();
  const block = new HeaderWriter().encode({ a: "b" });
  await t.rejects(short.decode(block.subarray(0, -8)), { code: "invalid" });
});

t.test("FrameReader finds the same frames however the bytes are cut", async (t) => {
  const bytes = Buffer.concat([
    controlFrame(frameType.ping, 0, numbers(7)),
    dataHead(3, 0, 5),
    Buffer.from("hello"),
    dataHead(3, 1, 0),
    controlFrame(frameType.goAway, 0, numbers(0, 0)),
  ]);
  const join = (frames: Frame[]) => {
    const data = frames.filter((frame) => frame.kind === "data");
    const rest = frames.filter((frame) => frame.kind === "control");
    return [rest, Buffer.concat(data.map((frame) => frame.data)).toString(), data.at(-1)?.fin];
  };
  const whole = join([...new FrameReader().read(bytes)]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
      const reader = new FrameReader();
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const frames = edges.slice(1).flatMap((edge, n) => [...reader.read(bytes.subarray(edges[n], edge))]);
      t.same(join(frames), whole);
    }),
    { numRuns: 50 },
  );
  t.throws(
    () =>
      [...new FrameReader().read(Buffer.from("HTTP/1.1 400 Bad Request"))].length && [
        ...new FrameReader().read(Buffer.from([0x80, 2, 0, 1, 0, 0, 0, 0])),
      ],
    {
      code: "invalid",
    },
  );
  t.throws(() => [...new FrameReader().read(Buffer.from([0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]))], { code: "invalid" });
});

t.test("streams carry data both ways, half-close and keep their headers", async (t) => {
  const { client, server } = await sessions(t, (stream) => {
    t.same({ ...stream.headers }, { streamtype: "data", port: "8080" });
    void readAll(stream).then((said) => stream.end(`you said ${said}`));
  });
  const stream = await client.open({ streamType: "data", port: "8080" });
  stream.end("hello");
  t.equal(await readAll(stream), "you said hello");
  await client.ping();
  await server.ping();
  client.end();
  t.equal(await server.closed, undefined);
  t.equal(await client.closed, undefined);
  await t.rejects(client.open({}), { code: "unavailable" });
});

t.test("20 MB pass through each of several streams at once, unharmed", async (t) => {
  const { client } = await sessions(t, (stream) => void stream.pipe(stream));
  const megabyte = Buffer.alloc(1024 * 1024, "0123456789abcdef ");
  const digest = (chunks: AsyncIterable<Buffer> | Buffer[]) => {
    const hash = createHash("sha256");
    return (async () => {
      for await (const chunk of chunks) hash.update(chunk);
      return hash.digest("hex");
    })();
  };
  const expected = await digest(Array.from({ length: 20 }, () => megabyte));
  const one = async () => {
    const stream = await client.open({});
    void pipeline(Readable.from(Array.from({ length: 20 }, () => megabyte)), stream).catch(() => {});
    return digest(stream);
  };
  t.same(await Promise.all([one(), one(), one()]), [expected, expected, expected]);
});

t.test("a reader that stops holds its own stream only, and its sender", async (t) => {
  const accepted: SpdyStream[] = [];
  const { client } = await sessions(t, (stream) => accepted.push(stream));
  const slow = await client.open({ name: "slow" });
  const quick = await client.open({ name: "quick" });
  let written = 0;
  const source = new Readable({
    read() {
      written += 16_384;
      this.push(Buffer.alloc(16_384));
    },
  });
  source.pipe(slow);
  quick.end("passes by");
  t.equal(await readAll(accepted[1] as SpdyStream), "passes by");
  await until("the sender to stall", async () => {
    const before = written;
    await client.ping();
    return before === written;
  });
  t.ok(written < 4 * 1024 * 1024, `only ${written} bytes were taken`);
  source.destroy();
});

t.test("a peer without flow control is held by its transport, and loses nothing", async (t) => {
  const [near, far] = await socketPair(t);
  let stream: SpdyStream | undefined;
  new SpdySession(far, { role: "server", onStream: (opened) => (stream = opened) });
  near.resume();
  near.write(controlFrame(frameType.synStream, 0, numbers(1, 0), Buffer.alloc(2), new HeaderWriter().encode({})));
  const size = 8 * 1024 * 1024;
  near.write(dataHead(1, 1, size));
  let written = 0;
  const sent = pipeline(
    Readable.from(
      (function* () {
        for (; written < size; written += 65_536) yield Buffer.alloc(65_536, "x");
      })(),
    ),
    new Writable({ write: (chunk, _, done) => void near.write(chunk, () => done()) }),
  );
  const opened = await until("the stream", () => stream);
  let length = 0;
  let most = 0;
  for await (const chunk of opened) {
    length += (chunk as Buffer).length;
    most = Math.max(most, opened.readableLength);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await sent;
  t.equal(length, size);
  t.ok(most <= 256 * 1024, `little is kept: ${most} bytes`);
});

t.test("a peer that pings and does not read is cut off", async (t) => {
  const [near, far] = await socketPair(t);
  const server = new SpdySession(far, { role: "server" });
  near.on("error", () => {}).pause();
  let isOver = false;
  void server.closed.then(() => (isOver = true));
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => controlFrame(frameType.ping, 0, numbers(1))));
  // Far more than the kernel takes between the two.
  for (let n = 0; n < 3000 && !isOver; n++)
    if (!near.write(pings)) await Promise.race([once(near, "drain"), server.closed]);
  await until("the session to be over", () => isOver);
  t.ok(isOver);
});

t.test("destroy() resets the stream at the peer, and only that", async (t) => {
  const accepted: SpdyStream[] = [];
  const { client } = await sessions(t, (stream) => accepted.push(stream));
  const first = await client.open({});
  const second = await client.open({});
  first.destroy();
  await until("both streams", () => accepted.length === 2);
  t.equal(await readAll(accepted[0] as SpdyStream), "", "ends");
  second.end("still here");
  t.equal(await readAll(accepted[1] as SpdyStream), "still here");
});

t.test("streams end when the peer vanishes", async (t) => {
  const accepted: SpdyStream[] = [];
  const { client, near } = await sessions(t, (stream) => accepted.push(stream));
  const stream = await client.open({});
  stream.write("before");
  await until("the stream", () => accepted.length === 1);
  const remote = accepted[0] as SpdyStream;
  const read = readAll(remote);
  await client.ping();
  near.destroy();
  t.equal(await read, "before");
  remote.write("into the void");
  remote.end();
  await once(remote, "close");
});

t.test("a session without a handler refuses streams, and streams with another's number", async (t) => {
  const [near, far] = await socketPair(t);
  const client = new SpdySession(near, { role: "client" });
  new SpdySession(far, { role: "server" });
  await t.rejects(client.open({}), { code: "unavailable", message: /refused/ });
});
