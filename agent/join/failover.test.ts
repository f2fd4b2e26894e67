import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { failoverFetch } from "./failover.ts";

/** What frees memory now; nothing on runtimes that do not offer it. */
function collector(): () => void {
  try {
    setFlagsFromString("--expose-gc");
    return runInNewContext("gc") as () => void;
  } catch {
    return () => {};
  }
}

const unreachable = new Error("unreachable");

t.test(
  "failoverFetch() asks the next server when one cannot be reached, and that one first from then on",
  async (t) => {
    const asked: string[] = [];
    const fetch = failoverFetch(
      ["https://a", "https://b"],
      async (request) => {
        asked.push(`${new URL(request.url).host} ${request.method} ${await request.text()}`);
        if (request.url.startsWith("https://a")) throw unreachable;
        return new Response("answer");
      },
      (error) => error === unreachable,
    );
    const send = () => fetch(new Request("https://any/x?y", { method: "POST", body: "body" }));
    t.equal(await (await send()).text(), "answer");
    await send();
    t.same(asked, ["a POST body", "b POST body", "b POST body"]);
  },
);

t.test(
  "failoverFetch() throws what is no matter of reaching, and the last of all that could not be reached",
  async (t) => {
    const failing = (error: Error) =>
      failoverFetch(
        ["https://a", "https://b"],
        () => Promise.reject(error),
        (each) => each === unreachable,
      )(new Request("https://any/"));
    await t.rejects(failing(new Error("refused")), /refused/);
    await t.rejects(failing(unreachable), /unreachable/);
  },
);

t.test("failoverFetch() hands a stop on to an answer that still runs, however long ago it was asked for", async (t) => {
  let inner: Request | undefined;
  const fetch = failoverFetch(
    ["https://a"],
    async (request) => {
      inner = request;
      return new Response(new ReadableStream());
    },
    () => false,
  );
  const stop = new AbortController();
  const { body } = await fetch(new Request("https://any/", { signal: stop.signal }));
  const collect = collector();
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  stop.abort();
  t.ok(inner?.signal.aborted);
  t.ok(body);
});
