// The client's door: holds an exec or attach with a server, over SPDY or WebSocket.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { SessionStreams } from "../api/sessions.ts";
import type { StreamTarget } from "./connect-upgrade.ts";
import { dialOverSpdy } from "./dial-spdy.ts";
import { dialOverWebSocket } from "./dial-web-socket.ts";

export interface DialOptions extends StreamTarget {
  /** SPDY unless told: every runtime and kubelet knows it, and it carries stdin's end. */
  readonly over?: "spdy" | "websocket";
}

/**
 * Opens the streams that are given, and resolves with the exit code when the session is over and all output has been
 * written. The streams stay the caller's: none is ended. Rejects with a Fault when the server refuses, fails, or is lost.
 */
export function dialStream(
  { over = "spdy", ...target }: DialOptions,
  streams: SessionStreams,
  call: Call,
): Promise<{ exitCode: number }> {
  return over === "spdy" ? dialOverSpdy(target, streams, call) : dialOverWebSocket(target, streams, call);
}
