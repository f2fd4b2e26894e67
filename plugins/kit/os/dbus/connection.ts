// A connection to a D-Bus socket: calls with their answers, and signals. Invariants: a serial is used once; every call is answered once, by
// its reply, its end or the connection's; after the first thing that goes wrong the connection is closed, and whoever wants another opens it.

import { createConnection, type Socket } from "node:net";
import type { Call } from "../../base/call.ts";
import { Fault } from "../../base/fault.ts";
import { errorFault } from "./error-fault.ts";
import { MessageFraming } from "./framing.ts";
import { type DbusMessage, encodeMessage } from "./message.ts";
import { authLine, AuthLines, begin, checkAccepted } from "./sasl.ts";
import type { DbusValue } from "./values.ts";

export interface MethodCall {
  /** Who is called; not said on a connection without a bus. */
  readonly destination?: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

export interface SignalRule {
  readonly path: string;
  readonly interface: string;
  readonly member: string;
}

export interface DbusAddress {
  readonly path: string;
  /** With a bus, others are called by their names; without, the other side is the one that is called. */
  readonly hasBus: boolean;
}

export const busDaemon = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
} as const;

interface Waiting {
  readonly doing: string;
  readonly answer: (message: DbusMessage) => void;
  readonly fail: (reason: unknown) => void;
}

export class DbusConnection {
  readonly #socket: Socket;
  readonly #address: DbusAddress;
  readonly #framing = new MessageFraming();
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<{ rule: SignalRule; then: (body: readonly DbusValue[]) => void }>();
  readonly #closed = Promise.withResolvers<void>();
  #serial = 0;
  #end: Fault | undefined;

  private constructor(socket: Socket, address: DbusAddress) {
    this.#socket = socket;
    this.#address = address;
  }

  /** Fault `unavailable` where nobody listens. */
  static async open(address: DbusAddress, call: Call): Promise<DbusConnection> {
    const socket = createConnection(address.path);
    const connection = new DbusConnection(socket, address);
    const onAbort = () => connection.#fail(new Fault("timeout", `Cannot connect to ${address.path} in time`));
    call.signal.addEventListener("abort", onAbort, { once: true });
    try {
      await connection.#logIn();
      if (address.hasBus) await connection.call({ ...busDaemon, member: "Hello" }, call);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      call.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Resolves when the connection has ended, however that came. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#end !== undefined;
  }

  /** The values of the answer; a refusal is a Fault. */
  async call(method: MethodCall, call: Call): Promise<readonly DbusValue[]> {
    call.signal.throwIfAborted();
    if (this.#end) throw this.#end;
    const { destination, ...rest } = method;
    const serial = ++this.#serial;
    const whom = destination && this.#address.hasBus ? { destination } : {};
    const bytes = encodeMessage({ kind: "call", serial, ...whom, ...rest });
    const { promise, resolve, reject } = Promise.withResolvers<DbusMessage>();
    const doing = `Cannot call ${method.interface}.${method.member} of ${method.path}`;
    const onAbort = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.set(serial, { doing, answer: resolve, fail: reject });
    try {
      this.#socket.write(bytes);
      const answer = await promise;
      if (answer.kind === "error") throw errorFault(doing, answer);
      return answer.body ?? [];
    } finally {
      // An answer that comes later is nobody's.
      this.#waiting.delete(serial);
      call.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Calls `then` with the values of each signal that fits from now on; the returned function ends that. */
  async listen(
    rule: SignalRule & { readonly sender?: string },
    then: (body: readonly DbusValue[]) => void,
    call: Call,
  ): Promise<() => void> {
    const listener = { rule, then };
    this.#listeners.add(listener);
    const stop = () => void this.#listeners.delete(listener);
    if (!this.#address.hasBus) return stop;
    const { sender, path, interface: of, member } = rule;
    const parts = Object.entries({ type: "signal", sender, path, interface: of, member });
    const text = parts.flatMap(([key, value]) => (value === undefined ? [] : [`${key}='${value}'`])).join(",");
    try {
      await this.call({ ...busDaemon, member: "AddMatch", signature: "s", body: [text] }, call);
      return stop;
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** May be called twice. */
  close(): void {
    this.#fail(new Fault("unavailable", `The connection to ${this.#address.path} was closed`));
  }

  async #logIn(): Promise<void> {
    const { path } = this.#address;
    const accepted = Promise.withResolvers<void>();
    // Whoever waits for it is told; nobody may be waiting yet.
    accepted.promise.catch(() => {});
    this.#waiting.set(0, { doing: "", answer: () => {}, fail: accepted.reject });
    const lines = new AuthLines();
    let isIn = false;
    this.#socket.on("data", (bytes: Buffer) => {
      try {
        if (isIn) return this.#receive(bytes);
        const line = lines.add(bytes);
        if (line === undefined) return;
        checkAccepted(line, path);
        isIn = true;
        accepted.resolve();
        if (lines.rest.length > 0) this.#receive(lines.rest);
      } catch (error) {
        this.#fail(error as Fault);
      }
    });
    this.#socket.on("error", (error) =>
      this.#fail(
        new Fault("unavailable", `The D-Bus socket ${path} cannot be used: ${error.message}`, { cause: error }),
      ),
    );
    this.#socket.on("close", () => this.#fail(new Fault("unavailable", `The D-Bus socket ${path} was closed`)));
    // At once, as systemd's own programs do: its private socket leaves a message lie that comes in one piece with BEGIN.
    this.#socket.write(authLine() + begin, "latin1");
    await accepted.promise;
    this.#waiting.delete(0);
  }

  #receive(bytes: Buffer): void {
    for (const message of this.#framing.add(bytes)) {
      if (message.kind === "signal") this.#tell(message);
      else if (message.kind === "call") this.#refuse(message);
      else this.#waiting.get(message.replySerial ?? 0)?.answer(message);
    }
  }

  #tell(signal: DbusMessage): void {
    for (const { rule, then } of this.#listeners) {
      const { path, interface: of, member } = rule;
      if (signal.path === path && signal.interface === of && signal.member === member) then(signal.body ?? []);
    }
  }

  /** We offer nothing; who asks is told so rather than kept waiting. */
  #refuse({ serial: replySerial, sender: destination, wantsNoReply }: DbusMessage): void {
    if (wantsNoReply) return;
    const errorName = "org.freedesktop.DBus.Error.UnknownMethod";
    const whom = destination === undefined ? {} : { destination };
    this.#socket.write(encodeMessage({ kind: "error", serial: ++this.#serial, ...whom, errorName, replySerial }));
  }

  #fail(reason: Fault): void {
    if (this.#end) return;
    this.#end = reason;
    this.#socket.destroy();
    for (const { fail } of this.#waiting.values()) fail(reason);
    this.#waiting.clear();
    this.#closed.resolve();
  }
}
