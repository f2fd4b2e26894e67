import { PassThrough } from "node:stream";
import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { HttpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { keepNodeLine } from "./node-line.ts";

t.test("keepNodeLine() hangs up and comes back when the node loses the address that the line began at", async (t) => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const lines: PassThrough[] = [];
  const upgrade = async () => {
    const socket = Object.assign(new PassThrough(), { localAddress: "127.0.0.1" });
    lines.push(socket);
    return { upgraded: true, socket, head: Buffer.alloc(0) };
  };
  const connection = () => ({ upgrade }) as unknown as HttpFetch;
  const keeping = keepNodeLine(
    { server: "https://192.0.2.1:6443", connection, kubeletPort: 1, clock, log: noLog },
    { signal: stop.signal },
  );
  await clock.advance(15_000);
  t.equal(lines.length, 1, "an address of this host is kept");
  // Of a range that no host has.
  Object.assign(lines[0] ?? {}, { localAddress: "192.0.2.77" });
  await clock.advance(5_000);
  await clock.advance(2_000);
  t.ok(lines[0]?.destroyed);
  t.equal(lines.length, 2);
  stop.abort();
  await keeping;
});
