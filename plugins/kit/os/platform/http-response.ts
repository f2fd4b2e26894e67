// Writes a Response to the connection, only as fast as the client reads: a client that does not read costs what one write
// holds, and is disconnected after a while. A body that fails midway breaks the connection off, so that nobody takes half
// an answer for a whole one.

import type http from "node:http";
import type http2 from "node:http2";
import type { Socket } from "node:net";
import { BytesResponse } from "../../base/bytes-response.ts";
import { SinkResponse } from "../../base/sink-response.ts";
import { disconnectUnlessSent, type WriteLimits } from "./write-timeout.ts";

export type Outgoing = http.ServerResponse | http2.Http2ServerResponse;

/** Resolves when the answer is written or its client is gone; never rejects. */
export async function sendResponse(
  response: Response,
  outgoing: Outgoing,
  { onError, limits }: { onError: (error: unknown) => void; limits: WriteLimits },
): Promise<void> {
  // A client that resets its stream is everyday life; the close event tells what there is to tell.
  outgoing.on("error", () => {});
  if (response instanceof BytesResponse) {
    if (outgoing.destroyed) return response.sent?.();
    if (response.sent) outgoing.once("close", response.sent);
    return sendParts(response, outgoing, limits);
  }
  if (outgoing.destroyed) return void response.body?.cancel().catch(() => {});
  const headers = headersOf(response);
  const end = (bytes?: Uint8Array) => {
    if (outgoing.destroyed || outgoing.writableEnded) return;
    // How long these bodies take is their maker's to say; what is left when they have ended is not.
    disconnectUnlessSent(outgoing, outgoing.writableLength + (bytes?.length ?? 0), limits);
    (outgoing as http.ServerResponse).end(bytes);
  };
  if (response instanceof SinkResponse) return sendPushed(response, headers, outgoing, end);
  if (response.body === null) {
    writeHead(outgoing, response.status, headers);
    return end();
  }
  const reader = response.body.getReader();
  try {
    await sendStream(reader, { status: response.status, headers }, outgoing, end);
  } catch (error) {
    onError(error);
    breakOff(outgoing);
    // Its own failure is what brought us here, or it is of no use to anyone now.
    reader.cancel(error).catch(() => {});
  }
}

type HeadersRecord = Record<string, string | string[]>;

function headersOf(response: Response): HeadersRecord {
  const headers: HeadersRecord = Object.fromEntries(response.headers);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return headers;
}

function writeHead(outgoing: Outgoing, status: number, headers: HeadersRecord): void {
  (outgoing as http.ServerResponse).writeHead(status, headers);
}

/** What is handed to the connection at a time: of an answer that is not read, so much is copied into the connection's buffers. */
const writeBytes = 64 * 1024;

async function sendParts(response: BytesResponse, outgoing: Outgoing, limits: WriteLimits): Promise<void> {
  const headers = response.headersToSend;
  writeHead(outgoing, response.status, headers);
  const { parts } = response;
  const [only] = parts;
  const writer = outgoing as http.ServerResponse;
  disconnectUnlessSent(outgoing, Number(headers["content-length"]), limits);
  if (parts.length <= 1 && (only?.length ?? 0) <= writeBytes) return void writer.end(only);
  let left = parts.reduce((sum, part) => sum + part.length, 0);
  for (const chunk of chunksOf(parts)) {
    left -= chunk.reduce((sum, piece) => sum + piece.length, 0);
    if (!writeTogether(writer, chunk, left === 0)) await drained(outgoing);
    if (outgoing.destroyed) return;
  }
  if (!writer.writableEnded) writer.end();
}

/** False when the connection takes no more for now. */
function writeTogether(writer: http.ServerResponse, pieces: readonly Uint8Array[], isLast: boolean): boolean {
  let hasRoom = true;
  writer.cork?.();
  for (const piece of pieces) hasRoom = writer.write(piece);
  // With the last bytes: on Deno an end that follows what was corked never finishes, and keeps the connection from the next request.
  if (isLast) writer.end();
  writer.uncork?.();
  return hasRoom || isLast;
}

/** The bytes in pieces of at most `writeBytes` in all; nothing is copied. */
function* chunksOf(parts: readonly Uint8Array[]): Generator<Uint8Array[]> {
  let pieces: Uint8Array[] = [];
  let room = writeBytes;
  for (const part of parts)
    for (let at = 0; at < part.length; ) {
      const piece = part.subarray(at, at + room);
      pieces.push(piece);
      at += piece.length;
      room -= piece.length;
      if (room > 0) continue;
      yield pieces;
      pieces = [];
      room = writeBytes;
    }
  if (pieces.length > 0) yield pieces;
}

/** The maker of the body writes by itself, and is told when the client is gone. */
function sendPushed(
  response: SinkResponse,
  headers: HeadersRecord,
  outgoing: Outgoing,
  end: () => void,
): Promise<void> {
  const closed = new Promise<void>((resolve) => outgoing.once("close", () => resolve()));
  writeHead(outgoing, response.status, headers);
  if ("flushHeaders" in outgoing) outgoing.flushHeaders();
  response.start({
    write: (chunk) => {
      if (outgoing.destroyed) return;
      const direct = framedSocket(outgoing);
      if (!direct) return void (outgoing as http.ServerResponse).write(chunk);
      holdBack(direct);
      direct.write(frameOf(chunk));
    },
    end,
    get buffered() {
      return outgoing.writableLength;
    },
    drained: async () => {
      const direct = framedSocket(outgoing);
      if (direct ? direct.writableNeedDrain : outgoing.writableLength > 0) await drained(direct ?? outgoing);
    },
    onClose: (then) => outgoing.once("close", then),
  });
  return closed;
}

const heldBack = new Set<Socket>();

/** Whatever is written to the connection before the present work is done goes out at once, in one piece: events come in groups. */
function holdBack(socket: Socket): void {
  if (heldBack.has(socket)) return;
  if (heldBack.size === 0) process.nextTick(letGo);
  heldBack.add(socket);
  socket.cork();
}

function letGo(): void {
  for (const socket of heldBack) socket.uncork();
  heldBack.clear();
}

/** The connection of a chunked HTTP/1.1 answer whose head is sent: frames may go straight to it. */
function framedSocket(outgoing: Outgoing): Socket | undefined {
  const { chunkedEncoding, socket, writableLength } = outgoing as http.ServerResponse;
  return chunkedEncoding && socket && writableLength === socket.writableLength ? socket : undefined;
}

let lastFrame: { chunk: Uint8Array; frame: Buffer } | undefined;

/** The chunk as it travels. All who are sent the same bytes are sent them one after the other, so the last one is kept. */
function frameOf(chunk: Uint8Array): Buffer {
  if (lastFrame?.chunk === chunk) return lastFrame.frame;
  const head = `${chunk.byteLength.toString(16)}\r\n`;
  const frame = Buffer.allocUnsafe(head.length + chunk.byteLength + 2);
  frame.write(head, 0, "latin1");
  frame.set(chunk, head.length);
  frame.write("\r\n", head.length + chunk.byteLength, "latin1");
  lastFrame = { chunk, frame };
  return frame;
}

async function sendStream(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { status, headers }: { status: number; headers: HeadersRecord },
  outgoing: Outgoing,
  end: (bytes?: Uint8Array) => void,
): Promise<void> {
  let isGone = false;
  const onClose = () => {
    isGone = true;
    // The source may have failed at the same moment; then it needs no telling.
    reader.cancel(new Error("the client is gone")).catch(() => {});
  };
  outgoing.on("close", onClose);
  try {
    const first = await atOnce(reader.read());
    // A short body that is all there gets its length, and one write.
    const second = first.value && !first.value.done ? await atOnce(reader.read()) : undefined;
    if (first.value && (first.value.done || second?.value?.done)) {
      const bytes = first.value.value;
      headers["content-length"] ??= String(bytes?.length ?? 0);
      writeHead(outgoing, status, headers);
      return end(bytes);
    }
    writeHead(outgoing, status, headers);
    if (!first.value && "flushHeaders" in outgoing) outgoing.flushHeaders();
    let next = await first.promise;
    let ahead = second?.promise;
    while (!next.done && !isGone) {
      if (!(outgoing as http.ServerResponse).write(next.value)) await drained(outgoing);
      next = await (ahead ?? reader.read());
      ahead = undefined;
    }
    if (!isGone) end();
  } finally {
    outgoing.off("close", onClose);
  }
}

/** The promise, and its value if it has one after a few turns of the microtask queue. */
async function atOnce<T>(promise: Promise<T>): Promise<{ promise: Promise<T>; value: T | undefined }> {
  const later = async () => {
    for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    return undefined;
  };
  return { promise, value: await Promise.race([promise, later()]) };
}

function drained(outgoing: Outgoing | Socket): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle);
      outgoing.off("close", settle);
      resolve();
    };
    outgoing.on("drain", settle);
    outgoing.on("close", settle);
  });
}

function breakOff(outgoing: Outgoing): void {
  if (!outgoing.headersSent) {
    (outgoing as http.ServerResponse).writeHead(500, { "content-length": "0" });
    outgoing.end();
    return;
  }
  const { stream } = outgoing as { stream?: http2.ServerHttp2Stream };
  // 2 is INTERNAL_ERROR of HTTP/2.
  if (stream) stream.close(2);
  else outgoing.destroy();
}
