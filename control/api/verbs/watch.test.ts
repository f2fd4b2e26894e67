// Watches: where they begin, how they end, bookmarks, and what a slow or late client gets.

import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { admin, type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

interface Watching {
  /** The next event. */
  next(): Promise<Json>;
  ended: Promise<void>;
  stop(): Promise<void>;
}

async function watch(api: TestApi, query: string, headers: Record<string, string> = {}): Promise<Watching> {
  const response = await api.server.fetchAs(admin)(
    new Request(`http://api${configMaps}?watch=true${query}`, { headers }),
  );
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const lines: string[] = [];
  let rest = "";
  const ended = Promise.withResolvers<void>();
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (done) {
      ended.resolve();
      return false;
    }
    const parts = (rest + new TextDecoder().decode(value)).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    return true;
  };
  return {
    ended: ended.promise,
    stop: () => reader.cancel(),
    async next() {
      while (lines.length === 0) if (!(await read())) return undefined;
      return JSON.parse(lines.shift() ?? "");
    },
  };
}

t.test("watch() without a version begins with what is there", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", configMaps, { metadata: { name: "a" } });
  const watching = await watch(api, "");
  t.match(await watching.next(), { type: "ADDED", object: { metadata: { name: "a" } } });
  await api.ask("DELETE", `${configMaps}/a`);
  const gone = await watching.next();
  t.match(gone, { type: "DELETED", object: { kind: "ConfigMap" } });
  await watching.stop();
});

t.test("watch() with sendInitialEvents marks where the initial ones end", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", configMaps, { metadata: { name: "a" } });
  const watching = await watch(
    api,
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
  );
  t.match(await watching.next(), { type: "ADDED" });
  t.match(await watching.next(), {
    type: "BOOKMARK",
    object: { metadata: { annotations: { "k8s.io/initial-events-end": "true" }, resourceVersion: /^\d+$/ } },
  });
  await watching.stop();
});

t.test("watch() sends bookmarks and ends when its time is over", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  const { body } = await api.ask("GET", configMaps);
  const watching = await watch(
    api,
    `&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=${body.metadata.resourceVersion}`,
  );
  const bookmark = watching.next();
  await clock.advance(60_000);
  t.match(await bookmark, { type: "BOOKMARK", object: { kind: "ConfigMap" } });
  const end = watching.next();
  await clock.advance(31_000);
  t.equal(await end, undefined);
});

t.test("watch() from too long ago gets an Expired error", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { body } = await api.ask("GET", configMaps);
  for (let n = 0; n < 1100; n++) await api.ask("POST", configMaps, { metadata: { name: `n${n}` } });
  await api.store.compact(api.store.revision, uninterrupted);
  const watching = await watch(api, `&resourceVersion=${body.metadata.resourceVersion}`);
  t.match(await watching.next(), { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  t.equal(await watching.next(), undefined);
});

t.test("watch() sends tables, the columns only once", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const watching = await watch(api, "", { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  await api.ask("POST", configMaps, { metadata: { name: "a" } });
  await api.ask("POST", configMaps, { metadata: { name: "b" } });
  const first = await watching.next();
  t.match(first.object, { kind: "Table", rows: [{ cells: ["a", "0", /s$/] }] });
  t.ok(first.object.columnDefinitions.length > 0);
  t.equal((await watching.next()).object.columnDefinitions, null);
  await watching.stop();
});

t.test("close() ends every watch", async (t) => {
  const api = await startApi();
  const watching = await watch(api, "");
  const end = watching.next();
  await api.close();
  t.equal(await end, undefined);
});

t.test("watch() ends for a client that does not read, before much of it is kept, and for nobody else", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const fetch = api.server.fetchAs(admin);
  const slow = await fetch(new Request(`http://api${configMaps}?watch=true`));
  const unread = (slow.body as ReadableStream<Uint8Array>).getReader();
  const reading = await watch(api, "");
  const made = await api.ask("POST", configMaps, { metadata: { name: "a" } });
  t.equal((await reading.next()).type, "ADDED");
  const changes = 20;
  for (let change = 0; change < changes; change++) {
    const data = { text: String(change % 10).repeat(900_000) };
    const written = await api.ask("PUT", `${configMaps}/a`, {
      metadata: { name: "a", uid: made.body.metadata.uid },
      data,
    });
    t.equal((await reading.next()).object.metadata.resourceVersion, written.body.metadata.resourceVersion);
  }
  let bytes = 0;
  for (let step = await unread.read(); !step.done; step = await unread.read()) bytes += step.value.byteLength;
  t.ok(bytes < 10 << 20, `${bytes} of ${changes * 900_000} bytes were kept`);
  await reading.stop();
});
