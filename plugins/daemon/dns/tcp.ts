// Questions over TCP: a connection is read only as fast as its answers are, so that a client that asks and does not read
// holds a few answers and one piece of input.

import type net from "node:net";

export interface TcpLimits {
  /** Questions of one connection that are answered at the same time. */
  readonly mostAtOnce: number;
  readonly idleMs: number;
  readonly mostConnections: number;
  readonly mostConnectionsPerAddress: number;
}

export const defaultTcpLimits: TcpLimits = {
  mostAtOnce: 16,
  idleMs: 10_000,
  mostConnections: 200,
  mostConnectionsPerAddress: 50,
};

/** The answer's bytes, or undefined for what deserves none. Never rejects. */
export type AnswerQuestion = (query: Buffer, address: string) => Promise<Buffer | undefined>;

/** Takes the connection, or closes it when its address has too many. */
export class TcpConnections {
  readonly #limits: TcpLimits;
  readonly #answer: AnswerQuestion;
  readonly #socketsByAddress = new Map<string, Set<net.Socket>>();

  constructor(limits: TcpLimits, answer: AnswerQuestion) {
    this.#limits = limits;
    this.#answer = answer;
  }

  accept(socket: net.Socket): void {
    const address = socket.remoteAddress ?? "";
    const sockets = this.#socketsByAddress.get(address) ?? new Set();
    socket.on("error", () => {});
    if (sockets.size >= this.#limits.mostConnectionsPerAddress) return void socket.destroy();
    this.#socketsByAddress.set(address, sockets.add(socket));
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) this.#socketsByAddress.delete(address);
    });
    serve(socket, this.#limits, (query) => this.#answer(query, address));
  }

  closeAll(): void {
    for (const sockets of this.#socketsByAddress.values()) for (const socket of sockets) socket.destroy();
  }
}

function serve(
  socket: net.Socket,
  { mostAtOnce, idleMs }: TcpLimits,
  answer: (query: Buffer) => Promise<Buffer | undefined>,
): void {
  let received: Buffer = Buffer.alloc(0);
  let outstanding = 0;
  const read = () => {
    while (!socket.destroyed && outstanding < mostAtOnce && !socket.writableNeedDrain) {
      if (received.length < 2) return void socket.resume();
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) return void socket.resume();
      // A copy: what is being answered must not keep everything that came with it.
      const query = Buffer.from(received.subarray(2, end));
      received = received.subarray(end);
      outstanding++;
      void answer(query).then((bytes) => {
        outstanding--;
        if (!bytes) return socket.destroy();
        if (!socket.destroyed) send(socket, bytes);
        read();
      });
    }
    socket.pause();
  };
  // Neither reading nor writing: also a client that does not read its answers.
  socket.setTimeout(idleMs, () => socket.destroy());
  socket.on("drain", read);
  socket.on("data", (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    read();
  });
}

function send(socket: net.Socket, answer: Buffer): void {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(answer.length);
  socket.write(Buffer.concat([length, answer]));
}
