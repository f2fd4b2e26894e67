import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { nodeLineBeatMs, nodeLinePath, nodeLineProtocol } from "../../../plugins/kit/kube/node-line.ts";
import { socketPair } from "../../../test/harness/socket-pair.ts";
import { NodeLines } from "./node-lines.ts";

t.test("a node's line ends with its certificate", async (t) => {
  const clock = new FakeClock();
  const lines = new NodeLines(clock, noLog);
  const certificate = {
    commonName: "system:node:pi",
    organizations: ["system:nodes"],
    fingerprint256: "",
    endsAt: clock.now() + nodeLineBeatMs / 2,
  };
  const open = async () => {
    const [near, far] = await socketPair(t);
    const request = { url: nodeLinePath, headers: { upgrade: nodeLineProtocol } } as unknown as IncomingMessage;
    t.ok(lines.accept({ request, socket: far, head: Buffer.alloc(0), peer: { address: "", certificate } }));
    const [head] = (await once(near, "data")) as [Buffer];
    return { near, far, head: String(head) };
  };
  const { far, head } = await open();
  t.match(head, /^HTTP\/1\.1 101 /);
  t.ok(lines.of("pi") !== undefined);
  const closed = once(far, "close");
  await clock.advance(nodeLineBeatMs);
  if (!far.destroyed) return t.fail("it is still open");
  await closed;
  t.notOk(lines.of("pi") !== undefined);
  t.match((await open()).head, /^HTTP\/1\.1 403 /, "and none begins with it");
});
