// One netlink socket: sends a request, collects the kernel's answer. The kernel does the work inside send(), so slow requests
// (making and removing links) send from a thread of the pool, and a queue keeps one request on the socket at a time.

import { Fault } from "../../base/fault.ts";
import { AF_NETLINK, errno, libc, onThread, SOCK_CLOEXEC, SOCK_RAW, systemFault } from "./libc.ts";

const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
export const NLM_F_DUMP = 0x300;
export const NLM_F_REPLACE = 0x100;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;

const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const NLM_F_DUMP_INTR = 0x10;
const SOL_NETLINK = 270;
const NETLINK_EXT_ACK = 11;
const NETLINK_GET_STRICT_CHK = 12;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const headerLength = 16;
/** On a host where a thousand links come and go at once, a few are needed. */
const maxReadings = 100;

export interface NetlinkMessage {
  readonly type: number;
  readonly payload: Buffer;
}

export interface NetlinkRequest {
  readonly type: number;
  readonly flags: number;
  readonly payload: Uint8Array;
  /** For the error message: what this is meant to do. */
  readonly doing: string;
  /** Takes milliseconds in the kernel: done on another thread. */
  readonly slow?: boolean;
  /** A list is of what the payload names only; otherwise kernels ignore that. */
  readonly strict?: boolean;
}

export class NetlinkSocket {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(65536);
  #sequence = 1;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  #isStrict = false;

  /** Belongs to the network namespace that the thread is in now, whatever happens later. */
  constructor(protocol: number) {
    const { socket, bind, setsockopt } = libc();
    this.#fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (this.#fd < 0) throw systemFault("Cannot open a netlink socket", errno());
    const address = Buffer.alloc(12);
    address.writeUInt16LE(AF_NETLINK, 0);
    if (bind(this.#fd, address, address.length) !== 0) throw systemFault("Cannot bind a netlink socket", errno());
    const one = Buffer.from([1, 0, 0, 0]);
    // Only makes error messages better, so a kernel that lacks it is fine.
    setsockopt(this.#fd, SOL_NETLINK, NETLINK_EXT_ACK, one, 4);
    const timeout = Buffer.alloc(16);
    timeout.writeBigInt64LE(10n, 0);
    setsockopt(this.#fd, SOL_SOCKET, SO_RCVTIMEO, timeout, 16);
  }

  /** What the kernel answers: the messages of a dump, the object asked for, or nothing. Throws a Fault by its error number. */
  async request(request: NetlinkRequest): Promise<NetlinkMessage[]> {
    const mine = this.#last.then(() => this.#exchange(request));
    this.#last = mine.catch(() => {});
    return mine;
  }

  /**
   * The same at once, for a request that is not slow: the thread stays in the network namespace that it is in. Only on a socket that has
   * no other request under way.
   */
  requestNow(request: NetlinkRequest): NetlinkMessage[] {
    for (let left = maxReadings; left > 0; left--) {
      const sequence = this.#sequence++;
      const message = frame(request, sequence);
      this.#beStrict(request.strict ?? false);
      if (libc().send(this.#fd, message, message.length, 0) !== message.length)
        throw systemFault(request.doing, errno());
      const answers = this.#collect(request, sequence);
      if (answers) return answers;
    }
    throw changing(request);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#last.then(() => libc().close(this.#fd));
  }

  /** A list that changed while it was read may lack something that was there all the time: it is read again. */
  async #exchange(request: NetlinkRequest): Promise<NetlinkMessage[]> {
    for (let left = maxReadings; left > 0; left--) {
      const answers = await this.#attempt(request);
      if (answers) return answers;
    }
    throw changing(request);
  }

  async #attempt(request: NetlinkRequest): Promise<NetlinkMessage[] | undefined> {
    const sequence = this.#sequence++;
    const message = frame(request, sequence);
    const { send } = libc();
    this.#beStrict(request.strict ?? false);
    const sent = request.slow
      ? await onThread(send, this.#fd, message, message.length, 0)
      : send(this.#fd, message, message.length, 0);
    if (sent !== message.length) throw systemFault(request.doing, errno());
    return this.#collect(request, sequence);
  }

  /** Kernels before 4.20 lack it and list everything. */
  #beStrict(isStrict: boolean): void {
    if (isStrict === this.#isStrict) return;
    this.#isStrict = isStrict;
    libc().setsockopt(this.#fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, u32(isStrict ? 1 : 0), 4);
  }

  /** Undefined where a list changed while it was read. */
  #collect(request: NetlinkRequest, sequence: number): NetlinkMessage[] | undefined {
    const answers: NetlinkMessage[] = [];
    let hasChanged = false;
    for (;;) {
      const length = libc().recv(this.#fd, this.#buffer, this.#buffer.length, 0);
      if (length < 0) throw systemFault(request.doing, errno());
      for (let at = 0; at + headerLength <= length; ) {
        const size = this.#buffer.readUInt32LE(at);
        if (size < headerLength || at + size > length) break;
        const type = this.#buffer.readUInt16LE(at + 4);
        const flags = this.#buffer.readUInt16LE(at + 6);
        const isMine = this.#buffer.readUInt32LE(at + 8) === sequence;
        const payload = this.#buffer.subarray(at + headerLength, at + size);
        at += (size + 3) & ~3;
        if (!isMine) continue;
        // Read to its end all the same: the kernel makes one list at a time for a socket.
        if (flags & NLM_F_DUMP_INTR) hasChanged = true;
        if (type === NLMSG_DONE) return hasChanged ? undefined : answers;
        if (type === NLMSG_ERROR) {
          const code = -payload.readInt32LE(0);
          if (code === 0) return answers;
          throw systemFault(request.doing, code, kernelWords(payload, flags));
        }
        answers.push({ type, payload: Buffer.from(payload) });
      }
    }
  }
}

function changing({ doing }: NetlinkRequest): Fault {
  return new Fault("conflict", `${doing}: the list changed while it was read, ${maxReadings} times`);
}

function frame(request: NetlinkRequest, sequence: number): Buffer {
  const message = Buffer.alloc(headerLength + request.payload.length);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(request.type, 4);
  const isDump = (request.flags & NLM_F_DUMP) === NLM_F_DUMP && (request.flags & NLM_F_CREATE) === 0;
  message.writeUInt16LE(NLM_F_REQUEST | request.flags | (isDump ? 0 : NLM_F_ACK), 6);
  message.writeUInt32LE(sequence, 8);
  message.set(request.payload, headerLength);
  return message;
}

/** The text of an extended acknowledgement (NLMSGERR_ATTR_MSG), if the kernel sent one. */
function kernelWords(payload: Buffer, flags: number): string {
  const NLM_F_ACK_TLVS = 0x200;
  const NLM_F_CAPPED = 0x100;
  if (!(flags & NLM_F_ACK_TLVS)) return "";
  const start = 4 + (flags & NLM_F_CAPPED ? headerLength : payload.readUInt32LE(4));
  const text = readAttributes(payload.subarray((start + 3) & ~3)).get(1);
  return text ? text.toString("utf8").replace(/\0.*$/, "") : "";
}

/** One attribute, padded; nested ones are concatenated payloads. */
export function attribute(type: number, ...payloads: Uint8Array[]): Buffer {
  const body = payloads.reduce((sum, payload) => sum + payload.length, 0);
  const bytes = Buffer.alloc((4 + body + 3) & ~3);
  bytes.writeUInt16LE(4 + body, 0);
  bytes.writeUInt16LE(type, 2);
  let at = 4;
  for (const payload of payloads) {
    bytes.set(payload, at);
    at += payload.length;
  }
  return bytes;
}

export function u8(value: number): Buffer {
  return Buffer.from([value]);
}

export function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

export function u16be(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`, "utf8");
}

/** Attributes by type; the nested and byte-order bits of the type are dropped. The last of a type wins. */
export function readAttributes(bytes: Buffer): Map<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (const [type, value] of eachAttribute(bytes)) found.set(type, value);
  return found;
}

export function* eachAttribute(bytes: Buffer): Generator<[type: number, value: Buffer]> {
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < 4 || at + length > bytes.length) return;
    yield [bytes.readUInt16LE(at + 2) & 0x3fff, bytes.subarray(at + 4, at + length)];
    at += (length + 3) & ~3;
  }
}

export function readText(bytes: Buffer | undefined): string {
  return bytes ? bytes.toString("utf8").replace(/\0.*$/, "") : "";
}
