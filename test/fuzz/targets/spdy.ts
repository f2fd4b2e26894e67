import { Duplex } from "node:stream";
import { controlFrame, dataHead, FrameReader, frameType, numbers } from "../../../cri/stream/spdy/frames.ts";
import { HeaderWriter } from "../../../cri/stream/spdy/header-block.ts";
import { SpdySession } from "../../../cri/stream/spdy/session.ts";
import { check, refusal, type Target } from "../target.ts";

const writer = () => new HeaderWriter();
const syn = (id: number, headers: Record<string, string>, by = writer()) =>
  controlFrame(frameType.synStream, 0, numbers(id, 0), Buffer.alloc(2), by.encode(headers));
const settings = controlFrame(frameType.settings, 0, numbers(1, 7, 65536));

function conversation(): Buffer {
  const by = writer();
  return Buffer.concat([
    settings,
    syn(1, { streamtype: "error" }, by),
    syn(3, { streamtype: "stdin" }, by),
    dataHead(3, 0, 5),
    Buffer.from("hello"),
    dataHead(3, 1, 0),
    controlFrame(frameType.windowUpdate, 0, numbers(3, 100)),
    controlFrame(frameType.ping, 0, numbers(1)),
    controlFrame(frameType.rstStream, 0, numbers(1, 5)),
    controlFrame(frameType.goAway, 0, numbers(3, 0)),
  ]);
}

const framesOf = (input: Buffer, piece: number): string => {
  const reader = new FrameReader();
  let data = 0;
  const control: string[] = [];
  try {
    for (let at = 0; at < input.length; at += piece)
      for (const frame of reader.read(input.subarray(at, at + piece)))
        if (frame.kind === "data") data += frame.data.length;
        else control.push(`${frame.type}/${frame.flags}/${frame.payload.length}`);
  } catch (error) {
    control.push(refusal(error));
  }
  return `${data} ${control.join()}`;
};

export const spdy: Target = {
  name: "SPDY",
  corpus: [
    conversation(),
    syn(1, { a: "b", __proto__: "c" }),
    Buffer.concat([
      syn(2, {}),
      syn(1, {}),
      controlFrame(frameType.headers, 0, numbers(1), writer().encode({ x: "y" })),
    ]),
    Buffer.concat([settings, controlFrame(frameType.settings, 0, numbers(1, 7, 0xffffffff)), dataHead(9, 0, 0xffffff)]),
    controlFrame(frameType.synReply, 1, numbers(1), writer().encode({})),
  ],
  words: [
    "\x80\x03\0\x01",
    "\x80\x03\0\x02",
    "\x80\x03\0\x04",
    "\x80\x03\0\x06",
    "\0\0\0\x03",
    "\0\0\xff\xff",
    "\x78\xbb",
  ],
  shortRuns: 300,
  async run(input) {
    check(
      framesOf(input, input.length + 1) === framesOf(input, 3),
      "other frames are read when the bytes come in pieces",
    );
    let written = 0;
    const transport = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        written += chunk.length;
        done();
      },
    });
    let opened = 0;
    const session = new SpdySession(transport, {
      role: "server",
      onStream(stream) {
        opened++;
        stream.resume();
        stream.end("answer");
      },
    });
    transport.push(input);
    transport.push(null);
    const fault = await session.closed;
    check(written < 4096 + 64 * input.length, `${input.length} bytes are answered with ${written}`);
    return `${Math.min(opened, 3)} ${fault ? refusal(fault) : "ok"}`;
  },
};
