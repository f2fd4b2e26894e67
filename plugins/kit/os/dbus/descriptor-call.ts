// A call whose answer is an open file: no JavaScript socket can receive one, so it goes over a connection of its own through system calls.
// None of them waits: what is not there yet is asked for again a moment later. The connection ends with the call; the file stays open.

import koffi from "koffi";
import type { Call } from "../../base/call.ts";
import type { Clock } from "../../base/clock.ts";
import { Fault } from "../../base/fault.ts";
import { AF_UNIX, EAGAIN, errno, libc, SOCK_CLOEXEC, systemFault } from "../net/libc.ts";
import { busDaemon, type MethodCall } from "./connection.ts";
import { errorFault } from "./error-fault.ts";
import { MessageFraming } from "./framing.ts";
import { encodeMessage } from "./message.ts";
import { authLine, AuthLines, begin, checkAccepted, negotiateDescriptors } from "./sasl.ts";

const sockStream = 1;
const [socketLevel, rights] = [1, 1];
const noSignal = 0x4000;
const [receiveCloseOnExec, withoutWaiting] = [0x40000000, 0x40];
const pollMs = 2;
const [helloSerial, callSerial] = [1, 2];

/** An open file of the kernel's, without a way to it from JavaScript: what it stands for holds until it is closed. */
export interface HeldFile {
  /** May be called twice. */
  close(): void;
}

/** The file is the caller's to close. Needs a bus on the socket; waits for the answer until the call ends. */
export async function callForDescriptor(
  socketPath: string,
  method: MethodCall,
  clock: Clock,
  call: Call,
): Promise<HeldFile> {
  const channel = new DescriptorChannel(socketPath, clock);
  const received: number[] = [];
  try {
    const lines = new AuthLines();
    const answer = async () => {
      for (let line = lines.add(Buffer.alloc(0)); ; line = lines.add((await channel.receive(call)).bytes))
        if (line !== undefined) return line;
    };
    channel.send(Buffer.from(authLine(), "latin1"));
    checkAccepted(await answer(), socketPath);
    channel.send(Buffer.from(negotiateDescriptors));
    if ((await answer()) !== "AGREE_UNIX_FD")
      throw new Fault("unsupported", `The D-Bus socket ${socketPath} passes no open files`);
    channel.send(Buffer.from(begin));
    channel.send(encodeMessage({ kind: "call", serial: helloSerial, ...busDaemon, member: "Hello" }));
    channel.send(encodeMessage({ kind: "call", serial: callSerial, ...method }));
    const framing = new MessageFraming();
    for (;;) {
      const { bytes, descriptors } = await channel.receive(call);
      received.push(...descriptors);
      const reply = framing.add(bytes).find(({ replySerial }) => replySerial === callSerial);
      if (reply?.kind === "error") throw errorFault(`Cannot call ${method.interface}.${method.member}`, reply);
      if (!reply) continue;
      const descriptor = received.shift();
      if (descriptor === undefined)
        throw new Fault("internal", `${method.interface}.${method.member} was answered without an open file`);
      return heldFile(descriptor);
    }
  } finally {
    // Only what is not handed out.
    for (const left of received) libc().close(left);
    channel.close();
  }
}

function heldFile(descriptor: number): HeldFile {
  let isOpen = true;
  return {
    close() {
      // A number that was closed may be another's by now.
      if (isOpen) libc().close(descriptor);
      isOpen = false;
    },
  };
}

/** Where recvmsg's header, its one part, the control message and the text lie in one piece of memory. */
const at = { header: 0, part: 56, control: 72, text: 136, end: 16_384 };
const controlHeader = 16;

class DescriptorChannel {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #fd: number;
  readonly #memory = Buffer.alloc(at.end);

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    const name = Buffer.from(path);
    if (name.length > 107) throw new Fault("invalid", `Cannot connect to ${path}: the path is too long for a socket`);
    this.#fd = libc().socket(AF_UNIX, sockStream | SOCK_CLOEXEC, 0);
    if (this.#fd < 0) throw systemFault("Cannot open a socket", errno());
    const address = Buffer.concat([Buffer.of(AF_UNIX, 0), name, Buffer.of(0)]);
    if (libc().connect(this.#fd, address, address.length) < 0) {
      const number = errno();
      this.close();
      throw systemFault(`Cannot connect to ${path}`, number);
    }
  }

  /** A few hundred bytes, which fit into the socket's buffer. */
  send(bytes: Buffer): void {
    const sent = libc().send(this.#fd, bytes, bytes.length, noSignal | withoutWaiting);
    if (Number(sent) !== bytes.length) throw new Fault("unavailable", `The D-Bus socket ${this.#path} takes nothing`);
  }

  async receive(call: Call): Promise<{ bytes: Buffer; descriptors: number[] }> {
    for (;;) {
      call.signal.throwIfAborted();
      const received = this.#tryReceive();
      if (received) return received;
      await this.#clock.sleep(pollMs, call);
    }
  }

  #tryReceive(): { bytes: Buffer; descriptors: number[] } | undefined {
    const memory = this.#memory.fill(0, 0, at.text);
    const address = koffi.address(memory);
    const pointAt = (from: number, to: number, length: number) => {
      memory.writeBigUInt64LE(address + BigInt(to), from);
      memory.writeBigUInt64LE(BigInt(length), from + 8);
    };
    pointAt(at.header + 16, at.part, 1);
    pointAt(at.header + 32, at.control, at.text - at.control);
    pointAt(at.part, at.text, at.end - at.text);
    const length = Number(libc().recvmsg(this.#fd, memory, receiveCloseOnExec | withoutWaiting));
    if (length < 0 && errno() === EAGAIN) return undefined;
    if (length <= 0) throw new Fault("unavailable", `The D-Bus socket ${this.#path} was closed`);
    return { bytes: Buffer.from(memory.subarray(at.text, at.text + length)), descriptors: descriptorsIn(memory) };
  }

  close(): void {
    libc().close(this.#fd);
  }
}

function descriptorsIn(memory: Buffer): number[] {
  const length = Number(memory.readBigUInt64LE(at.control));
  if (memory.readInt32LE(at.control + 8) !== socketLevel || memory.readInt32LE(at.control + 12) !== rights) return [];
  const count = Math.floor((length - controlHeader) / 4);
  return Array.from({ length: count }, (_, index) => memory.readInt32LE(at.control + controlHeader + index * 4));
}
