// Writes a Response to the connection: whole where its bytes are at hand, otherwise only as fast as the client reads.
// A body that fails midway breaks the connection off, so that nobody takes half an answer for a whole one.

import type http from "node:http";
import type http2 from "node:http2";
import type { Socket } from "node:net";
import { BytesResponse } from "../bytes-response.ts";
import { SinkResponse } from "../sink-response.ts";

export type Outgoing = http.ServerResponse | http2.Http2ServerResponse;

/** Resolves when the answer is written or its client is gone; never rejects. */
export async function sendResponse(
  response: Response,
  outgoing: Outgoing,
  onError: (error: unknown) => void,
): Promise<void> {
  // A client that resets its stream is everyday life; the close event tells what there is to tell.
  outgoing.on("error", () => {});
  if (outgoing.destroyed) return void response.body?.cancel().catch(() => {});
  if (response instanceof BytesResponse) return sendParts(response, outgoing);
  const headers = headersOf(response);
  if (response instanceof SinkResponse) return sendPushed(response, headers, outgoing);
  if (response.body === null) {
    writeHead(outgoing, response.status, headers);
    outgoing.end();
    return;
  }
  const reader = response.body.getReader();
  try {
    await sendStream(reader, response.status, headers, outgoing);
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

function sendParts(response: BytesResponse, outgoing: Outgoing): void {
  writeHead(outgoing, response.status, response.headersToSend);
  const last = response.parts.length - 1;
  // The bytes are held by whoever made them, so that writing all at once costs no memory.
  if (last > 0) outgoing.cork?.();
  for (let i = 0; i < last; i++) (outgoing as http.ServerResponse).write(response.parts[i]);
  (outgoing as http.ServerResponse).end(response.parts[last]);
  if (last > 0) outgoing.uncork?.();
}

/** The maker of the body writes by itself, and is told when the client is gone. */
function sendPushed(response: SinkResponse, headers: HeadersRecord, outgoing: Outgoing): Promise<void> {
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
    end: () => {
      if (!outgoing.destroyed && !outgoing.writableEnded) outgoing.end();
    },
    get buffered() {
      return outgoing.writableLength;
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
  status: number,
  headers: HeadersRecord,
  outgoing: Outgoing,
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
      (outgoing as http.ServerResponse).end(bytes);
      return;
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
    if (!isGone) outgoing.end();
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

function drained(outgoing: Outgoing): Promise<void> {
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
