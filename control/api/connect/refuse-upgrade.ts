// What is answered on a connection that asked to be upgraded and is not: an ordinary HTTP answer on the socket.

import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { destroyUnlessSent } from "../../../plugins/kit/os/platform/write-timeout.ts";
import { type Answer, statusAnswer } from "../../machinery/answer.ts";
import type { Status } from "../../machinery/status.ts";

export function refuseUpgrade(upgrade: Upgrade, status: Status): void {
  refuseWith(upgrade, statusAnswer({ ...status, code: status.code ?? 500 }));
}

/** The same with an answer that was made already. */
export function refuseWith(upgrade: Upgrade, answer: Answer): void {
  const text = typeof answer.body === "string" ? answer.body : "";
  upgrade.socket.end(`${headOf(answer, { "content-length": String(Buffer.byteLength(text)) })}${text}`);
}

/** Any answer; its body ends with the connection. What was reserved for it is given back then. */
export async function answerInstead({ socket }: Upgrade, answer: Answer): Promise<void> {
  const { body, sent } = answer;
  socket.once("close", () => sent?.());
  socket.write(headOf(answer, {}));
  if (typeof body === "function")
    return body({
      write: (chunk) => void socket.write(chunk),
      end: () => void socket.end(),
      get buffered() {
        return socket.writableLength;
      },
      drained: () => (socket.writableNeedDrain && !socket.destroyed ? drainedOrClosed(socket) : Promise.resolve()),
      onClose: (then) => void socket.once("close", then),
    });
  if (body instanceof ReadableStream) return pipeline(body, socket);
  const chunks = body === undefined ? [] : typeof body === "string" ? [Buffer.from(body)] : [body].flat();
  destroyUnlessSent(
    socket,
    chunks.reduce((sum, chunk) => sum + chunk.length, 0),
  );
  await pipeline(chunks, socket);
}

function drainedOrClosed(socket: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const settle = () => {
    for (const event of ["drain", "close"]) socket.off(event, settle);
    resolve();
  };
  for (const event of ["drain", "close"]) socket.on(event, settle);
  return promise;
}

function headOf({ status, headers }: Answer, more: Record<string, string>): string {
  const lines = Object.entries({ ...headers, ...more, connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${head}\r\n`;
}
