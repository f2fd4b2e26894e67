// Requests that take too long.

import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import { startApi } from "../../test/harness/api-server.ts";
import { deadlineOf } from "./deadline.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

t.test("deadlineOf() reads times as Go writes them, and never exceeds the server's own limit", async (t) => {
  const rows: [string | null, number][] = [
    [null, 60_000],
    ["", 60_000],
    ["0", 60_000],
    ["0s", 60_000],
    ["32s", 32_000],
    ["1m0s", 60_000],
    ["1.5s", 1500],
    ["250ms", 250],
    ["2h", 60_000],
  ];
  for (const [text, ms] of rows) t.equal(deadlineOf(text, 60_000), ms, String(text));
  for (const text of ["5", "abc", "-1s", "1s x"]) t.throws(() => deadlineOf(text, 60_000), { code: "invalid" }, text);
});

t.test("a request that does not end in time is answered with a time-out, and its work is stopped", async (t) => {
  const clock = new FakeClock();
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const slow: AdmissionPlugin = {
    name: "Slow",
    handles: (request) => request.resource === "configmaps" && request.operation === "CREATE",
    mutate: (_, { signal }) => {
      begun.resolve();
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          stopped.resolve();
          reject(signal.reason);
        }),
      );
    },
  };
  const api = await startApi({ clock, admission: [slow] });
  t.teardown(() => api.close());
  /** As over a connection: callers in the process end their calls themselves. */
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const response = await api.server.handler(new Request(`http://api${path}`, init), { address: "127.0.0.1" });
    return { status: response.status, body: (await response.json()) as object };
  };
  const answer = ask("POST", configMaps, { metadata: { name: "a" } });
  await begun.promise;
  await clock.advance(60_000);
  await stopped.promise;
  t.match(await answer, { status: 504, body: { kind: "Status", reason: "Timeout", code: 504 } });
  t.equal((await ask("GET", `${configMaps}/a`)).status, 404);
  t.match((await ask("GET", `${configMaps}?timeout=soon`)).body, { code: 400, message: /invalid timeout/ });
  t.equal((await ask("GET", `${configMaps}?timeout=10s`)).status, 200);
});

t.test("a limit that makes no sense is refused, whatever it is for", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await api.ask("GET", "/version?timeout=soon");
  t.equal(status, 400);
  t.match(body.message, 'invalid timeout specified in the request URL - time: invalid duration "soon"');
});
