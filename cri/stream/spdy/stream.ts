// One stream of a SPDY session, as a Node Duplex: `end()` half-closes, `destroy()` resets.

import { Duplex } from "node:stream";
import type { Headers } from "./header-block.ts";
import { SendWindow } from "./window.ts";

/** What a stream may send before it hears of the peer's window: fixed by the protocol. */
export const initialWindow = 64 * 1024;
/** What the peer may send to each of our streams, and so what one holds at most. */
export const ourWindow = 256 * 1024;
// Small enough that streams take turns on the wire.
const longestPiece = 32 * 1024;

/** What a stream needs of its session. */
export interface StreamHost {
  /** Resolves when the transport takes more; false when the session is over. */
  sendData(streamId: number, data: Buffer, fin: boolean): Promise<boolean>;
  /** Waits for the peer's permission; an infinite one where the peer controls no flow. */
  takeWindow(window: SendWindow, wanted: number): Promise<number>;
  /** `length` bytes were handed on: the peer may send as many again. */
  consumed(streamId: number, length: number): void;
  reset(streamId: number): void;
  /** Both directions are over. */
  forget(streamId: number): void;
}

export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: Headers;
  readonly window: SendWindow;
  readonly #host: StreamHost;
  /** Came from the peer and was not yet asked for; bounded by the window, or by the session that waits for room. */
  #pending: Buffer[] = [];
  #pendingLength = 0;
  #isAskedFor = false;
  #uncredited = 0;
  #hasRoom: (() => void) | undefined;
  /** The peer reset the stream or is gone: what is written goes nowhere. */
  #deaf = false;
  #remoteDone = false;
  #localDone = false;

  constructor(host: StreamHost, id: number, headers: Headers, window: number) {
    super({ allowHalfOpen: true, highWaterMark: 2 * longestPiece });
    this.#host = host;
    this.id = id;
    this.headers = headers;
    this.window = new SendWindow(window);
    // Whoever holds the stream may listen; nobody has to.
    this.on("error", () => {});
  }

  /** Called by the session. Resolves when there is room again; undefined when there is now. */
  receive(data: Buffer, fin: boolean): Promise<void> | undefined {
    if (this.destroyed || this.#remoteDone) return undefined;
    if (data.length > 0) {
      this.#pending.push(data);
      this.#pendingLength += data.length;
    }
    if (fin) this.#remoteDone = true;
    if (this.#isAskedFor) this.#handOn();
    if (fin) this.#forgetIfDone();
    if (this.#pendingLength < ourWindow || fin) return undefined;
    return new Promise((resolve) => (this.#hasRoom = resolve));
  }

  /** Called by the session: nothing more will come. */
  finishRemote(): void {
    void this.receive(Buffer.alloc(0), true);
  }

  /** Called by the session: the peer takes nothing more and sends nothing more; what has come can still be read. */
  cutOff(): void {
    this.#deaf = true;
    this.#localDone = true;
    this.window.add(Number.MAX_SAFE_INTEGER / 2);
    this.finishRemote();
    this.#forgetIfDone();
  }

  override _read(): void {
    this.#isAskedFor = true;
    this.#handOn();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    void settle(this.#send(chunk), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#localDone = true;
    void settle(this.#sendFin(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!(this.#localDone && this.#remoteDone)) this.#host.reset(this.id);
    this.#deaf = true;
    this.window.add(Number.MAX_SAFE_INTEGER / 2);
    this.#pending = [];
    this.#hasRoom?.();
    this.#host.forget(this.id);
    done(error);
  }

  #handOn(): void {
    let taken = 0;
    while (this.#isAskedFor) {
      const data = this.#pending.shift();
      if (!data) break;
      taken += data.length;
      this.#isAskedFor = this.push(data);
    }
    this.#pendingLength -= taken;
    this.#uncredited += taken;
    if (this.#remoteDone && this.#pending.length === 0) this.push(null);
    else if (this.#uncredited >= ourWindow / 4) {
      this.#host.consumed(this.id, this.#uncredited);
      this.#uncredited = 0;
    }
    if (this.#pendingLength < ourWindow) this.#hasRoom?.();
  }

  async #sendFin(): Promise<void> {
    if (!this.#deaf) await this.#host.sendData(this.id, Buffer.alloc(0), true);
    this.#forgetIfDone();
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length && !this.#deaf; ) {
      const length = await this.#host.takeWindow(this.window, Math.min(longestPiece, chunk.length - at));
      if (this.#deaf) return;
      if (!(await this.#host.sendData(this.id, chunk.subarray(at, at + length), false))) return;
      at += length;
    }
  }

  #forgetIfDone(): void {
    if (this.#localDone && this.#remoteDone) this.#host.forget(this.id);
  }
}

async function settle(work: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await work;
  } catch (error) {
    return done(error as Error);
  }
  done();
}
