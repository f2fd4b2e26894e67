// Joins a client's raw connection with one to a server further on, or passes on that server's refusal.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { joinStreams } from "../../../plugins/kit/base/join-streams.ts";
import type { HttpFetch, UpgradeRequest, UpgradeResult } from "../../../plugins/kit/os/platform/http-client.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";

/** Resolves when the two are joined; throws when the server cannot be reached. */
export async function joinUpgrade(
  client: HttpFetch,
  request: UpgradeRequest,
  upgrade: Upgrade,
  call: Call,
): Promise<void> {
  const result = await client.upgrade(request, call);
  if (result.upgraded) splice(upgrade, result);
  else await passRefusal(upgrade, result.response);
}

function splice({ socket, head }: Upgrade, far: Extract<UpgradeResult, { upgraded: true }>): void {
  const lines = Object.entries(far.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
  );
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("")}\r\n`);
  if (far.head.length > 0) socket.write(far.head);
  if (head.length > 0) far.socket.write(head);
  // Nobody waits for their end: whoever holds either side learns of it there.
  void joinStreams(socket, far.socket);
}

/** What the other side said instead of 101, as it is. */
async function passRefusal({ socket }: Upgrade, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const type = response.headers.get("content-type") ?? "text/plain; charset=utf-8";
  const head = `content-type: ${type}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n`;
  socket.write(`HTTP/1.1 ${response.status} ${response.statusText}\r\n${head}\r\n`);
  socket.end(body);
}
