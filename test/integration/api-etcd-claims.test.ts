// What only one Service may have, given out by several API servers on one real etcd: each address and each node port once, however close
// together the requests are, and whenever a server is killed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { openEtcdStore } from "../../plugins/store/etcd.ts";
import { type Json, startApi } from "../harness/api-server.ts";
import { noEtcd, startEtcd } from "../harness/etcd.ts";

const services = "/api/v1/namespaces/default/services";
const merge = { "content-type": "application/merge-patch+json" };
const serviceCidr = "10.43.0.0/16,fd00:43::/112";

async function openStore(t: Test, url: string): Promise<Store> {
  const store = await openEtcdStore({ endpoints: [url], clock: systemClock, log: noLog }, call);
  t.teardown(() => store.close());
  return store;
}

async function openServer(t: Test, url: string, cidr = serviceCidr) {
  const api = await startApi({ store: await openStore(t, url), serviceCidr: cidr });
  t.teardown(() => api.close());
  return api;
}

const service = (name: string, spec: Json = {}) => ({ metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } });
const nodePort = (port?: number) => ({ type: "NodePort", ports: [{ port: 80, ...(port ? { nodePort: port } : {}) }] });

const byText = (a: string, b: string) => a.localeCompare(b);

/** Every claim there is, and every one that the services there are should have. */
async function claims(store: Store): Promise<{ held: string[]; wanted: string[] }> {
  const { entries } = await store.list("/claims/", {}, call);
  const held = entries.map(({ key, value }) => `${key.slice("/claims/".length)} ${Buffer.from(value).toString()}`);
  const stored = await store.list("/registry/core/services/", {}, call);
  const wanted = stored.entries.flatMap(({ key, value }): string[] => {
    const { spec } = JSON.parse(Buffer.from(value).toString()) as Json;
    const ports = new Set(spec.ports.flatMap((port: Json) => port.nodePort ?? []));
    return [
      ...spec.clusterIPs.map((address: string) => `service-addresses/${address} ${key}`),
      ...[...ports].map((port) => `node-ports/${port} ${key}`),
    ];
  });
  return { held: held.sort(), wanted: wanted.sort() };
}

t.test("of two requests in the same instant for one address or port, one is served", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const one = await openServer(t, member?.url ?? "");
  const two = await openServer(t, member?.url ?? "");
  const tally: Record<string, number> = {};
  const both = async (what: string, spec: Json, refusal: RegExp) => {
    const answers = await Promise.all([
      one.ask("POST", services, service("a", spec)),
      two.ask("POST", services, service("b", spec)),
    ]);
    const outcome = answers
      .map(({ status, body }) => (status === 422 && !refusal.test(body.message) ? body.message : String(status)))
      .toSorted(byText)
      .join();
    tally[`${what} ${outcome}`] = (tally[`${what} ${outcome}`] ?? 0) + 1;
    await Promise.all([one.ask("DELETE", `${services}/a`), two.ask("DELETE", `${services}/b`)]);
  };
  for (let round = 0; round < 60; round++) {
    const address = `10.43.7.${round + 1}`;
    await both(
      "address",
      { clusterIP: address },
      /spec\.clusterIPs: Invalid value: \[\]string\{"10\.43\.7\.\d+"\}: failed to allocate IP 10\.43\.7\.\d+: provided IP is already allocated$/,
    );
    await both(
      "port",
      nodePort(30_000 + round),
      /spec\.ports\[0\]\.nodePort: Invalid value: 30\d+: provided port is already allocated$/,
    );
  }
  t.strictSame(tally, { "address 201,422": 60, "port 201,422": 60 });
  t.strictSame(await claims(one.store), { held: [], wanted: [] }, "what was deleted left nothing");
});

t.test("addresses and ports that nobody asked for by number are each given once", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  // So few that two servers that choose at random must meet.
  const cidr = "10.43.0.0/27";
  const apis = [await openServer(t, member?.url ?? "", cidr), await openServer(t, member?.url ?? "", cidr)] as const;
  const askAll = (count: number, ask: (api: (typeof apis)[0], index: number) => ReturnType<(typeof apis)[0]["ask"]>) =>
    Promise.all(Array.from({ length: count }, (_, index) => ask(apis[index % 2] ?? apis[0], index)));
  const make = (count: number) =>
    askAll(count, (api, index) => api.ask("POST", services, service(`s-${index}`, nodePort())));
  for (let round = 0; round < 3; round++) {
    const given = (await make(28)).map(({ body }) => body.spec?.clusterIP);
    t.equal(new Set(given).size, 28, "each its own address while there are some");
    await askAll(28, (api, index) => api.ask("DELETE", `${services}/s-${27 - index}`));
  }
  const answers = await make(40);
  const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.spec);
  t.equal(made.length, 30, "as many as the range has");
  t.equal(new Set(made.map(({ clusterIP }) => clusterIP)).size, 30, "each its own address");
  t.equal(new Set(made.map(({ ports }) => ports[0].nodePort)).size, 30, "and its own port");
  for (const { status, body } of answers) if (status !== 201) t.match(body.message, /range is full/);
});

t.test("updates take and give back in one step with the service", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const one = await openServer(t, member?.url ?? "");
  const two = await openServer(t, member?.url ?? "");
  await one.ask("POST", services, service("a"));
  await two.ask("POST", services, service("b"));
  const change = (api: typeof one, name: string, spec: Json) =>
    api.ask("PATCH", `${services}/${name}`, { spec }, merge);
  for (let round = 0; round < 30; round++) {
    const answers = await Promise.all([
      change(one, "a", nodePort(31_000 + round)),
      change(two, "b", nodePort(31_000 + round)),
    ]);
    t.strictSame(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [200, 422],
    );
    await Promise.all([change(two, "a", { type: "ClusterIP" }), change(one, "b", { type: "ClusterIP" })]);
  }
  await change(one, "a", { ipFamilyPolicy: "RequireDualStack" });
  const grown = await claims(one.store);
  t.strictSame(grown.held, grown.wanted);
  t.equal(grown.held.length, 3);
  await change(two, "a", { ipFamilyPolicy: "SingleStack" });
  const shrunk = await claims(one.store);
  t.strictSame(shrunk.held, shrunk.wanted);
  t.equal(shrunk.held.length, 2);
  const dry = await one.ask("POST", `${services}?dryRun=All`, service("dry"));
  t.match(dry.body.spec.clusterIP, /^10\.43\./, "a trial shows an address");
  t.strictSame((await claims(one.store)).held, shrunk.held, "and takes none");
  await one.ask("POST", services, service("held", { clusterIP: "fd00:43::77", ipFamilies: ["IPv6"] }));
  const otherwise = service("thief", { clusterIP: "fd00:43:0:0::77", ipFamilies: ["IPv6"] });
  t.match((await two.ask("POST", services, otherwise)).body.message, /provided IP is already allocated/);
});

t.test(
  "services from before there were claims are claimed at the start, and leftovers are let go",
  { skip: noEtcd },
  async (t) => {
    const [member] = await startEtcd(t);
    const store = await openStore(t, member?.url ?? "");
    const before = await openServer(t, member?.url ?? "");
    for (const name of ["a", "b", "c"]) await before.ask("POST", services, service(name, nodePort()));
    const { held, wanted } = await claims(store);
    t.strictSame(held, wanted);
    const { entries } = await store.list("/claims/", {}, call);
    for (const { key } of entries.slice(0, 3)) await store.delete(key, "any", call);
    const gone = Buffer.from("/registry/core/services/default/gone");
    await store.put("/claims/service-addresses/10.43.9.9", gone, "absent", call);
    await store.put("/claims/node-ports/32100", gone, "absent", call);
    // A server that runs meets them when it is asked for them.
    const taken = await before.ask("POST", services, service("heir", { clusterIP: "10.43.9.9" }));
    t.equal(taken.status, 201, "whose owner is not there is no owner");
    await openServer(t, member?.url ?? "");
    const after = await claims(store);
    t.strictSame(after.held, after.wanted);
  },
);

t.test("a service may have more ports than etcd takes keys in one transaction", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const api = await openServer(t, member?.url ?? "");
  const ports = Array.from({ length: 200 }, (_, index) => ({ name: `p${index}`, port: 1000 + index }));
  const made = await api.ask("POST", services, service("wide", { type: "NodePort", ports }));
  t.equal(made.status, 201, made.text);
  const others = ports.map((port, index) => ({ ...port, nodePort: 31_000 + index }));
  const change = { spec: { type: "NodePort", ports: others } };
  const changed = await api.ask("PATCH", `${services}/wide`, change, merge);
  t.equal(changed.status, 200, changed.text);
  const thief = service("thief", { clusterIP: changed.body.spec.clusterIP });
  t.equal((await api.ask("POST", services, thief)).status, 422);
  t.equal((await api.ask("DELETE", `${services}/wide`)).status, 200);
  t.strictSame((await claims(api.store)).held, []);
});

t.test("a server that is killed leaves no claim without its service", { skip: noEtcd }, async (t) => {
  const [member] = await startEtcd(t);
  const url = member?.url ?? "";
  const api = await openServer(t, url);
  const program = join(import.meta.dirname, "../fixtures/service-storm.ts");
  for (let round = 0; round < 4; round++) {
    const [command, ...args] = selfCommand(program, [url, `k${round}`]);
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "close");
    let made = 0;
    for await (const chunk of child.stdout) {
      made += String(chunk).split("\n").length - 1;
      if (made >= 20 + round * 7) break;
    }
    child.kill("SIGKILL");
    await ended;
    const { held, wanted } = await claims(api.store);
    t.strictSame(held, wanted, `round ${round}`);
    t.ok(held.length >= 20);
  }
});
