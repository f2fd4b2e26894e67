import t, { type Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { admin, type Json, startApi } from "../../test/harness/api-server.ts";
import { testPki } from "../../test/harness/certificates.ts";
import { until } from "../../test/harness/until.ts";
import { serverNames } from "../auth/certificates/server-names.ts";
import { ServerAddresses } from "./server-addresses.ts";

async function room(t: Test) {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  const client = new ApiClient({ fetch: api.server.fetchAs(admin), clock, log });
  const serverAt = (address: string, port = 6443, isShared = true, dnsNames: readonly string[] = []) =>
    new ServerAddresses({ client, clock, log, advertise: { address, port }, dnsNames, isShared });
  const shown = async () => {
    const { items } = await client.list<Json>(resources.endpointslices, { namespace: "default" }, call);
    const { subsets } = await client.get<Json>(resources.endpoints, { namespace: "default", name: "kubernetes" }, call);
    const slices: string[] = items.flatMap(({ endpoints, ports }: Json) =>
      endpoints.map(({ addresses }: Json) => `${addresses[0]}:${ports[0].port}`),
    );
    const all: string[] = subsets.flatMap(({ addresses, ports }: Json) =>
      addresses.map(({ ip }: Json) => `${ip}:${ports[0].port}`),
    );
    t.same(slices.sort(), [...all].sort(), "endpoints and slices tell the same");
    return all;
  };
  return { api, clock, client, serverAt, shown };
}

t.test("tell() puts a server beside those that live", async (t) => {
  const { clock, serverAt, shown } = await room(t);
  const [one, two] = [serverAt("192.0.2.1"), serverAt("192.0.2.2")];
  await one.tell(call);
  t.same(await shown(), ["192.0.2.1:6443"]);
  await two.tell(call);
  t.same(await shown(), ["192.0.2.1:6443", "192.0.2.2:6443"]);
  await clock.advance(20_000);
  await two.tell(call);
  t.same(await shown(), ["192.0.2.1:6443", "192.0.2.2:6443"], "one that is late is not gone yet");
  await clock.advance(20_000);
  await two.tell(call);
  t.same(await shown(), ["192.0.2.2:6443"], "one that was not heard of for its lease is");
  await one.tell(call);
  t.same(await shown(), ["192.0.2.1:6443", "192.0.2.2:6443"], "and is back when it is heard of");
});

t.test("tell() keeps servers on other ports apart, and forgets where a server was", async (t) => {
  const { serverAt, shown, client, clock } = await room(t);
  const advertise = { address: "192.0.2.1", port: 6443 };
  const moving = new ServerAddresses({ client, clock, log, advertise, dnsNames: [], isShared: true });
  await moving.tell(call);
  await serverAt("192.0.2.9", 7443).tell(call);
  t.same(await shown(), ["192.0.2.1:6443", "192.0.2.9:7443"]);
  advertise.address = "192.0.2.5";
  await moving.tell(call);
  t.same(await shown(), ["192.0.2.5:6443", "192.0.2.9:7443"]);
});

t.test("run() renews, and leaves when it is stopped, unless it is the last", async (t) => {
  const { clock, serverAt, shown } = await room(t);
  const stops = [new AbortController(), new AbortController()];
  const servers = [serverAt("192.0.2.1"), serverAt("192.0.2.2")];
  for (const server of servers) await server.tell(call);
  const running = servers.map((server, index) => server.run(stops[index] as AbortController));
  for (let passed = 0; passed < 60_000; passed += 10_000) await clock.advance(10_000);
  await until("both after a minute", async () => (await shown()).length === 2);
  stops[0]?.abort();
  await running[0];
  t.same(await shown(), ["192.0.2.2:6443"]);
  stops[1]?.abort();
  await running[1];
  t.same(await shown(), ["192.0.2.2:6443"]);
});

t.test("tell() writes the only server of its store without a lease", async (t) => {
  const { client, serverAt, shown } = await room(t);
  await serverAt("192.0.2.1", 6443, false).tell(call);
  t.same(await shown(), ["192.0.2.1:6443"]);
  t.same((await client.list(resources.leases, { namespace: "kube-system" }, call)).items, []);
});

t.test("serverNames() has the names of every server that lives", async (t) => {
  const { api, serverAt } = await room(t);
  const { server: own } = testPki();
  const names = () => serverNames({ serving: () => own }, api.server.informers).dnsNames;
  const before = names();
  const one = serverAt("192.0.2.1", 6443, true, ["one.test"]);
  const two = serverAt("192.0.2.2", 6443, true, ["two.test", "api.test"]);
  await one.tell(call);
  await two.tell(call);
  await until("both to be seen", () => names().length === before.length + 3);
  t.same(new Set(names()), new Set([...before, "one.test", "two.test", "api.test"]));
  await two.run({ signal: AbortSignal.abort() });
  await until("the one that stopped to be gone", () => names().length === before.length + 1);
});
