// The API on a real etcd that others use too: their keys move its revision and must not hold anyone up.

import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/call.ts";
import { systemClock } from "../../plugins/kit/clock.ts";
import { noLog } from "../../plugins/kit/log.ts";
import { openEtcdStore } from "../../plugins/store/etcd.ts";
import { startApi } from "../harness/api-server.ts";
import { noEtcd, startEtcd } from "../harness/etcd.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

t.test("two API servers on one etcd see each other's writes", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const open = async () => {
    const store = await openEtcdStore({ endpoints: [member?.url ?? ""], clock: systemClock, log: noLog }, call);
    const api = await startApi({ store });
    t.teardown(async () => {
      await api.close();
      await store.close();
    });
    return { store, api };
  };
  const one = await open();
  const two = await open();
  await one.store.put("/others/key", Buffer.from("x"), "any", call);
  const made = await one.api.ask("POST", configMaps, { metadata: { name: "a" }, data: { x: "1" } });
  t.equal(made.status, 201);
  await one.store.put("/others/key", Buffer.from("y"), "any", call);
  t.equal((await one.api.ask("GET", `${configMaps}/a`)).status, 200, "others' keys hold nobody up");
  const version = made.body.metadata.resourceVersion;
  const seen = await two.api.ask("GET", `${configMaps}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`);
  t.equal(seen.body.items.length, 1, "asked for by its version, a write of another server is waited for");
  const changed = await two.api.ask("PUT", `${configMaps}/a`, { ...made.body, data: { x: "2" } });
  t.equal(changed.status, 200);
  const stale = await one.api.ask("PUT", `${configMaps}/a`, { ...made.body, data: { x: "3" } });
  t.equal(stale.status, 409, "a lost race is told, not overwritten");
});
