// Answers an upgrade with a plain HTTP error and lets the connection go.

import { STATUS_CODES } from "node:http";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";

export function refuse(
  upgrade: Pick<Upgrade, "socket">,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = `${message}\n`;
  const all = {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  upgrade.socket.on("error", () => {});
  upgrade.socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
