// Serves DNS over UDP and TCP on one address: questions about the cluster from the zone, all others from upstream.

import dgram from "node:dgram";
import net from "node:net";
import type { Call } from "../../kit/base/call.ts";
import { Fault } from "../../kit/base/fault.ts";
import type { Log } from "../../kit/base/log.ts";
import {
  type Answer,
  type Question,
  readQuestion,
  recordType,
  responseCode,
  writeAnswer,
  writeError,
} from "./codec.ts";
import type { Forwarder } from "./forward.ts";
import type { LoopGuard } from "./loop-guard.ts";
import { Outstanding, type OutstandingLimits } from "./outstanding.ts";
import { defaultTcpLimits, TcpConnections, type TcpLimits } from "./tcp.ts";
import type { Zone } from "./zone.ts";

export interface DnsServerOptions {
  readonly zone: Zone;
  readonly forwarder: Forwarder;
  readonly log: Log;
  /** Answers `.local` by asking the link. */
  readonly isMulticastEnabled?: boolean;
  /** Told of every name that is asked for, since it may be its own that came round. */
  readonly loopGuard?: Pick<LoopGuard, "notices">;
  readonly outstanding?: OutstandingLimits;
  readonly tcp?: TcpLimits;
}

const smallestUdp = 512;
// More than this is cut into fragments on common links, and fragments get lost.
const largestUdp = 1232;
const largestTcp = 65535;
/** Answers that the kernel has not taken yet; further ones are lost, as UDP may lose them anywhere. */
const mostUdpQueueBytes = 1 << 20;
const defaultOutstanding: OutstandingLimits = { most: 4000, mostPerClient: 1000 };

const failure: Answer = {
  code: responseCode.serverFailure,
  isAuthoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
};

/** The answer's bytes, or undefined for what deserves none. */
export async function answerQuery(
  options: DnsServerOptions,
  query: Buffer,
  transport: "udp" | "tcp",
  call: Call,
): Promise<Buffer | undefined> {
  const question = readQuestion(query);
  if (!question) return undefined;
  if ("error" in question) return writeError(query, question.error);
  const limit =
    transport === "tcp" ? largestTcp : Math.min(largestUdp, Math.max(smallestUdp, question.edns?.size ?? smallestUdp));
  if (question.edns && question.edns.version > 0) return badVersion(question);
  if (options.loopGuard?.notices(question.name))
    return writeAnswer(question, { ...failure, code: responseCode.refused }, limit);
  const own = question.class === 1 || question.class === 255 ? options.zone.answer(question) : undefined;
  try {
    if (own?.external !== undefined && (question.type === recordType.A || question.type === recordType.AAAA))
      return await chase(options, question, own, own.external, limit, call);
    if (own) return writeAnswer(question, own, limit);
    if (!question.isRecursionDesired) return writeAnswer(question, { ...failure, code: responseCode.refused }, limit);
    const isLocal = options.isMulticastEnabled && (question.name === "local" || question.name.endsWith(".local"));
    const answer = isLocal
      ? await options.forwarder.askMulticast(question, query, call)
      : await options.forwarder.ask(question, query, call);
    return answer.length <= limit ? answer : cut(answer, question);
  } catch (error) {
    options.log.debug({ err: error, name: question.name }, "a DNS question could not be answered");
    return writeAnswer(question, failure, limit);
  }
}

// RFC 6891: an unknown version of EDNS is answered with BADVERS, whose upper bits stand in the OPT record.
function badVersion(question: Question): Buffer {
  const bytes = writeAnswer(question, { ...failure, code: 0 }, largestUdp);
  bytes[bytes.length - 6] = 1;
  return bytes;
}

function cut(answer: Buffer, question: Question): Buffer {
  const code = answer.readUInt16BE(2) & 15;
  const bytes = writeAnswer(question, { ...failure, code }, largestUdp);
  bytes.writeUInt16BE(bytes.readUInt16BE(2) | 0x200, 2);
  return bytes;
}

/** Follows an ExternalName out of the zone: our CNAME first, then what upstream says of its target. */
async function chase(
  options: DnsServerOptions,
  question: Question,
  own: Answer,
  target: string,
  limit: number,
  call: Call,
): Promise<Buffer> {
  const labels = target.split(".").map((label) => Buffer.from(label, "latin1").subarray(0, 63));
  const name = Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), label]), Buffer.from([0])]);
  const head = Buffer.from([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const tail = Buffer.from([question.type >> 8, question.type & 255, 0, 1]);
  const raw = Buffer.concat([name, tail]);
  const asked: Question = { ...question, name: target, raw, class: 1, edns: undefined };
  try {
    const answer = await options.forwarder.ask(asked, Buffer.concat([head, raw]), call);
    return writeAnswer(
      question,
      { ...own, answers: [...own.answers, ...addressesOf(answer, target, question.type)] },
      limit,
    );
  } catch {
    // The CNAME itself is known; a client that wants may go on with it.
    return writeAnswer(question, own, limit);
  }
}

/** The addresses of an answer, under the name that was asked for: chains in between are of no use to the client. */
function addressesOf(answer: Buffer, name: string, type: number): Answer["answers"] {
  const found: { name: string; ttl: number; data: { type: "A" | "AAAA"; address: string } }[] = [];
  const decoded = readAddresses(answer, type);
  for (const { ttl, address } of decoded)
    found.push({ name, ttl, data: { type: type === recordType.A ? "A" : "AAAA", address } });
  return found;
}

function readAddresses(bytes: Buffer, type: number): { ttl: number; address: string }[] {
  const found: { ttl: number; address: string }[] = [];
  let at = 12;
  const skipName = () => {
    for (let size = bytes.readUInt8(at); size !== 0; size = bytes.readUInt8(at)) {
      if ((size & 0xc0) === 0xc0) return void (at += 2);
      at += size + 1;
    }
    at += 1;
  };
  skipName();
  at += 4;
  for (let index = bytes.readUInt16BE(6); index > 0; index--) {
    skipName();
    const length = bytes.readUInt16BE(at + 8);
    const data = bytes.subarray(at + 10, at + 10 + length);
    if (bytes.readUInt16BE(at) === type && data.length === (type === recordType.A ? 4 : 16)) {
      const address = type === recordType.A ? data.join(".") : (data.toString("hex").match(/.{4}/g) ?? []).join(":");
      found.push({ ttl: bytes.readUInt32BE(at + 4), address });
    }
    at += 10 + length;
  }
  return found;
}

export interface RunningDns {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens on UDP and TCP; port 0 takes the same free port for both. */
export async function serveDns(
  options: DnsServerOptions,
  listen: { address: string; port: number },
  call: Call,
): Promise<RunningDns> {
  const outstanding = new Outstanding(options.outstanding ?? defaultOutstanding);
  const answer = async (query: Buffer, transport: "udp" | "tcp", client: string) => {
    if (!outstanding.begin(client)) return writeFailure(query);
    try {
      return await answerQuery(options, query, transport, call);
    } catch (error) {
      options.log.warn({ err: error }, "failed to answer a DNS question");
      return undefined;
    } finally {
      outstanding.end(client);
    }
  };
  const limits = options.tcp ?? defaultTcpLimits;
  const connections = new TcpConnections(limits, (query, client) => answer(query, "tcp", client));
  const tcp = net.createServer((socket) => connections.accept(socket));
  tcp.maxConnections = limits.mostConnections;
  await new Promise<void>((resolve, reject) => {
    tcp.once("error", (error: NodeJS.ErrnoException) => reject(listenFault(error, listen)));
    tcp.listen(listen.port, listen.address, resolve);
  });
  const { port } = tcp.address() as net.AddressInfo;
  const udp = dgram.createSocket({ type: listen.address.includes(":") ? "udp6" : "udp4", recvBufferSize: 1 << 20 });
  let isClosed = false;
  udp.on("message", (query, from) => {
    void answer(query, "udp", from.address).then((bytes) => {
      if (!bytes || isClosed || udp.getSendQueueSize?.() > mostUdpQueueBytes) return;
      udp.send(bytes, from.port, from.address, () => {});
    });
  });
  try {
    await new Promise<void>((resolve, reject) => {
      udp.once("error", (error: NodeJS.ErrnoException) => reject(listenFault(error, { ...listen, port })));
      udp.bind(port, listen.address, resolve);
    });
  } catch (error) {
    tcp.close();
    throw error;
  }
  // A client that is gone shows up as an error on the next send; it concerns nobody else.
  udp.on("error", (error) => options.log.debug({ err: error }, "DNS socket error"));
  tcp.on("error", (error) => options.log.debug({ err: error }, "DNS socket error"));
  return {
    port,
    async close() {
      isClosed = true;
      const closed = new Promise((resolve) => tcp.close(resolve));
      connections.closeAll();
      await new Promise<void>((resolve) => udp.close(() => resolve()));
      await closed;
    },
  };
}

function listenFault(error: NodeJS.ErrnoException, { address, port }: { address: string; port: number }): Fault {
  if (error.code === "EADDRINUSE")
    return new Fault("already-exists", `Cannot serve DNS on ${address}:${port}: another program listens there`, {
      cause: error,
    });
  return new Fault("unavailable", `Cannot serve DNS on ${address}:${port}: ${error.message}`, { cause: error });
}

/** SERVFAIL for a question there is no room for; nothing for what is none. */
function writeFailure(query: Buffer): Buffer | undefined {
  const question = readQuestion(query);
  if (!question) return undefined;
  return "error" in question ? writeError(query, question.error) : writeAnswer(question, failure, smallestUdp);
}
