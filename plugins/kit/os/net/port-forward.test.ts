import { type AddressInfo, createServer } from "node:net";
import t from "tap";
import { readAll } from "../../../../test/harness/read-all.ts";
import { socketPair } from "../../../../test/harness/socket-pair.ts";
import { within } from "../../base/call.ts";
import { systemClock } from "../../base/clock.ts";
import { forwardPort } from "./port-forward.ts";

t.test("forwardPort() carries both directions to their ends, and tells when nobody listens", async (t) => {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const [near, far] = await socketPair(t);
  const forwarded = forwardPort(undefined, port, far, systemClock, within(10_000));
  const answer = readAll(near);
  near.end("there and back");
  t.equal(await answer, "there and back");
  await forwarded;
  await new Promise((resolve) => server.close(resolve));
  const [, other] = await socketPair(t);
  await t.rejects(forwardPort(undefined, port, other, systemClock, within(10_000)), {
    code: "unavailable",
    message: /refused/,
  });
  await t.rejects(forwardPort(undefined, 0, other, systemClock, within(10_000)), { code: "invalid" });
});
