// Exec and attach over SPDY/3.1, the client's side: towards runtimes and kubelets. Unlike WebSocket v4, which is all
// that containerd 1.6 knows besides, it can tell that stdin has ended.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { SessionStreams } from "../api/sessions.ts";
import { connectUpgrade, type StreamTarget } from "./connect-upgrade.ts";
import { outcomeOf } from "./outcome.ts";
import { spdyProtocols } from "./protocols.ts";
import { collectText, pumpInput, pumpOutput, pumpSizes } from "./pumps.ts";
import { SpdySession } from "./spdy/session.ts";

export async function dialOverSpdy(
  target: StreamTarget,
  streams: SessionStreams,
  call: Call,
): Promise<{ exitCode: number }> {
  const { session } = await connectSpdy(
    target,
    spdyProtocols.map(({ name }) => name),
    call,
  );
  const onAbort = () => session.destroy();
  call.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const over = new AbortController();
    void session.closed.then(() => over.abort());
    const outcome = await hold(session, streams, over.signal);
    if (outcome) return outcome;
    throw (await session.closed) ?? new Fault("unavailable", "the connection was lost before the session's end");
  } catch (error) {
    throw call.signal.aborted ? toFault(call.signal.reason, "the session was stopped") : error;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    session.end();
    session.destroy();
  }
}

/** Undefined when the connection ended without an outcome. */
async function hold(
  session: SpdySession,
  { stdin, stdout, stderr, resizes }: SessionStreams,
  over: AbortSignal,
): Promise<{ exitCode: number } | undefined> {
  const open = (streamType: string) => session.open({ streamtype: streamType });
  // In the order of their ids: the error stream first, as servers expect.
  const [error, input, output, errors, sizes] = await Promise.all([
    open("error"),
    stdin && open("stdin"),
    stdout && open("stdout"),
    stderr && open("stderr"),
    resizes && open("resize"),
  ]);
  if (resizes && sizes) void pumpSizes(resizes, (text) => sizes.write(text), over);
  const stopInput = stdin && input ? pumpInput(stdin, input) : () => {};
  // Nothing is written on these; a server may wait for their half to end.
  for (const stream of [error, output, errors]) stream?.end();
  try {
    const [text] = await Promise.all([
      collectText(error),
      stdout && output && pumpOutput(output, stdout),
      stderr && errors && pumpOutput(errors, stderr),
    ]);
    if (text === "" && session.isOver) return undefined;
    const outcome = outcomeOf(text);
    if (outcome instanceof Fault) throw outcome;
    return outcome;
  } finally {
    stopInput();
  }
}

/** A SPDY connection on an upgraded one. */
export async function connectSpdy(
  target: StreamTarget,
  protocols: readonly string[],
  call: Call,
): Promise<{ session: SpdySession; protocol: string }> {
  const headers = { upgrade: "SPDY/3.1", "x-stream-protocol-version": protocols };
  const { socket, headers: answered } = await connectUpgrade(target, headers, call);
  const session = new SpdySession(socket, { role: "client" });
  return { session, protocol: String(answered["x-stream-protocol-version"] ?? protocols.at(-1)) };
}
