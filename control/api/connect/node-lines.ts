// The server's end of the lines that nodes hold open: which nodes have one, and new connections to their kubelets through it.
// A node is known by its verified client certificate alone, and can only ever answer for itself.

import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import {
  dialMessage,
  lineSplitter,
  nodeLineBeatMs,
  nodeLinePath,
  nodeLineProtocol,
  nodeLineSilenceMs,
  parseMessage,
} from "../../../plugins/kit/kube/node-line.ts";
import type { Peer, Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { failure } from "../../machinery/status.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";

interface Wanted {
  readonly node: string;
  resolve(stream: Duplex): void;
  reject(fault: Fault): void;
}

interface Line {
  readonly socket: Duplex;
  heardAt: number;
}

const dialTimeoutMs = 10_000;
const nodeUser = "system:node:";

export class NodeLines {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lines = new Map<string, Line>();
  readonly #wanted = new Map<string, Wanted>();

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The line that the node holds open now: another object when it has come back. */
  of(node: string): object | undefined {
    return this.#lines.get(node);
  }

  /** Takes the connection when it is for a line, and says whether it was. */
  accept(upgrade: Upgrade): boolean {
    const { url = "", headers } = upgrade.request;
    if (url !== nodeLinePath && !url.startsWith(`${nodeLinePath}/`)) return false;
    const node = nodeOf(upgrade.peer, this.#clock.now());
    if (node === undefined) refuseUpgrade(upgrade, failure(403, "Forbidden", "only a node may hold a line open"));
    else if (headers.upgrade !== nodeLineProtocol)
      refuseUpgrade(upgrade, failure(400, "BadRequest", `this server speaks ${nodeLineProtocol}`));
    else if (url === nodeLinePath) this.#hold(node, upgrade);
    else this.#connected(node, url.slice(nodeLinePath.length + 1), upgrade);
    return true;
  }

  /** A new connection to the node's kubelet. */
  dial(node: string, call: Call): Promise<Duplex> {
    const line = this.#lines.get(node);
    if (!line) throw new Fault("unavailable", `node "${node}" holds no line open to this server`);
    const id = randomBytes(16).toString("hex");
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
    const giveUp = (reason: string) => reject(new Fault("unavailable", `node "${node}" ${reason}`));
    const askedAt = this.#clock.monotonic();
    const cancel = this.#clock.after(dialTimeoutMs, () => {
      // Neither a connection nor an error: the other end does not respond. A node that is alive reconnects at once.
      if (line.heardAt <= askedAt) line.socket.destroy();
      giveUp("did not connect back in time");
    });
    const onAbort = () => giveUp("is no longer wanted");
    call.signal.addEventListener("abort", onAbort, { once: true });
    this.#wanted.set(id, { node, resolve, reject });
    line.socket.write(dialMessage(id));
    return promise.finally(() => {
      cancel();
      call.signal.removeEventListener("abort", onAbort);
      this.#wanted.delete(id);
    });
  }

  close(): void {
    for (const { socket } of this.#lines.values()) socket.destroy();
  }

  #hold(node: string, upgrade: Upgrade): void {
    const { socket, peer } = upgrade;
    // A node that came back before its old line was noticed to be dead: the new one counts.
    this.#lines.get(node)?.socket.destroy();
    const held: Line = { socket, heardAt: this.#clock.monotonic() };
    this.#lines.set(node, held);
    welcome(upgrade);
    this.#log.debug({ node }, "the node holds a line open");
    const split = lineSplitter((line) => this.#heard(node, line));
    socket.on("data", (chunk: Buffer) => {
      held.heardAt = this.#clock.monotonic();
      split(chunk);
    });
    const beat = () => {
      if (this.#clock.monotonic() - held.heardAt > nodeLineSilenceMs) return socket.destroy();
      // The node dials again with the certificate that it has by then.
      if (nodeOf(peer, this.#clock.now()) === undefined) return socket.destroy();
      socket.write("\n");
      cancel = this.#clock.after(nodeLineBeatMs, beat);
    };
    let cancel = this.#clock.after(nodeLineBeatMs, beat);
    socket.on("error", () => {}); // "close" follows, and is what counts
    socket.once("end", () => socket.destroy());
    socket.once("close", () => {
      cancel();
      if (this.#lines.get(node) === held) this.#lines.delete(node);
    });
  }

  #heard(node: string, line: string): void {
    const message = parseMessage(line);
    const wanted = message?.say === "failed" ? this.#wanted.get(message.id) : undefined;
    if (wanted?.node === node) wanted.reject(new Fault("unavailable", `node "${node}" cannot reach its own kubelet`));
  }

  #connected(node: string, id: string, upgrade: Upgrade): void {
    const wanted = this.#wanted.get(id);
    if (wanted?.node !== node)
      return refuseUpgrade(upgrade, failure(404, "NotFound", "nobody waits for this connection"));
    welcome(upgrade);
    wanted.resolve(upgrade.socket);
  }
}

function nodeOf({ certificate }: Peer, now: number): string | undefined {
  if (!certificate?.organizations.includes("system:nodes") || !certificate.commonName.startsWith(nodeUser))
    return undefined;
  if (certificate.endsAt <= now) return undefined;
  return certificate.commonName.slice(nodeUser.length);
}

function welcome({ socket, head }: Upgrade): void {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${nodeLineProtocol}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
}
