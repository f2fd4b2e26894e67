// Two ends of one loopback connection, for tests of protocols.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

interface Teardown {
  teardown(then: () => void): void;
}

export async function socketPair(t: Teardown): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const near = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  const far = await accepted;
  server.close();
  t.teardown(() => {
    near.destroy();
    far.destroy();
  });
  return [near, far];
}
