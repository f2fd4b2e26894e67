// A SPDY/3.1 connection in the dialect that Kubernetes speaks: several streams over one transport, either side may open
// them, each opened one is answered before data flows.
// Go's implementation controls no flow: it neither sends nor heeds windows. A peer that does says so by SETTINGS; only
// then are windows kept, otherwise a full stream holds the whole transport, which bounds memory just as well.

import type { Duplex } from "node:stream";
import { unlessStopped } from "../../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../../plugins/kit/base/fault.ts";
import {
  type ControlFrame,
  controlFrame,
  type DataFrame,
  dataHead,
  flagFin,
  FrameReader,
  frameType,
  numbers,
  resetStatus,
  settingInitialWindow,
} from "./frames.ts";
import { HeaderReader, type Headers, HeaderWriter } from "./header-block.ts";
import { initialWindow, ourWindow, SpdyStream, type StreamHost } from "./stream.ts";
import { SendWindow } from "./window.ts";

export interface SpdyOptions {
  readonly role: "client" | "server";
  /** A stream that the peer opened; it is answered already. Without this, such streams are refused. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** Data moved, either way. */
  readonly onActivity?: () => void;
}

interface Opening {
  resolve(): void;
  reject(fault: Fault): void;
}

// A peer that opens streams without end must not fill the memory with them.
const mostStreams = 1000;
/** Several times what all streams together write before they wait. */
const mostFramesUnsent = 20_000;

export class SpdySession implements StreamHost {
  readonly #transport: Duplex;
  readonly #options: SpdyOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #opening = new Map<number, Opening>();
  readonly #pings = new Map<number, () => void>();
  readonly #headerWriter = new HeaderWriter();
  readonly #headerReader = new HeaderReader();
  readonly #sessionWindow = new SendWindow(initialWindow);
  #nextId: number;
  #nextPing: number;
  #lastPeerId = 0;
  #peerWindow: number | undefined;
  #uncredited = 0;
  #over = false;
  #isCorked = false;
  #drained: Promise<void> | undefined;
  #framesUnsent = 0;
  readonly #transportEnd = new AbortController();
  /** Resolves when the connection is over, with what broke it, if anything did. */
  readonly closed: Promise<Fault | undefined>;

  constructor(transport: Duplex, options: SpdyOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#nextId = options.role === "client" ? 1 : 2;
    this.#nextPing = this.#nextId;
    // The loop below learns of it.
    transport.on("error", () => {});
    // Credits and last pieces are small: waiting for more to send with them costs 40 ms each.
    if ("setNoDelay" in transport && typeof transport.setNoDelay === "function") transport.setNoDelay(true);
    transport.once("close", () => this.#transportEnd.abort());
    this.#write(controlFrame(frameType.settings, 0, numbers(1, settingInitialWindow, ourWindow)));
    this.closed = this.#run();
  }

  /** Set before any stream is told. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Resolves when the peer has accepted the stream. */
  open(headers: Headers): Promise<SpdyStream> {
    if (this.#over) return Promise.reject(new Fault("unavailable", "the SPDY connection is over"));
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#newStream(id, headers);
    return new Promise((resolve, reject) => {
      this.#opening.set(id, { resolve: () => resolve(stream), reject });
      this.#write(
        controlFrame(frameType.synStream, 0, numbers(id, 0), Buffer.alloc(2), this.#headerWriter.encode(headers)),
      );
    });
  }

  /** Resolves with the answer; never if the connection ends first (see `closed`). */
  ping(): Promise<void> {
    const id = this.#nextPing;
    this.#nextPing += 2;
    return new Promise((resolve) => {
      this.#pings.set(id, resolve);
      this.#write(controlFrame(frameType.ping, 0, numbers(id)));
    });
  }

  /** Says goodbye and ends the transport once everything is written. */
  end(): void {
    if (this.#over) return;
    this.#write(controlFrame(frameType.goAway, 0, numbers(this.#lastPeerId, 0)));
    this.#transport.end();
  }

  /** Ends at once, whatever is under way. */
  destroy(): void {
    this.#transport.destroy();
  }

  async sendData(streamId: number, data: Buffer, fin: boolean): Promise<boolean> {
    if (this.#over) return false;
    this.#options.onActivity?.();
    this.#write(dataHead(streamId, fin ? flagFin : 0, data.length));
    if (data.length > 0) this.#write(data);
    await this.#drained;
    return true;
  }

  async takeWindow(window: SendWindow, wanted: number): Promise<number> {
    if (this.#peerWindow === undefined) {
      // Counted all the same: the peer's SETTINGS may still be on the way.
      window.add(-wanted);
      this.#sessionWindow.add(-wanted);
      return wanted;
    }
    const allowed = await window.take(wanted);
    const taken = await this.#sessionWindow.take(allowed);
    window.add(allowed - taken);
    return taken;
  }

  consumed(streamId: number, length: number): void {
    if (this.#peerWindow === undefined || this.#over || length === 0) return;
    if (this.#streams.has(streamId)) this.#write(controlFrame(frameType.windowUpdate, 0, numbers(streamId, length)));
  }

  reset(streamId: number): void {
    if (this.#streams.has(streamId)) this.#sendReset(streamId, resetStatus.cancel);
  }

  forget(streamId: number): void {
    this.#streams.delete(streamId);
  }

  #newStream(id: number, headers: Headers): SpdyStream {
    const stream = new SpdyStream(this, id, headers, this.#peerWindow ?? initialWindow);
    this.#streams.set(id, stream);
    return stream;
  }

  #sendReset(streamId: number, status: number): void {
    this.#write(controlFrame(frameType.rstStream, 0, numbers(streamId, status)));
  }

  #write(bytes: Buffer): void {
    if (this.#over || this.#transport.destroyed || this.#transport.writableEnded) return;
    if (!this.#isCorked) {
      // Heads, data and credits of one turn go out in one system call.
      this.#isCorked = true;
      this.#transport.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#transport.uncork();
      });
    }
    const hasRoom = this.#transport.write(bytes);
    // Data waits for room, answers to pings and refused streams do not: a peer that does not read them is cut off.
    if (this.#drained && ++this.#framesUnsent > mostFramesUnsent) this.#transport.destroy();
    if (hasRoom || this.#drained) return;
    this.#drained = new Promise((resolve) => {
      const done = () => {
        this.#transport.off("drain", done).off("close", done);
        this.#drained = undefined;
        this.#framesUnsent = 0;
        resolve();
      };
      this.#transport.on("drain", done).on("close", done);
    });
  }

  async #run(): Promise<Fault | undefined> {
    const reader = new FrameReader();
    let fault: Fault | undefined;
    try {
      for await (const chunk of this.#transport) {
        for (const frame of reader.read(chunk as Buffer)) {
          if (frame.kind === "data") await this.#data(frame);
          else if (frame.type === frameType.goAway) return undefined;
          else await this.#control(frame);
        }
      }
    } catch (error) {
      fault = toFault(error, "SPDY connection", "unavailable");
    } finally {
      this.#finish(fault);
    }
    return fault;
  }

  #finish(fault: Fault | undefined): void {
    this.#over = true;
    for (const { reject } of this.#opening.values()) {
      reject(fault ?? new Fault("unavailable", "the SPDY connection ended"));
    }
    for (const stream of this.#streams.values()) stream.cutOff();
    this.#streams.clear();
    this.#sessionWindow.add(Number.MAX_SAFE_INTEGER / 2);
    this.#headerReader.close();
    this.#transport.destroy();
  }

  async #data({ streamId, data, fin }: DataFrame): Promise<void> {
    this.#options.onActivity?.();
    // The connection's own window is only there to be kept open: memory is bounded per stream.
    this.#uncredited += data.length;
    if (this.#peerWindow !== undefined && this.#uncredited >= initialWindow / 4) {
      this.#write(controlFrame(frameType.windowUpdate, 0, numbers(0, this.#uncredited)));
      this.#uncredited = 0;
    }
    const room = this.#streams.get(streamId)?.receive(data, fin);
    if (this.#peerWindow === undefined && room) await unlessStopped(room, this.#transportEnd);
  }

  async #control({ type, flags, payload }: ControlFrame): Promise<void> {
    const id = payload.length >= 4 ? payload.readUInt32BE(0) & 0x7fffffff : 0;
    const value = payload.length >= 8 ? payload.readUInt32BE(4) : 0;
    if (type === frameType.synStream) return this.#opened(id, flags, payload);
    if (type === frameType.synReply) return this.#replied(id, flags, payload);
    if (type === frameType.headers) await this.#headerReader.decode(payload.subarray(4));
    if (type === frameType.rstStream) this.#resetByPeer(id);
    if (type === frameType.windowUpdate) (id === 0 ? this.#sessionWindow : this.#streams.get(id)?.window)?.add(value);
    if (type === frameType.settings) this.#settings(payload);
    if (type === frameType.ping) this.#pinged(id);
  }

  async #opened(id: number, flags: number, payload: Buffer): Promise<void> {
    // Decoded in any case: the blocks of a connection are one compressed stream.
    const headers = await this.#headerReader.decode(payload.subarray(10));
    const mine = id % 2 === (this.#options.role === "client" ? 1 : 0);
    if (mine || id <= this.#lastPeerId) return this.#sendReset(id, resetStatus.protocolError);
    this.#lastPeerId = id;
    const { onStream } = this.#options;
    if (!onStream || this.#streams.size >= mostStreams) return this.#sendReset(id, resetStatus.refused);
    const stream = this.#newStream(id, headers);
    this.#write(controlFrame(frameType.synReply, 0, numbers(id), this.#headerWriter.encode({})));
    if (flags & flagFin) stream.finishRemote();
    onStream(stream);
  }

  async #replied(id: number, flags: number, payload: Buffer): Promise<void> {
    await this.#headerReader.decode(payload.subarray(4));
    this.#opening.get(id)?.resolve();
    this.#opening.delete(id);
    if (flags & flagFin) this.#streams.get(id)?.finishRemote();
  }

  #resetByPeer(id: number): void {
    this.#opening.get(id)?.reject(new Fault("unavailable", "the peer refused the stream"));
    this.#opening.delete(id);
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    stream?.cutOff();
  }

  #settings(payload: Buffer): void {
    for (let at = 4; at + 8 <= payload.length; at += 8) {
      if ((payload.readUInt32BE(at) & 0xffffff) !== settingInitialWindow) continue;
      const size = payload.readUInt32BE(at + 4);
      const change = size - (this.#peerWindow ?? initialWindow);
      this.#peerWindow = size;
      for (const stream of this.#streams.values()) stream.window.add(change);
    }
  }

  #pinged(id: number): void {
    const mine = id % 2 === (this.#options.role === "client" ? 1 : 0);
    if (!mine) return this.#write(controlFrame(frameType.ping, 0, numbers(id)));
    this.#pings.get(id)?.();
    this.#pings.delete(id);
  }
}
