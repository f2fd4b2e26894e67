// Clients that ask and do not read, and name servers that do not answer: what is held for them is bounded.

import dgram from "node:dgram";
import net from "node:net";
import { decode, encode } from "dns-packet";
import t from "tap";
import { until } from "../../../test/harness/until.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { systemClock } from "../../kit/base/clock.ts";
import { noLog } from "../../kit/base/log.ts";
import type { EndpointSlice, Service } from "../../kit/kube/objects/types.ts";
import { type Question, readQuestion } from "./codec.ts";
import { Forwarder } from "./forward.ts";
import { entryOf, ServiceRecords } from "./records.ts";
import { answerQuery, type DnsServerOptions, serveDns } from "./server.ts";
import { Zone } from "./zone.ts";

type Teardown = { teardown(end: () => unknown): void };

const ask = (name: string, id = 7): Buffer =>
  encode({ type: "query", id, flags: 256, questions: [{ name, type: "A" }] });

const framed = (query: Buffer): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  return Buffer.concat([length, query]);
};

/** A zone with one name of 200 addresses that counts what it is asked. */
function countingZone() {
  const records = new ServiceRecords();
  const endpoints = Array.from({ length: 200 }, (_, n) => ({
    addresses: [`10.42.9.${n}`],
    conditions: { ready: true },
  }));
  const slice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {},
    addressType: "IPv4",
    endpoints,
  };
  const service = { apiVersion: "v1", kind: "Service", metadata: { namespace: "big", name: "many" } };
  records.set(
    "big/many",
    entryOf({ ...service, spec: { clusterIP: "None" } } as Service, [slice as unknown as EndpointSlice]),
  );
  const zone = new Zone("cluster.local", records);
  let asked = 0;
  const answer = zone.answer.bind(zone);
  zone.answer = (question: Question) => {
    asked++;
    return answer(question);
  };
  return { zone, asked: () => asked };
}

const many = "many.big.svc.cluster.local";

async function start(t: Teardown, options: Partial<DnsServerOptions> = {}) {
  const server = await serveDns(
    {
      zone: countingZone().zone,
      forwarder: new Forwarder({ clock: systemClock, upstreams: () => [] }),
      log: noLog,
      ...options,
    },
    { address: "127.0.0.1", port: 0 },
    uninterrupted,
  );
  t.teardown(() => server.close());
  return server;
}

t.test("a client that asks over TCP and does not read is not answered without end", async (t) => {
  const { zone, asked } = countingZone();
  const server = await start(t, { zone });
  const questions = 100_000;
  const socket = net.connect(server.port, "127.0.0.1", () =>
    socket.write(Buffer.concat(Array.from({ length: questions }, () => framed(ask(many))))),
  );
  socket.on("error", () => {});
  socket.pause();
  t.teardown(() => socket.destroy());
  let last = -1;
  let still = 0;
  await until("the server to rest", () => {
    still = asked() === last && asked() > 0 ? still + 1 : 0;
    last = asked();
    return still > 10;
  });
  t.ok(asked() < questions / 5, `${asked()} of ${questions} questions were answered`);
  let isClosed = false;
  socket.once("close", () => (isClosed = true));
  socket.resume();
  await until("it to be answered once it reads, or closed as idle", () => isClosed || asked() > last);
});

t.test("answers over TCP come for every question of a client that reads", async (t) => {
  const server = await start(t);
  const socket = net.connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  const count = 500;
  let received = 0;
  socket.on("data", (chunk) => (received += chunk.length));
  const all = Buffer.concat(Array.from({ length: count }, (_, id) => framed(ask(many, id))));
  // In pieces that split questions anywhere.
  for (let at = 0; at < all.length; at += 999) socket.write(all.subarray(at, at + 999));
  const one = await answerQuery(
    { zone: countingZone().zone, forwarder: new Forwarder({ clock: systemClock, upstreams: () => [] }), log: noLog },
    ask(many),
    "tcp",
    uninterrupted,
  );
  await until("all answers", () => received === count * (2 + (one?.length ?? 0)));
  t.pass();
});

t.test("one address has a part of the TCP connections", async (t) => {
  const tcp = { mostAtOnce: 16, idleMs: 60_000, mostConnections: 10, mostConnectionsPerAddress: 3 };
  const server = await start(t, { tcp });
  let closed = 0;
  for (let n = 0; n < 6; n++) {
    const socket = net.connect({ port: server.port, host: "127.0.0.1" }).on("error", () => {});
    socket.on("close", () => closed++).resume();
    t.teardown(() => socket.destroy());
  }
  await until("the others to be closed", () => closed === 3);
  const other = net.connect({ port: server.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  t.teardown(() => other.destroy());
  let isAnswered = false;
  other.on("data", () => (isAnswered = true)).write(framed(ask(many)));
  await until("another address to be answered", () => isAnswered);
  t.equal(closed, 3);
});

async function nameServer(t: Teardown, onQuestion: (query: Buffer, reply: (answer: Buffer) => void) => void) {
  const socket = dgram.createSocket("udp4");
  socket.on("message", (query, from) => onQuestion(query, (answer) => socket.send(answer, from.port, from.address)));
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { address: "127.0.0.1", port: socket.address().port };
}

const reply = (query: Buffer, name: string, address = "192.0.2.1"): Buffer =>
  encode({
    type: "response",
    id: query.readUInt16BE(0),
    flags: 0x180,
    questions: [{ name, type: "A" }],
    answers: [{ name, type: "A", ttl: 5, data: address }],
  });

t.test(
  "a flood of questions to a silent name server fails beyond a bound, and others are answered again",
  async (t) => {
    const waiting: (() => void)[] = [];
    const upstream = await nameServer(t, (query, send) => {
      const question = readQuestion(query);
      if (question && "name" in question) waiting.push(() => send(reply(query, question.name)));
    });
    const mostPending = 50;
    const forwarder = new Forwarder({
      clock: systemClock,
      upstreams: () => [upstream],
      timeoutMs: 60_000,
      mostPending,
    });
    const options = { zone: countingZone().zone, forwarder, log: noLog };
    const codes = new Map<string, number>();
    const asked = Array.from({ length: 2000 }, async (_, n) => {
      const answer = decode((await answerQuery(options, ask(`n${n}.example.com`), "udp", uninterrupted)) as Buffer);
      const { rcode } = answer as { rcode?: string };
      codes.set(rcode ?? "", (codes.get(rcode ?? "") ?? 0) + 1);
    });
    await until("those beyond the bound to fail", () => codes.get("SERVFAIL") === 2000 - mostPending);
    await until("the name server to be asked the others", () => waiting.length === mostPending);
    for (const answer of waiting) answer();
    await Promise.all(asked);
    t.equal(codes.get("NOERROR"), mostPending);
    const again = answerQuery(options, ask("again.example.com"), "udp", uninterrupted);
    await until("the next one to be asked", () => waiting.length === mostPending + 1);
    waiting.at(-1)?.();
    t.equal((decode((await again) as Buffer) as { rcode?: string }).rcode, "NOERROR");
  },
);

t.test("one client cannot take all that may be outstanding", async (t) => {
  let asked = 0;
  const upstream = await nameServer(t, () => asked++);
  const forwarder = new Forwarder({ clock: systemClock, upstreams: () => [upstream], timeoutMs: 1000 });
  const server = await start(t, { forwarder, outstanding: { most: 20, mostPerClient: 5 } });
  const client = async (address: string) => {
    const socket = dgram.createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, address, resolve));
    t.teardown(() => new Promise<void>((resolve) => socket.close(() => resolve())));
    return socket;
  };
  const eve = await client("127.0.0.2");
  let failed = 0;
  eve.on("message", () => failed++);
  for (let n = 0; n < 30; n++) eve.send(ask(`e${n}.example.com`), server.port, "127.0.0.1");
  await until("what is beyond its part to fail", () => failed >= 25);
  await until("the rest to be asked", () => asked === 5);
  const bob = await client("127.0.0.3");
  bob.send(ask("bob.example.com"), server.port, "127.0.0.1");
  await until("another client's question to be asked", () => asked === 6);
  t.pass();
});

t.test("an answer to another question is not taken for the one that was asked", async (t) => {
  const upstream = await nameServer(t, (query, send) => {
    send(reply(query, "other.example.com", "203.0.113.66"));
    send(reply(query, "wanted.example.com"));
  });
  const forwarder = new Forwarder({ clock: systemClock, upstreams: () => [upstream], timeoutMs: 60_000 });
  const options = { zone: countingZone().zone, forwarder, log: noLog };
  const answer = decode((await answerQuery(options, ask("wanted.example.com"), "udp", uninterrupted)) as Buffer);
  t.match(answer.answers, [{ data: "192.0.2.1" }]);
});
