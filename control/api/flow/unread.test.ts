// Answers that nobody reads: what they hold is counted by user, and their seats with them.

import net from "node:net";
import t from "tap";
import { serveApi, startApi } from "../../../test/harness/api-server.ts";
import { until } from "../../../test/harness/until.ts";
import type { BytesResponse } from "../../../plugins/kit/base/bytes-response.ts";
import type { Authenticator } from "../../auth/contract.ts";
import { Outbox } from "./outbox.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const peer = { address: "127.0.0.1" };
const byHeader: Authenticator = {
  name: "header",
  authenticate: async ({ headers }) => ({ name: headers.get("x-user") ?? "", groups: ["system:authenticated"] }),
};

t.test("Outbox takes any first answer, and no more than its limits after it", async (t) => {
  const outbox = new Outbox({ mostBytesPerUser: 100, mostBytes: 150 });
  const first = outbox.hold("eve", "/a", 500);
  t.throws(() => outbox.admit("eve", "/b"), { code: "too-many" });
  t.throws(() => outbox.hold("eve", "/a", 1), { code: "too-many" });
  t.throws(() => outbox.hold("bob", "/a", 1), { code: "too-many" }, "the server's own limit");
  first();
  first();
  t.equal(outbox.bytes, 0);
  const two = [outbox.hold("eve", "/a", 50), outbox.hold("eve", "/a", 50)];
  t.throws(() => outbox.hold("eve", "/a", 1), { code: "too-many" });
  t.throws(() => outbox.admit("eve", "/a"), { code: "too-many" }, "before the work, from then on");
  const bobs = outbox.hold("bob", "/a", 50);
  two[0]?.();
  outbox.admit("eve", "/a");
  for (const release of [...two, bobs]) release();
  t.equal(outbox.bytes, 0);
});

t.test("a user who reads nothing is answered with 429, others are not", async (t) => {
  const api = await startApi({
    authenticators: [byHeader],
    outbox: { mostBytesPerUser: 3 << 20, mostBytes: 64 << 20 },
  });
  t.teardown(() => api.close());
  for (const name of ["a", "b"]) {
    const made = await api.ask("POST", configMaps, { metadata: { name }, data: { a: "x".repeat(700_000) } });
    t.equal(made.status, 201);
  }
  const list = (user: string, init: RequestInit = {}, path = configMaps) =>
    api.server.handler(
      new Request(`http://api${path}`, { ...init, headers: { "x-user": user, "content-type": "application/json" } }),
      peer,
    ) as Promise<BytesResponse>;
  const running = async () => {
    const { text } = await api.ask("GET", "/metrics");
    const lines = text.matchAll(/^apiserver_flowcontrol_current_executing_requests\{[^}]*\} (\d+)$/gm);
    return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const idle = await running();
  const unread = [await list("eve"), await list("eve")];
  t.same(
    unread.map(({ status }) => status),
    [200, 200],
  );
  t.equal(await running(), idle + 2, "their seats are held");
  const refused = await list("eve");
  t.equal(refused.status, 429);
  t.equal(refused.headers.get("retry-after"), "1");
  const body = JSON.stringify({ metadata: { name: "c" }, data: { a: "y".repeat(700_000) } });
  const written = await list("eve", { method: "POST", body });
  t.equal(written.status, 201, "what was written is never denied");
  t.equal((await list("bob")).status, 200);
  for (const response of unread) response.sent?.();
  t.equal((await list("eve")).status, 200);
});

t.test("lists and schemas that are not read do not fill the memory", async (t) => {
  const api = await serveApi({ seats: 6000 });
  t.teardown(() => api.close());
  const data = { a: "x".repeat(1_000_000) };
  for (let n = 0; n < 27; n++) await api.ask("POST", configMaps, { metadata: { name: `m${n}` }, data });
  const port = Number(new URL(api.url).port);
  const before = process.memoryUsage.rss();
  let heard = 0;
  const statuses: string[] = [];
  const ask = (path: string) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`));
    socket.on("error", () => {});
    socket.once("data", (chunk) => {
      statuses.push(chunk.toString("latin1", 9, 12));
      heard++;
      socket.pause();
    });
    t.teardown(() => socket.destroy());
  };
  let peak = before;
  for (let n = 0; n < 60; n++) ask(configMaps);
  for (let n = 0; n < 400; n++) ask("/openapi/v2");
  await until("every client to hear the beginning of its answer", () => {
    peak = Math.max(peak, process.memoryUsage.rss());
    return heard === 460;
  });
  t.ok(statuses.includes("200"));
  // 64 MB of one user, some lists in the making, and what the collector has not seen yet; without a bound it is 3 GB.
  t.ok(peak - before < 700 << 20, `grew by ${(peak - before) >> 20} MB`);
});
