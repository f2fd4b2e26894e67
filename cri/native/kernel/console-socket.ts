// A console socket: where an OCI runtime that detaches leaves the terminal it made for a process. It connects to the path, and sends
// the descriptor of the terminal's near side.

import { rmSync } from "node:fs";
import koffi from "koffi";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { bind, libc, LibcError } from "./libc.ts";

const unixFamily = 1;
const streamSocket = 1;
const nonBlocking = 0o4000;
const closeOnExec = 0o2000000;
const receiveCloseOnExec = 0x40000000;
const [socketLevel, rights] = [1, 1];

export class ConsoleSocket {
  readonly #path: string;
  readonly #fd: number;

  /** Listens; the path must be short (107 bytes), and its folder private to us. */
  constructor(path: string) {
    if (Buffer.byteLength(path) > 107)
      throw new Fault("invalid", `Cannot listen on "${path}": the path is too long for a socket`);
    this.#path = path;
    this.#fd = libc.socket(unixFamily, streamSocket | nonBlocking);
    const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1);
    address.writeUInt16LE(unixFamily, 0);
    address.write(path, 2);
    try {
      attempt(
        "bind",
        bind("int bind(int fd, const void *address, unsigned int length)")(this.#fd, address, address.length),
      );
      attempt("listen", bind("int listen(int fd, int backlog)")(this.#fd, 1));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The terminal that was left here, which is the caller's from now on and does not block. Only to be asked when the runtime is done. */
  take(): number {
    const accept = bind("int accept4(int fd, void *address, void *length, int flags)");
    const connection = attempt("accept", accept(this.#fd, null, null, closeOnExec | nonBlocking));
    try {
      const fd = receiveDescriptor(connection);
      attempt("fcntl", bind("int fcntl(int fd, int command, int value)")(fd, 4, 2 | nonBlocking));
      return fd;
    } finally {
      libc.close(connection);
    }
  }

  close(): void {
    libc.close(this.#fd);
    rmSync(this.#path, { force: true });
  }
}

/** Where recvmsg's header, its one part, the control message and the text lie in one piece of memory. */
const at = { header: 0, part: 56, control: 72, text: 96, end: 4096 };

function receiveDescriptor(connection: number): number {
  const memory = Buffer.alloc(at.end);
  const address = koffi.address(memory);
  const pointAt = (from: number, to: number, length: number) => {
    memory.writeBigUInt64LE(address + BigInt(to), from);
    memory.writeBigUInt64LE(BigInt(length), from + 8);
  };
  pointAt(at.header + 16, at.part, 1);
  pointAt(at.header + 32, at.control, at.text - at.control);
  pointAt(at.part, at.text, at.end - at.text);
  attempt("recvmsg", bind("int64_t recvmsg(int fd, void *message, int flags)")(connection, memory, receiveCloseOnExec));
  if (memory.readInt32LE(at.control + 8) !== socketLevel || memory.readInt32LE(at.control + 12) !== rights)
    throw new Fault("internal", "Cannot take over a terminal: the OCI runtime sent none");
  return memory.readInt32LE(at.control + 16);
}

function attempt(call: string, result: number): number {
  if (result < 0) throw new LibcError(`${call} of a console socket`, koffi.errno());
  return result;
}
