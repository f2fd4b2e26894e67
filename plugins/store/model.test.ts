import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { noEtcd, startEtcd } from "../../test/harness/etcd.ts";
import { storeModel } from "../../test/suites/store-model.ts";
import { uninterrupted as call, within } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import { openEtcdStore } from "./etcd.ts";
import { memoryStore } from "./memory.ts";
import { openSqliteStore } from "./sqlite.ts";

const times = process.env["SKIFF_LONG"] === "1" ? 20 : 1;
// The long form runs for minutes by intent.
t.setTimeout(times * 120_000);

t.test("memory behaves like the model", async (t) => {
  const open = async () => {
    const store = memoryStore();
    return { store, end: () => store.close() };
  };
  await storeModel(t, open, 200 * times);
});

t.test("sqlite behaves like the model, over restarts and with lazy keys", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-model-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const open = async () => {
    const folder = join(root, randomUUID());
    const start = () => openSqliteStore({ folder, lazyPrefixes: ["/lazy/"] });
    let store = await start();
    const reopen = async () => {
      await store.close();
      store = await start();
      return { store, historySince: store.revision };
    };
    return { store, reopen, end: () => store.close() };
  };
  await storeModel(t, open, 15 * times);
});

t.test("etcd behaves like the model", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const endpoints = [member?.url ?? ""];
  const limit = within(30_000);
  const isUp = async () =>
    openEtcdStore({ endpoints }, limit).then(
      (store) => store.close().then(() => true),
      () => false,
    );
  while (!(await isUp())) await systemClock.sleep(50, limit);
  const open = async () => {
    const store = await openEtcdStore({ endpoints, prefix: `/${randomUUID()}` }, call);
    return { store, end: () => store.close() };
  };
  await storeModel(t, open, 10 * times);
});
