import dgram from "node:dgram";
import net from "node:net";
import { type DecodedPacket, decode, encode, type Packet } from "dns-packet";
import fc from "fast-check";
import t from "tap";
import { uninterrupted } from "../../kit/base/call.ts";
import { type Clock, FakeClock, systemClock } from "../../kit/base/clock.ts";
import type { InformerEvent } from "../../kit/kube/informer.ts";
import { noLog } from "../../kit/base/log.ts";
import type { ResourceRef } from "../../kit/kube/objects/resources.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { until } from "../../../test/harness/until.ts";
import { AnswerCache } from "./answer-cache.ts";
import { readQuestion } from "./codec.ts";
import { followServices } from "./daemon.ts";
import { Forwarder, type Upstream } from "./forward.ts";
import { LoopGuard } from "./loop-guard.ts";
import { entryOf, ServiceRecords } from "./records.ts";
import { parseNameservers } from "./resolv-conf.ts";
import { answerQuery, type DnsServerOptions, serveDns } from "./server.ts";
import { Zone } from "./zone.ts";

function service(namespace: string, name: string, spec: Record<string, unknown>): Service {
  return { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec } as Service;
}

function slice(endpoints: Record<string, unknown>[], extra: Record<string, unknown> = {}): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {},
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints,
    ...extra,
  } as unknown as EndpointSlice;
}

function makeRecords(): ServiceRecords {
  const records = new ServiceRecords();
  const put = (object: Service, slices: EndpointSlice[] = []) =>
    records.set(`${object.metadata.namespace}/${object.metadata.name}`, entryOf(object, slices));
  put(
    service("shop", "web", {
      clusterIP: "10.43.0.5",
      clusterIPs: ["10.43.0.5", "fd43::5"],
      ports: [
        { name: "http", port: 80 },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
    }),
  );
  put(service("shop", "db", { clusterIP: "None" }), [
    slice([
      { addresses: ["10.42.0.2"], hostname: "db-0", conditions: { ready: true } },
      { addresses: ["10.42.0.3"], hostname: "db-1", conditions: { ready: false } },
      { addresses: ["10.42.0.4"], conditions: { ready: true } },
    ]),
    slice([{ addresses: ["fd42::2"], hostname: "db-0", conditions: { ready: true } }], { addressType: "IPv6" }),
  ]);
  put(service("shop", "early", { clusterIP: "None", publishNotReadyAddresses: true }), [
    slice([{ addresses: ["10.42.0.9"], hostname: "e-0", conditions: { ready: false } }]),
  ]);
  put(service("shop", "outside", { type: "ExternalName", externalName: "www.example.com" }));
  put(service("shop", "inside", { type: "ExternalName", externalName: "web.shop.svc.cluster.local" }));
  put(service("shop", "circle", { type: "ExternalName", externalName: "circle.shop.svc.cluster.local" }));
  const many = Array.from({ length: 200 }, (_, index) => ({
    addresses: [`10.42.9.${index}`],
    conditions: { ready: true },
  }));
  put(service("big", "many", { clusterIP: "None" }), [slice(many)]);
  return records;
}

function optionsWith(upstreams: () => readonly Upstream[] = () => []): DnsServerOptions {
  return {
    zone: new Zone("cluster.local", makeRecords()),
    forwarder: new Forwarder({ clock: systemClock, upstreams, timeoutMs: 1000 }),
    log: noLog,
  };
}

async function query(
  options: DnsServerOptions,
  name: string,
  type: string,
  extra: Partial<Packet> = {},
  transport: "udp" | "tcp" = "udp",
): Promise<DecodedPacket & { rcode: string; flag_aa: boolean; flag_tc: boolean }> {
  const bytes = encode({ type: "query", id: 77, flags: 256, questions: [{ name, type: type as "A" }], ...extra });
  const answer = await answerQuery(options, bytes, transport, uninterrupted);
  if (!answer) throw new Error("no answer");
  return decode(answer) as never;
}

const isService = (data: unknown): data is { port: number; target: string } =>
  typeof data === "object" && data !== null && "target" in data;

const shown = (packet: { answers?: readonly unknown[] | undefined }) =>
  (packet.answers ?? [])
    .map((record) => {
      const { type, data } = record as { type: string; data: unknown };
      return `${type} ${isService(data) ? `${data.port} ${data.target}` : String(data)}`;
    })
    .sort();

t.test("the zone answers as the specification says", async (t) => {
  const options = optionsWith();
  const rows: [string, string, string, string[]][] = [
    ["web.shop.svc.cluster.local", "A", "NOERROR", ["A 10.43.0.5"]],
    ["WEB.Shop.svc.cluster.LOCAL", "AAAA", "NOERROR", ["AAAA fd43::5"]],
    ["web.shop.svc.cluster.local", "TXT", "NOERROR", []],
    ["_http._tcp.web.shop.svc.cluster.local", "SRV", "NOERROR", ["SRV 80 web.shop.svc.cluster.local"]],
    ["_dns._udp.web.shop.svc.cluster.local", "SRV", "NOERROR", ["SRV 53 web.shop.svc.cluster.local"]],
    ["_dns._tcp.web.shop.svc.cluster.local", "SRV", "NXDOMAIN", []],
    ["_tcp.web.shop.svc.cluster.local", "A", "NOERROR", []],
    ["db.shop.svc.cluster.local", "A", "NOERROR", ["A 10.42.0.2", "A 10.42.0.4"]],
    ["db.shop.svc.cluster.local", "AAAA", "NOERROR", ["AAAA fd42::2"]],
    ["db-0.db.shop.svc.cluster.local", "A", "NOERROR", ["A 10.42.0.2"]],
    ["db-1.db.shop.svc.cluster.local", "A", "NXDOMAIN", []],
    ["10-42-0-4.db.shop.svc.cluster.local", "A", "NOERROR", ["A 10.42.0.4"]],
    ["e-0.early.shop.svc.cluster.local", "A", "NOERROR", ["A 10.42.0.9"]],
    [
      "_http._tcp.db.shop.svc.cluster.local",
      "SRV",
      "NOERROR",
      [
        "SRV 8080 10-42-0-4.db.shop.svc.cluster.local",
        "SRV 8080 db-0.db.shop.svc.cluster.local",
        "SRV 8080 db-0.db.shop.svc.cluster.local",
      ],
    ],
    ["10-42-0-7.shop.pod.cluster.local", "A", "NOERROR", ["A 10.42.0.7"]],
    ["fd42--7.shop.pod.cluster.local", "AAAA", "NOERROR", ["AAAA fd42::7"]],
    ["nonsense.shop.pod.cluster.local", "A", "NXDOMAIN", []],
    ["5.0.43.10.in-addr.arpa", "PTR", "NOERROR", ["PTR web.shop.svc.cluster.local"]],
    ["2.0.42.10.in-addr.arpa", "PTR", "NOERROR", ["PTR db-0.db.shop.svc.cluster.local"]],
    ["inside.shop.svc.cluster.local", "A", "NOERROR", ["A 10.43.0.5", "CNAME web.shop.svc.cluster.local"]],
    ["outside.shop.svc.cluster.local", "CNAME", "NOERROR", ["CNAME www.example.com"]],
    ["dns-version.cluster.local", "TXT", "NOERROR", ["TXT 1.1.0"]],
    ["shop.svc.cluster.local", "A", "NOERROR", []],
    ["svc.cluster.local", "A", "NOERROR", []],
    ["nowhere.svc.cluster.local", "A", "NXDOMAIN", []],
    ["none.shop.svc.cluster.local", "A", "NXDOMAIN", []],
    ["a.b.web.shop.svc.cluster.local", "A", "NXDOMAIN", []],
    ["else.cluster.local", "A", "NXDOMAIN", []],
  ];
  for (const [name, type, rcode, answers] of rows) {
    const packet = await query(options, name, type);
    t.same([packet.rcode, shown(packet)], [rcode, answers], `${name} ${type}`);
    t.ok(packet.flag_aa, name);
    t.equal(packet.id, 77);
    if (answers.length === 0) t.match(packet.authorities, [{ type: "SOA", name: "cluster.local" }], name);
  }
  t.match(
    (await query(options, "_http._tcp.web.shop.svc.cluster.local", "SRV")).additionals?.map((record) => record.type),
    ["A", "AAAA"],
  );
  t.equal((await query(options, "circle.shop.svc.cluster.local", "A")).rcode, "NOERROR", "a circle of names ends");
});

t.test("records go away with what they came from", async (t) => {
  const records = makeRecords();
  const zone = new Zone("cluster.local", records);
  records.set("shop/web", undefined);
  t.equal(zone.answer({ name: "web.shop.svc.cluster.local", type: 1 })?.code, 3);
  t.equal(zone.answer({ name: "5.0.43.10.in-addr.arpa", type: 12 }), undefined);
});

t.test("answers too large for UDP are cut, and whole over TCP or with EDNS room", async (t) => {
  const options = optionsWith();
  const name = "many.big.svc.cluster.local";
  const cut = await query(options, name, "A");
  t.equal(cut.flag_tc, true);
  t.equal(cut.answers?.length, 0);
  t.equal((await query(options, name, "A", {}, "tcp")).answers?.length, 200);
  const edns = await query(options, "db.shop.svc.cluster.local", "A", {
    additionals: [{ type: "OPT", name: ".", udpPayloadSize: 4096 } as never],
  });
  t.match(edns.additionals, [{ type: "OPT", udpPayloadSize: 1232 }]);
});

t.test("malformed questions get a format error or nothing, never a crash", async (t) => {
  const options = optionsWith();
  t.equal(await answerQuery(options, Buffer.from([1, 2, 3]), "udp", uninterrupted), undefined);
  const answered = encode({ type: "response", id: 1, questions: [{ name: "a", type: "A" }] });
  t.equal(await answerQuery(options, answered, "udp", uninterrupted), undefined, "an answer is not answered");
  const good = encode({
    type: "query",
    id: 9,
    flags: 256,
    questions: [{ name: "web.shop.svc.cluster.local", type: "A" }],
  });
  const status = Buffer.from(good);
  status.writeUInt16BE(0x1000, 2);
  t.equal(((await answerQuery(options, status, "udp", uninterrupted))?.readUInt16BE(2) ?? 0) & 15, 4);
  const looped = Buffer.concat([good.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])]);
  t.equal(
    ((await answerQuery(options, looped, "udp", uninterrupted))?.readUInt16BE(2) ?? 0) & 15,
    1,
    "a name that points at itself",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 80 }),
      fc.nat(good.length - 1),
      fc.nat(255),
      async (noise, at, value) => {
        await answerQuery(options, Buffer.from(noise), "udp", uninterrupted);
        const changed = Buffer.from(good);
        changed[at] = value;
        await answerQuery(options, changed, "tcp", uninterrupted);
        const tail = Buffer.concat([good, noise]);
        tail.writeUInt16BE(3, 10);
        readQuestion(tail);
      },
    ),
    { numRuns: 500 },
  );
});

/** An upstream that answers what it is told to, and counts. */
async function upstream(
  t: { teardown(work: () => void): void },
  answer: (name: string, type: string) => Partial<Packet> | undefined,
  /** Answers in the way it is asked: with EDNS if the question had it. */
  options?: "EDNS",
) {
  const asked: string[] = [];
  const reply = (bytes: Buffer) => {
    const packet = decode(bytes);
    const [question] = packet.questions ?? [];
    if (!question) return undefined;
    asked.push(question.name);
    const body = answer(question.name, question.type);
    const additionals = options === "EDNS" ? (packet.additionals ?? []) : [];
    return (
      body &&
      encode({ type: "response", id: packet.id ?? 0, flags: 0x180, questions: [question], additionals, ...body })
    );
  };
  const tcp = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      const packet = decode(chunk.subarray(2));
      const [question] = packet.questions ?? [];
      const answers = Array.from({ length: 300 }, (_, index) => ({
        type: "A" as const,
        name: question?.name ?? "",
        ttl: 60,
        data: `192.0.2.${index % 256}`,
      }));
      const body = encode({
        type: "response",
        id: packet.id ?? 0,
        flags: 0x180,
        questions: packet.questions ?? [],
        answers,
      });
      const length = Buffer.alloc(2);
      length.writeUInt16BE(body.length);
      socket.end(Buffer.concat([length, body]));
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  const { port } = tcp.address() as net.AddressInfo;
  const udp = dgram.createSocket("udp4");
  udp.on("message", (bytes, from) => {
    const body = reply(bytes);
    if (body) udp.send(body, from.port, from.address);
  });
  await new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve));
  t.teardown(() => {
    udp.close();
    tcp.close();
  });
  return { asked, at: { address: "127.0.0.1", port } };
}

t.test("other names are asked upstream once, kept, and failures are told", async (t) => {
  const server = await upstream(t, (name, type) => {
    if (name === "silent.example") return undefined;
    if (name === "none.example")
      return {
        flags: 0x183,
        authorities: [{ type: "SOA", name: "example", ttl: 60, data: { mname: "a", rname: "b", serial: 1 } } as never],
      };
    if (name === "big.example") return { flags: 0x380, answers: [] };
    return { answers: type === "A" ? [{ type: "A", name, ttl: 60, data: "192.0.2.7" }] : [] };
  });
  const options = optionsWith(() => [server.at]);
  const [first, second] = await Promise.all([
    query(options, "www.example.com", "A"),
    query(options, "www.example.com", "A"),
  ]);
  t.same([shown(first), shown(second)], [["A 192.0.2.7"], ["A 192.0.2.7"]]);
  await query(options, "www.example.com", "A");
  t.equal(server.asked.filter((name) => name === "www.example.com").length, 1);
  t.equal((await query(options, "none.example", "A")).rcode, "NXDOMAIN");
  t.same(shown(await query(options, "outside.shop.svc.cluster.local", "A")), ["A 192.0.2.7", "CNAME www.example.com"]);
  t.equal((await query(options, "big.example", "A", {}, "tcp")).answers?.length, 300, "asked again over TCP");
  t.equal((await query(options, "big.example", "A")).flag_tc, true);
  t.equal((await query(optionsWith(), "www.example.com", "A")).rcode, "SERVFAIL", "no upstream");
  t.equal((await query(options, "www.example.com", "A", { flags: 0 })).rcode, "REFUSED", "without recursion");
  t.equal(
    (
      await query(
        optionsWith(() => [server.at]),
        "silent.example",
        "A",
      )
    ).rcode,
    "SERVFAIL",
  );
  const two = optionsWith(() => [{ address: "127.0.0.1", port: 1 }, server.at]);
  t.same(
    shown(await query(two, "www.example.com", "A")),
    ["A 192.0.2.7"],
    "the second server is asked when the first fails",
  );
});

t.test("an answer that is kept suits whoever asks: by the spelling of the name, and by EDNS", async (t) => {
  const server = await upstream(t, (name) => ({ answers: [{ type: "A", name, ttl: 60, data: "192.0.2.7" }] }), "EDNS");
  const options = optionsWith(() => [server.at]);
  const edns = { additionals: [{ type: "OPT", name: ".", udpPayloadSize: 1232 } as never] };
  const optOf = (packet: { additionals?: readonly { type: string }[] | undefined }) =>
    packet.additionals?.filter(({ type }) => type === "OPT").length;
  const first = await query(options, "WwW.exAMple.com", "A", edns);
  const second = await query(options, "www.Example.COM", "A", edns);
  const plain = await query(options, "www.example.com", "A");
  t.same(
    [first, second, plain].map(({ questions }) => questions?.[0]?.name),
    ["WwW.exAMple.com", "www.Example.COM", "www.example.com"],
  );
  t.same([optOf(first), optOf(second), optOf(plain)], [1, 1, 0]);
  t.equal(server.asked.length, 2, "the second was answered from memory");
});

t.test("name servers that lead back here are not asked, until they are others", async (t) => {
  let listed: readonly Upstream[] = [];
  let probes = 0;
  const loopGuard: LoopGuard = new LoopGuard({
    listed: () => listed,
    ask: (question, packet) => {
      probes++;
      void forwarder.ask(question, packet, uninterrupted).catch(() => {});
    },
    log: noLog,
  });
  const forwarder = new Forwarder({ clock: systemClock, upstreams: () => loopGuard.upstreams(), timeoutMs: 1000 });
  const options = { ...optionsWith(), forwarder, loopGuard };
  const server = await serveDns(options, { address: "127.0.0.1", port: 0 }, uninterrupted);
  t.teardown(() => server.close());
  t.equal((await query(options, "a.example", "A")).rcode, "SERVFAIL", "nobody to ask");
  t.equal(probes, 0);

  listed = [{ address: "127.0.0.1", port: server.port }];
  loopGuard.upstreams();
  await until("the loop to be noticed", () => loopGuard.upstreams().length === 0);
  t.equal((await query(options, "a.example", "A")).rcode, "SERVFAIL");
  t.equal(probes, 1, "one probe for the list");

  const other = await upstream(t, (name) => ({ answers: [{ type: "A", name, ttl: 60, data: "192.0.2.7" }] }));
  listed = [other.at];
  t.same(shown(await query(options, "b.example", "A")), ["A 192.0.2.7"]);
  t.equal(probes, 2);
  t.notOk(loopGuard.notices("b.example"));
});

t.test("the cache counts down and forgets", async (t) => {
  const clock = new FakeClock();
  const cache = new AnswerCache(clock, 2);
  const answer = (name: string) =>
    encode({
      type: "response",
      id: 1,
      questions: [{ name, type: "A" }],
      answers: [{ type: "A", name, ttl: 10, data: "192.0.2.1" }],
    });
  cache.put("a", answer("a"));
  await clock.advance(4000);
  const packet = decode(cache.get("a", 99) as Buffer);
  t.match(packet, { id: 99, answers: [{ ttl: 6 }] });
  cache.put("b", answer("b"));
  cache.put("c", answer("c"));
  t.equal(cache.get("a", 1), undefined, "the least used is thrown out");
  await clock.advance(10_000);
  t.equal(cache.get("c", 1), undefined);
});

t.test("the cache does not mind when the host's clock is set", async (t) => {
  const steady = new FakeClock();
  let wallMs = Date.UTC(1970, 0, 1);
  const clock = { ...methodsOf(steady), now: () => wallMs };
  const cache = new AnswerCache(clock);
  const name = "a.example";
  const answers = [{ type: "A" as const, name, ttl: 10, data: "192.0.2.1" }];
  cache.put(name, encode({ type: "response", id: 1, questions: [{ name, type: "A" }], answers }));
  for (const jumpedTo of [Date.UTC(2040, 0, 1), Date.UTC(1990, 0, 1)]) {
    wallMs = jumpedTo;
    await steady.advance(1000);
    t.ok(cache.get(name, 1), `still there in ${new Date(wallMs).getUTCFullYear()}`);
  }
  t.match(decode(cache.get(name, 1) as Buffer), { answers: [{ ttl: 8 }] });
  await steady.advance(8000);
  t.equal(cache.get(name, 1), undefined, "and gone in its time");
});

function methodsOf(clock: FakeClock): Omit<Clock, "now"> {
  return {
    monotonic: () => clock.monotonic(),
    after: (delayMs, then) => clock.after(delayMs, then),
    sleep: (delayMs, call) => clock.sleep(delayMs, call),
  };
}

t.test("serveDns() answers over both transports on one port, and refuses a taken one", async (t) => {
  const options = optionsWith();
  const server = await serveDns(options, { address: "127.0.0.1", port: 0 }, uninterrupted);
  t.teardown(() => server.close());
  await t.rejects(serveDns(options, { address: "127.0.0.1", port: server.port }, uninterrupted), {
    code: "already-exists",
  });
  const bytes = encode({
    type: "query",
    id: 5,
    flags: 256,
    questions: [{ name: "many.big.svc.cluster.local", type: "A" }],
  });
  const socket = dgram.createSocket("udp4");
  const udp = await new Promise<Buffer>((resolve) => {
    socket.once("message", resolve);
    socket.send(bytes, server.port, "127.0.0.1");
  });
  socket.close();
  t.ok(udp.readUInt16BE(2) & 0x200);
  const tcp = await new Promise<Buffer>((resolve) => {
    const client = net.connect(server.port, "127.0.0.1");
    let received = Buffer.alloc(0);
    client.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        client.destroy();
        resolve(received.subarray(2));
      }
    });
    // In two pieces, as a network may deliver it.
    client.write(Buffer.concat([Buffer.from([0, bytes.length]), bytes.subarray(0, 7)]));
    setImmediate(() => client.write(bytes.subarray(7)));
  });
  t.equal(decode(tcp).answers?.length, 200);
});

t.test("followServices() answers with what the informers say", async (t) => {
  const handlers: Record<string, (event: InformerEvent<never>) => void> = {};
  const known = new Map<string, Service>();
  const records = new ServiceRecords();
  const end = followServices(
    {
      informer: <T>(ref: ResourceRef) => ({
        synced: Promise.resolve(),
        isSynced: () => true,
        get: (namespace: string, name: string) => known.get(`${namespace}/${name}`) as T | undefined,
        list: () => [],
        onEvent: (handler: (event: InformerEvent<T>) => void) => {
          handlers[ref.plural] = handler as never;
          return () => {};
        },
      }),
    },
    records,
  );
  const db = service("shop", "db", { clusterIP: "None" });
  const one = slice([{ addresses: ["10.42.0.2"] }], {
    metadata: { namespace: "shop", name: "db-1", labels: { "kubernetes.io/service-name": "db" } },
  });
  handlers.endpointslices?.({ type: "add", object: one as never });
  t.equal(records.get("shop", "db"), undefined);
  known.set("shop/db", db);
  handlers.services?.({ type: "add", object: db as never });
  t.equal(records.get("shop", "db")?.endpoints.length, 1);
  handlers.endpointslices?.({ type: "delete", object: one as never });
  t.equal(records.get("shop", "db")?.endpoints.length, 0);
  end();
});

t.test("parseNameservers() reads resolv.conf", async (t) => {
  t.same(parseNameservers("# x\nsearch a\nnameserver 192.0.2.1 # y\nnameserver fe80::1%eth0\nnameserver bad\n"), [
    "192.0.2.1",
    "fe80::1%eth0",
  ]);
});
