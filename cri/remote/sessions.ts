// Sessions of a runtime behind a socket: it hands out a URL for each, which is dialled here.

import { Writable } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import type {
  AttachRequest,
  AttachResponse,
  ExecRequest,
  ExecResponse,
  PortForwardRequest,
  PortForwardResponse,
} from "../api/gen/runtime.js";
import type { Sessions, SessionStreams, TerminalSize } from "../api/sessions.ts";
import { dialPortForward } from "../stream/dial-port-forward.ts";
import { dialStream } from "../stream/dial.ts";

/** The RPCs that the contract leaves to the wire. */
export interface UrlMethods {
  exec(request: ExecRequest, call: Call): Promise<ExecResponse>;
  attach(request: AttachRequest, call: Call): Promise<AttachResponse>;
  portForward(request: PortForwardRequest, call: Call): Promise<PortForwardResponse>;
}

// The URL came over the socket, from a runtime that runs as root on this machine: its certificate is its own making.
const tls = { rejectUnauthorized: false };

export function remoteSessions(methods: UrlMethods): Sessions {
  return {
    async exec({ containerId, command, tty }, streams, call) {
      const wanted = wantedOf(streams, tty);
      const { url } = await methods.exec({ containerId, cmd: [...command], tty, ...wanted }, call);
      return dialStream({ url, tls }, fitting(streams, wanted, tty), call);
    },
    async attach({ containerId, tty }, streams, call) {
      const wanted = wantedOf(streams, tty);
      const { url } = await methods.attach({ containerId, tty, ...wanted }, call);
      await dialStream({ url, tls }, fitting(streams, wanted, tty), call);
    },
    async portForward(podSandboxId, port, connection, call) {
      const { url } = await methods.portForward({ podSandboxId, port: [port] }, call);
      const forwarder = await dialPortForward({ url, tls }, call);
      try {
        await forwarder.forward(port, connection, call);
      } finally {
        forwarder.close();
      }
    },
  };
}

interface Wanted {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** CRI wants at least one stream, and no stderr beside a terminal. */
function wantedOf({ stdin, stdout, stderr }: SessionStreams, tty: boolean): Wanted {
  const wanted = { stdin: Boolean(stdin), stdout: Boolean(stdout), stderr: Boolean(stderr) && !tty };
  return wanted.stdin || wanted.stdout || wanted.stderr ? wanted : { ...wanted, stdout: true };
}

/** Exactly the streams that were asked for: the server waits for each of them. */
function fitting(streams: SessionStreams, { stdin, stdout, stderr }: Wanted, tty: boolean): SessionStreams {
  return {
    ...(stdin && streams.stdin ? { stdin: streams.stdin } : {}),
    ...(stdout ? { stdout: streams.stdout ?? discard() } : {}),
    ...(stderr && streams.stderr ? { stderr: streams.stderr } : {}),
    ...(tty ? { resizes: streams.resizes ?? noSizes } : {}),
  };
}

const discard = () => new Writable({ write: (_chunk, _encoding, done) => done() });

const noSizes: AsyncIterable<TerminalSize> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};
