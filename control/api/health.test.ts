// The health endpoints as kube-apiserver answers them, and what they say of the store.

import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { memoryStore } from "../../plugins/store/memory.ts";
import { startApi } from "../../test/harness/api-server.ts";

/** A store whose check fails, or never answers, on demand. */
function ailingStore() {
  const store: Store = memoryStore();
  const state = { problem: undefined as string | undefined, isSilent: false, asked: 0 };
  store.check = async () => {
    state.asked++;
    if (state.isSilent) await new Promise(() => {});
    if (state.problem !== undefined) throw new Fault("unavailable", state.problem);
  };
  return { store, state };
}

t.test("livez and readyz fail while the store does not answer, and recover", async (t) => {
  const { store, state } = ailingStore();
  const clock = new FakeClock();
  const api = await startApi({ store, clock });
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  const get = async (path: string) => {
    await clock.advance(2_000);
    const { status, text } = await api.ask("GET", path);
    return { status, text };
  };
  t.same(await get("/readyz"), { status: 200, text: "ok" });
  state.problem = "Cannot write to the store: EIO";
  for (const root of ["livez", "readyz", "healthz"]) {
    const { status, text } = await get(`/${root}`);
    t.equal(status, 500, root);
    t.match(text, /^\[\+\]ping ok$/m);
    t.match(text, /^\[-\]etcd failed: reason withheld$/m);
    t.match(text, new RegExp(`^${root} check failed$`, "m"));
    t.notMatch(text, /EIO/, "anyone may ask");
  }
  t.same(await get("/livez/etcd"), {
    status: 500,
    text: "internal server error: Cannot write to the store: EIO\n",
  });
  t.same(await get("/livez/ping"), { status: 200, text: "ok" });
  t.same(await get("/livez?exclude=etcd"), { status: 200, text: "ok" });
  t.equal((await get("/readyz?exclude=etcd")).status, 500);
  t.same(await get("/readyz?exclude=etcd&exclude=etcd-readiness"), { status: 200, text: "ok" });
  const excluded = await get("/livez?exclude=etcd&exclude=none&verbose");
  t.match(excluded.text, /^\[\+\]etcd excluded: ok$/m);
  t.match(excluded.text, /^warn: some health checks cannot be excluded: no matches for "none"$/m);
  t.equal((await api.ask("GET", "/livez/etcd-readiness")).status, 404, "of readyz alone");
  t.equal((await api.ask("GET", "/readyz/etcd-readiness")).status, 500);
  state.problem = undefined;
  t.same(await get("/readyz"), { status: 200, text: "ok" });
});

t.test("the store is not asked again while its answer is fresh", async (t) => {
  const { store, state } = ailingStore();
  const clock = new FakeClock();
  const api = await startApi({ store, clock });
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  for (let i = 0; i < 20; i++) await api.ask("GET", "/readyz");
  t.equal(state.asked, 1);
  await clock.advance(2_000);
  await api.ask("GET", "/livez");
  t.equal(state.asked, 2);
});

t.test("a store that is silent fails the check within its time limit", async (t) => {
  const { store, state } = ailingStore();
  const api = await startApi({ store });
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  state.isSilent = true;
  const { status, text } = await api.ask("GET", "/livez/etcd");
  t.equal(status, 500);
  t.match(text, /no answer within 2s/);
});
