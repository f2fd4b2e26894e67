import t from "tap";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { admin, startApi, type TestApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";
import { LeaderLease } from "./leader-lease.ts";

interface Server {
  readonly clock: FakeClock;
  terms: number;
  isLeading: boolean;
  stop(): Promise<void>;
  cutOff: boolean;
}

function server(api: TestApi, identity: string): Server {
  const clock = new FakeClock();
  const fetch = api.server.fetchAs(admin);
  const client = new ApiClient({
    fetch: (request) => (state.cutOff ? Promise.reject(new Error("cut off")) : fetch(request)),
    clock,
    log: noLog,
  });
  const stop = new AbortController();
  const lease = new LeaderLease({ client, name: "test", identity, clock, log: noLog });
  const state: Server = {
    clock,
    terms: 0,
    isLeading: false,
    cutOff: false,
    async stop() {
      stop.abort();
      await running;
    },
  };
  const running = lease.run(
    async (term) => {
      state.terms++;
      state.isLeading = true;
      await new Promise<void>((resolve) => term.signal.addEventListener("abort", () => resolve(), { once: true }));
      state.isLeading = false;
    },
    { signal: stop.signal },
  );
  return state;
}

async function room(t: { teardown(then: () => Promise<void>): void }): Promise<TestApi> {
  const api = await startApi();
  t.teardown(() => api.close());
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } };
  await api.ask("POST", "/api/v1/namespaces", namespace);
  return api;
}

t.test("LeaderLease lets one work, and the next when it falls silent", async (t) => {
  const api = await room(t);
  const a = server(api, "a");
  await until("a leads", () => a.isLeading);
  const b = server(api, "b");
  t.teardown(async () => {
    await a.stop();
    await b.stop();
  });
  for (let second = 0; second < 30; second += 2) {
    await a.clock.advance(2_000);
    await b.clock.advance(2_000);
  }
  t.same([a.isLeading, b.isLeading], [true, false], "while it renews, it stays");
  a.cutOff = true;
  let both = false;
  for (let second = 0; second < 30 && !b.isLeading; second++) {
    await a.clock.advance(1_000);
    await b.clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
    both ||= a.isLeading && b.isLeading;
  }
  await until("b leads", () => b.isLeading);
  t.notOk(both, "never two at once");
  t.notOk(a.isLeading);
});

t.test("LeaderLease is taken up again at once by the same server, and given back in order", async (t) => {
  const api = await room(t);
  const first = server(api, "a");
  await until("it leads", () => first.isLeading);
  first.cutOff = true; // As if it were killed: it can release nothing.
  const again = server(api, "a");
  await until("it leads again", () => again.isLeading);
  await again.stop();
  const b = server(api, "b");
  await until("the next leads without waiting", () => b.isLeading);
  await b.stop();
  await first.stop();
});
