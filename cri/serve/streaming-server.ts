// The HTTP side of a served runtime: turns Exec, Attach and PortForward into URLs on loopback, and the connections that
// come to them into sessions.

import { type Clock, systemClock } from "../../plugins/kit/base/clock.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { serve, type Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import type { Runtime } from "../api/contract.ts";
import {
  type AttachRequest,
  type AttachResponse,
  ContainerState,
  type ExecRequest,
  type ExecResponse,
  type PortForwardRequest,
  type PortForwardResponse,
} from "../api/gen/runtime.js";
import { serveStream } from "../stream/accept.ts";
import { servePortForward } from "../stream/accept-port-forward.ts";
import { refuse } from "../stream/refuse.ts";
import type { Wanted } from "../stream/server-session.ts";
import { Tokens } from "./tokens.ts";

export interface StreamingOptions {
  readonly clock?: Clock;
  /** An address of loopback, since a URL's token is all that it asks for. */
  readonly host?: string;
  readonly idleTimeoutMs?: number;
}

type Hold = (upgrade: Upgrade) => Promise<void>;

export interface StreamingServer {
  exec(request: ExecRequest, call: Call): Promise<ExecResponse>;
  attach(request: AttachRequest, call: Call): Promise<AttachResponse>;
  portForward(request: PortForwardRequest, call: Call): Promise<PortForwardResponse>;
  close(): Promise<void>;
}

export async function startStreaming(runtime: Runtime, options: StreamingOptions = {}): Promise<StreamingServer> {
  const { clock = systemClock, host = "127.0.0.1" } = options;
  const tokens = new Tokens<Hold>(clock);
  const http = await serve({
    handler: () => new Response("a streaming URL is opened by an upgrade\n", { status: 400 }),
    upgrade(upgrade) {
      const [, , token = ""] = (upgrade.request.url ?? "").split(/[/?]/);
      const hold = tokens.take(token);
      if (hold) void hold(upgrade);
      else refuse(upgrade, 404, "no such session: its token is unknown, used or too old");
    },
    listen: { host, port: 0 },
  });
  const urlOf = (what: string, hold: Hold) => `http://${host}:${http.port}/${what}/${tokens.add(hold)}`;
  return {
    async exec(request, call) {
      const { containerId, cmd: command, tty } = request;
      const wanted = wantedOf(request);
      if (command.length === 0) throw new Fault("invalid", `Cannot exec in container "${containerId}": no command`);
      await mustRun(runtime, containerId, call);
      const url = urlOf("exec", (upgrade) =>
        serveStream(
          upgrade,
          wanted,
          (streams, session) => runtime.sessions.exec({ containerId, command, tty }, streams, session),
          options,
        ),
      );
      return { url };
    },
    async attach(request, call) {
      const { containerId, tty } = request;
      const wanted = wantedOf(request);
      await mustRun(runtime, containerId, call);
      const url = urlOf("attach", (upgrade) =>
        serveStream(
          upgrade,
          wanted,
          (streams, session) => runtime.sessions.attach({ containerId, tty }, streams, session),
          options,
        ),
      );
      return { url };
    },
    async portForward({ podSandboxId, port: ports }, call) {
      await runtime.runtime.podSandboxStatus({ podSandboxId, verbose: false }, call);
      const url = urlOf("portforward", (upgrade) =>
        servePortForward(
          upgrade,
          (port, connection, session) => runtime.sessions.portForward(podSandboxId, port, connection, session),
          { ...options, ports },
        ),
      );
      return { url };
    },
    close: () => http.close(),
  };
}

function wantedOf({ stdin, stdout, stderr, tty }: ExecRequest | AttachRequest): Wanted {
  if (tty && stderr) throw new Fault("invalid", "Cannot open a session: a terminal has no stderr of its own");
  if (!stdin && !stdout && !stderr) {
    throw new Fault("invalid", "Cannot open a session: one of stdin, stdout and stderr is needed");
  }
  return { stdin, stdout, stderr, tty };
}

async function mustRun(runtime: Runtime, containerId: string, call: Call): Promise<void> {
  const { status } = await runtime.runtime.containerStatus({ containerId, verbose: false }, call);
  if (status?.state === ContainerState.CONTAINER_RUNNING) return;
  throw new Fault("conflict", `Cannot open a session in container "${containerId}": it is not running`);
}
