// The server's door: an upgraded connection becomes a session, by WebSocket or SPDY as the client likes.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import type { SessionStreams } from "../api/sessions.ts";
import { acceptOverSpdy } from "./accept-spdy.ts";
import { acceptOverWebSocket } from "./accept-web-socket.ts";
import { refuse } from "./refuse.ts";
import { type AcceptOptions, type ServerSession, timingOf, type Wanted } from "./server-session.ts";

/**
 * Accepts an exec or attach. Rejects with a Fault when the client was refused, which it has been told by then, or went
 * away before its streams were open.
 */
function acceptStream(upgrade: Upgrade, wanted: Wanted, options: AcceptOptions = {}): Promise<ServerSession> {
  const timing = timingOf(options);
  const to = upgradeOf(upgrade);
  if (to === "websocket") return acceptOverWebSocket(upgrade, wanted, timing);
  if (to === "spdy/3.1") return acceptOverSpdy(upgrade, wanted, timing);
  return Promise.reject(refuseUnknown(upgrade));
}

/** Accepts, holds the session until `hold` settles, and tells the client how it ended. Never rejects. */
export async function serveStream(
  upgrade: Upgrade,
  wanted: Wanted,
  hold: (streams: SessionStreams, call: Call) => Promise<{ exitCode: number } | void>,
  options: AcceptOptions = {},
): Promise<void> {
  let session: ServerSession;
  try {
    session = await acceptStream(upgrade, wanted, options);
  } catch {
    // The client was told, or is gone.
    return;
  }
  try {
    await session.finish((await hold(session.streams, session.call)) ?? { exitCode: 0 });
  } catch (error) {
    await session.finish(toFault(error, "session failed"));
  }
}

export function upgradeOf({ request }: Upgrade): string {
  return (request.headers.upgrade ?? "").toLowerCase();
}

export function refuseUnknown(upgrade: Upgrade): Fault {
  const message = `cannot upgrade to "${upgrade.request.headers.upgrade ?? ""}": websocket and SPDY/3.1 are known`;
  refuse(upgrade, 400, message);
  return new Fault("invalid", message);
}
