// A line to a server that a test can cut: a port on loopback that passes everything on, or, while it is cut, hangs up on everyone.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CutLine {
  readonly url: string;
  /** Ends every connection; new ones are hung up on. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function openLine(serverUrl: string): Promise<CutLine> {
  const { hostname: host, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    // The other end sees the hang-up; there is nobody here to tell.
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    if (isCut) return void near.resetAndDestroy();
    const far = connect({ host, port: Number(port) });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      keep(socket);
      socket.on("close", () => other.destroy());
    }
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      hangUp();
    },
    mend() {
      isCut = false;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      hangUp();
      await closed;
    },
  };
}
