import t from "tap";
import { LogMessageReader } from "./log-messages.ts";

const stamp = (second: number) => `2026-11-16T04:21:${String(second).padStart(2, "0")}.925545932Z`;

function frame(stream: 1 | 2, text: string | Buffer): Buffer {
  const body = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

/** Cut at every place, because a stream may be. */
function inPieces(bytes: Buffer, isTerminal: boolean, size: number) {
  const reader = new LogMessageReader(isTerminal);
  const messages = [];
  for (let at = 0; at < bytes.length; at += size) messages.push(...reader.read(bytes.subarray(at, at + size)));
  return [...messages, ...reader.end()].map(({ time, stream, text, isPartial }) => ({
    time,
    stream,
    text: text.length > 100 ? text.length : text.toString(),
    isPartial,
  }));
}

t.test("LogMessageReader tells streams, stamps and lines apart, however the bytes are cut", async (t) => {
  const bytes = Buffer.concat([
    frame(1, `${stamp(1)} first\n`),
    frame(2, `${stamp(2)} second\n`),
    frame(1, `${stamp(3)} \n`),
  ]);
  for (const size of [1, 7, 8, 9, 1000]) {
    t.same(inPieces(bytes, false, size), [
      { time: stamp(1), stream: "stdout", text: "first", isPartial: false },
      { time: stamp(2), stream: "stderr", text: "second", isPartial: false },
      { time: stamp(3), stream: "stdout", text: "", isPartial: false },
    ]);
  }
});

t.test("LogMessageReader puts the pieces of a long line together, also without its newline", async (t) => {
  const piece = "x".repeat(16 * 1024);
  const bytes = Buffer.concat([
    frame(1, `${stamp(1)} ${piece}`),
    frame(2, `${stamp(1)} between\n`),
    frame(1, `${stamp(1)} ${piece}`),
    frame(1, `${stamp(1)} tail`),
    frame(1, `${stamp(2)} alone`),
  ]);
  t.same(
    inPieces(bytes, false, 1000).map(({ text, isPartial }) => [text, isPartial]),
    [
      [16384, true],
      ["between", false],
      [16384, true],
      ["tail", false],
      ["alone", true],
    ],
  );
});

t.test("LogMessageReader reads the bare log of a terminal", async (t) => {
  const piece = "y".repeat(16 * 1024);
  const text = `${stamp(1)} one\r\n${stamp(2)} ${piece}${stamp(2)} tail${stamp(3)} three\r\n${stamp(4)} $ `;
  for (const size of [1, 500, 100_000]) {
    t.same(
      inPieces(Buffer.from(text), true, size).map((message) => [message.text, message.isPartial]),
      [
        ["one\r", false],
        [16384, true],
        ["tail", false],
        ["three\r", false],
        ["$ ", true],
      ],
    );
  }
});
