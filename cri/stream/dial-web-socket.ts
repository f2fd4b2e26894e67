// Exec and attach over WebSocket channels, the client's side: towards API servers and newer kubelets.

import { WebSocket } from "ws";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { SessionStreams } from "../api/sessions.ts";
import type { StreamTarget } from "./connect-upgrade.ts";
import { faultOfResponse, outcomeOf } from "./outcome.ts";
import { type CommandProtocol, channel, webSocketProtocols } from "./protocols.ts";
import { pumpInput, pumpOutput, pumpSizes } from "./pumps.ts";
import {
  channelMessage,
  channelWritable,
  closeWebSocket,
  parseChannelMessage,
  SocketReadable,
  webSocketOptions,
} from "./web-socket.ts";

const offered = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

export async function dialOverWebSocket(
  target: StreamTarget,
  streams: SessionStreams,
  call: Call,
): Promise<{ exitCode: number }> {
  const { socket, protocol: name } = await connectWebSocket(target, offered, call);
  const protocol = webSocketProtocols.find((known) => known.name === name);
  if (!protocol?.hasStatus) {
    socket.terminate();
    throw new Fault("unsupported", `the server speaks "${name}", not one of ${offered.join(", ")}`);
  }
  const onAbort = () => socket.terminate();
  call.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const text = await hold(socket, protocol, streams);
    if (text) {
      const outcome = outcomeOf(text);
      if (outcome instanceof Fault) throw outcome;
      return outcome;
    }
    throw call.signal.aborted
      ? toFault(call.signal.reason, "the session was stopped")
      : new Fault("unavailable", "the connection was lost before the session's end");
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    closeWebSocket(socket);
  }
}

/** The text of the error channel once the connection has ended and all output is written. */
async function hold(socket: WebSocket, protocol: CommandProtocol, streams: SessionStreams): Promise<string> {
  const { stdin, stdout, stderr, resizes } = streams;
  const output = new SocketReadable(socket);
  const errors = new SocketReadable(socket);
  const over = new AbortController();
  let text = "";
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      over.abort();
      output.finish();
      errors.finish();
      resolve();
    });
  });
  socket.on("error", () => {});
  socket.on("message", (message: Buffer) => {
    const parsed = parseChannelMessage(message, protocol);
    if (parsed?.number === channel.stdout && stdout) output.receive(parsed.data);
    if (parsed?.number === channel.stderr && stderr) errors.receive(parsed.data);
    if (parsed?.number !== channel.error || parsed.data.length === 0) return;
    text += parsed.data.toString();
    // The outcome is the last thing a server says; some wait for the client to hang up.
    closeWebSocket(socket);
  });
  const input = channelWritable(socket, channel.stdin, protocol);
  input.once("finish", () => {
    if (protocol.hasClose) socket.send(Buffer.from([channel.close, channel.stdin]), () => {});
  });
  const stopInput = stdin ? pumpInput(stdin, input) : () => {};
  if (resizes) {
    const send = (size: string) => socket.send(channelMessage(channel.resize, Buffer.from(size), protocol), () => {});
    void pumpSizes(resizes, send, over.signal);
  }
  // Parked before now, so that no message is lost between the handshake and the handlers.
  socket.resume();
  await Promise.all([closed, stdout && pumpOutput(output, stdout), stderr && pumpOutput(errors, stderr)]);
  stopInput();
  return text;
}

/**
 * The socket is paused: resume it when the handlers are in place. Protocol names are kept from the library, which
 * holds that of kubectl's port-forward, with its slash, to be invalid.
 */
export function connectWebSocket(
  { url, headers, tls }: StreamTarget,
  protocols: readonly string[],
  call: Call,
): Promise<{ socket: WebSocket; protocol: string }> {
  const target = new URL(url);
  const doing = `Cannot open a stream to ${target.protocol}//${target.host}`;
  target.protocol = target.protocol.replace("http", "ws");
  return new Promise((resolve, reject) => {
    if (call.signal.aborted) return reject(toFault(call.signal.reason, doing));
    let protocol = "";
    const plain = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)]);
    const socket = new WebSocket(target, [], {
      ...webSocketOptions,
      ...tls,
      headers: { ...Object.fromEntries(plain), "Sec-WebSocket-Protocol": protocols.join(", ") },
      finishRequest(request) {
        request.prependListener("upgrade", (response) => {
          protocol = response.headers["sec-websocket-protocol"] ?? "";
          delete response.headers["sec-websocket-protocol"];
        });
        request.end();
      },
    });
    const onAbort = () => socket.terminate();
    call.signal.addEventListener("abort", onAbort, { once: true });
    const fail = (fault: Fault) => {
      call.signal.removeEventListener("abort", onAbort);
      reject(fault);
    };
    socket.once("open", () => {
      call.signal.removeEventListener("abort", onAbort);
      socket.pause();
      resolve({ socket, protocol });
    });
    socket.once("unexpected-response", (_request, response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => (body += body.length < 65_536 ? chunk.toString() : ""));
      response.once("end", () => fail(faultOfResponse(response.statusCode ?? 500, body, doing)));
    });
    socket.on("error", (error) => {
      fail(call.signal.aborted ? toFault(call.signal.reason, doing) : toFault(error, doing, "unavailable"));
    });
  });
}
