import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import { acceptOverWebSocket } from "../../../cri/stream/accept-web-socket.ts";
import { webSocketProtocols } from "../../../cri/stream/protocols.ts";
import { timingOf } from "../../../cri/stream/server-session.ts";
import { channelMessage, parseChannelMessage } from "../../../cri/stream/web-socket.ts";
import { check, refusal, type Target } from "../target.ts";

/** A frame of a client with the mask 0, which leaves the payload as it is. */
function frame(opcode: number, payload: Uint8Array | string, length?: number): Buffer {
  const bytes = Buffer.from(payload as Uint8Array);
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | (length ?? bytes.length), 0, 0, 0, 0]), bytes]);
}

const wanted = { stdin: true, stdout: true, stderr: true, tty: true };

export const webSocket: Target = {
  name: "WebSocket channels",
  corpus: [
    // The first byte chooses the protocol.
    Buffer.concat([
      Buffer.from([0]),
      frame(2, "\0hello"),
      frame(2, '\x04{"Width":80,"Height":24}'),
      frame(2, Buffer.from([255, 0])),
      frame(8, "\x03\xe8"),
    ]),
    Buffer.concat([
      Buffer.from([3]),
      frame(1, "0aGVsbG8="),
      frame(1, `4${Buffer.from('{"Width":1}').toString("base64")}`),
      frame(9, "p"),
    ]),
    Buffer.concat([Buffer.from([6]), frame(2, ""), frame(0, "x"), frame(10, "")]),
    Buffer.concat([Buffer.from([2]), frame(2, "", 127), Buffer.alloc(8, 0xff)]),
  ],
  words: ["\x82\x80\0\0\0\0", "\x81\xfe", "\x82\xff", "\x88\x80", "\x89\x80", '{"Width":', "\0", "\x04", "\xff\0"],
  shortRuns: 200,
  async run(input) {
    const protocol = webSocketProtocols[(input[0] ?? 0) % webSocketProtocols.length];
    if (!protocol) return "none";
    const message = parseChannelMessage(input, protocol);
    if (message && message.number < 10) {
      const written = Buffer.from(channelMessage(message.number, message.data, protocol));
      const again = parseChannelMessage(written, protocol);
      check(again?.number === message.number && again.data.equals(message.data), "a message is read otherwise");
    }
    let written = 0;
    const socket = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        written += chunk.length;
        done();
      },
    });
    const closed = once(socket, "close");
    const request = new IncomingMessage(new Socket());
    request.method = "GET";
    Object.assign(request.headers, {
      upgrade: "websocket",
      connection: "Upgrade",
      "sec-websocket-version": "13",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      "sec-websocket-protocol": protocol.name,
    });
    let outcome = "ok";
    try {
      const upgrade = { request, socket, head: Buffer.alloc(0), peer: { address: "" } };
      const session = await acceptOverWebSocket(upgrade, wanted, timingOf({ idleTimeoutMs: 0 }));
      session.streams.stdin?.on("error", () => {}).resume();
      socket.push(input.subarray(1));
      socket.push(null);
      await session.finish({ exitCode: 0 });
      socket.destroy();
    } catch (error) {
      outcome = refusal(error);
      socket.destroy();
    }
    await closed;
    check(written < 8192 + 8 * input.length, `${input.length} bytes are answered with ${written}`);
    return `${protocol.name} ${message?.number} ${outcome}`;
  },
};
