// Watches whose clients read slowly or not at all.

import net from "node:net";
import t from "tap";
import { serveApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";
import { Watches } from "./watches.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const initial = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";

t.test("Watches counts what the watches of one user hold", async (t) => {
  const watches = new Watches(100);
  watches.admit("eve");
  let held = 60;
  const first = watches.count("eve", () => held);
  t.notOk(watches.isOverBudget("eve"));
  held = 101;
  await until("the sum to be made again", () => watches.isOverBudget("eve"));
  t.throws(() => watches.admit("eve"), { code: "too-many" });
  t.notOk(watches.isOverBudget("bob"));
  first();
  watches.admit("eve");
});

t.test("initial events are sent as fast as their client reads, however many", async (t) => {
  const api = await serveApi();
  t.teardown(() => api.close());
  const data = { a: "x".repeat(1_000_000) };
  const count = 24;
  for (let n = 0; n < count; n++) await api.ask("POST", configMaps, { metadata: { name: `m${n}` }, data });
  const unread = net.connect(Number(new URL(api.url).port), "127.0.0.1", () =>
    unread.write(`GET ${configMaps}?${initial} HTTP/1.1\r\nhost: a\r\n\r\n`),
  );
  unread.pause();
  t.teardown(() => unread.destroy());
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const response = await fetch(`${api.url}${configMaps}?${initial}`, { signal: stop.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let added = 0;
  let text = "";
  let isComplete = false;
  while (reader && !isComplete) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    added += lines.filter((line) => line.startsWith('{"type":"ADDED"')).length;
    isComplete = lines.some((line) => line.includes("k8s.io/initial-events-end"));
  }
  t.equal(added, count);
  t.ok(isComplete, "the watch went on to the end of the initial events");
  await api.ask("POST", configMaps, { metadata: { name: "later" } });
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: "" };
    text += value ?? "";
    if (done || text.includes('"name":"later"')) break;
  }
  t.match(text, /"name":"later"/, "and to what came after them");
});
