// Sessions in containers, free of any wire: what CRI's Exec, Attach and PortForward lead to. Runtimes in this process
// implement them directly; `cri/remote` dials the URL that a socket's runtime gives; `cri/serve` gives such URLs.

import type { Duplex, Readable, Writable } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ContainerConfig } from "./gen/runtime.js";

export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/**
 * The client's end of an exec or attach. A stream is absent when the client did not ask for it; with a terminal there
 * is no stderr. Back-pressure holds: a session writes no further while `write()` says to wait for `drain`.
 */
export interface SessionStreams {
  /** Ends when the client closes its input, which is not the end of the session, but for what `endsWithInput` says. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** The first size may come before or after the start; ends with the session. */
  readonly resizes?: AsyncIterable<TerminalSize>;
}

export interface ExecSession {
  readonly containerId: string;
  readonly command: readonly string[];
  readonly tty: boolean;
}

export interface AttachSession {
  readonly containerId: string;
  readonly tty: boolean;
}

/**
 * Whether the end of what its client types ends an attach to this container, as in containerd and Docker: its input stays open for
 * the next one to attach. Where the input closes with the first client, that one sees what the container has still to say.
 */
export function endsWithInput({
  stdin,
  stdinOnce,
  tty,
}: Pick<ContainerConfig, "stdin" | "stdinOnce" | "tty">): boolean {
  return stdin && (!stdinOnce || tty);
}

/**
 * Each call resolves when the session is over and all output has been written (not ended: the caller ends its own
 * streams), and rejects with a Fault when it could not be held. Stopping the call ends the session and, for exec, its
 * process; a runtime behind a socket only learns that the client is gone, and may let the process end by itself.
 */
export interface Sessions {
  exec(session: ExecSession, streams: SessionStreams, call: Call): Promise<{ exitCode: number }>;
  /** Detaching leaves the container running. */
  attach(session: AttachSession, streams: SessionStreams, call: Call): Promise<void>;
  /** One connection to a port inside the sandbox's network namespace. */
  portForward(podSandboxId: string, port: number, connection: Duplex, call: Call): Promise<void>;
}
