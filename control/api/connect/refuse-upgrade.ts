// A refused upgrade: an ordinary HTTP answer on the socket, with the Status that says why.

import { STATUS_CODES } from "node:http";
import type { Upgrade } from "../../../plugins/kit/platform/http-server.ts";
import { type Answer, statusAnswer } from "../answer.ts";
import type { Status } from "../status.ts";

export function refuseUpgrade(upgrade: Upgrade, status: Status): void {
  refuseWith(upgrade, statusAnswer({ ...status, code: status.code ?? 500 }));
}

/** The same with an answer that was made already. */
export function refuseWith({ socket }: Upgrade, { status: code, headers, body }: Answer): void {
  const text = typeof body === "string" ? body : "";
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(text)), connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\n${head}\r\n${text}`);
}
