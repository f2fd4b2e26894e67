// Asks the node's own resolvers: one after the other, over UDP and over TCP where an answer was cut, each question once however
// many wait for it. Never asks itself.

import dgram from "node:dgram";
import { randomInt } from "node:crypto";
import net from "node:net";
import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import { Fault } from "../../kit/base/fault.ts";
import type { Question } from "./codec.ts";
import { AnswerCache } from "./answer-cache.ts";

export interface Upstream {
  readonly address: string;
  readonly port: number;
}

export interface ForwarderOptions {
  readonly clock: Clock;
  /** Asked at each question, so that a changed resolv.conf counts at once. */
  readonly upstreams: () => readonly Upstream[];
  readonly timeoutMs?: number;
  /** Questions that wait for a name server at the same time, each on a socket of its own; beyond they fail at once. */
  readonly mostPending?: number;
}

const defaultMostPending = 512;

/** Who asks without EDNS is not to get an answer with it. */
function keyOf({ name, type, class: of, edns, isRecursionDesired }: Question): string {
  return `${name}/${type}/${of}/${edns ? (edns.dnssecOk ? 2 : 1) : 0}${isRecursionDesired ? 1 : 0}`;
}

/** Clients that mix capitals into names, against forgers, want them back: another asker's are replaced. */
function asSpelled(answer: Buffer, { raw }: Question): Buffer {
  const echoed = answer.subarray(12, 12 + raw.length);
  const isSame = echoed.toString("latin1").toLowerCase() === raw.toString("latin1").toLowerCase();
  if (answer.readUInt16BE(4) === 1 && isSame) raw.copy(answer, 12);
  return answer;
}

/** An answer counts only from whom was asked, and to what was asked: one to guess has to hit the port and the id besides. */
function isFrom(upstream: Upstream, from: dgram.RemoteInfo, answer: Buffer, question: Question): boolean {
  return from.address === upstream.address && from.port === upstream.port && repeats(answer, question);
}

/** A server that could not read the question may leave it out of its error. */
function repeats(answer: Buffer, { raw }: Question): boolean {
  const count = answer.readUInt16BE(4);
  if (count === 0) return (answer.readUInt16BE(2) & 15) !== 0;
  const echoed = answer.subarray(12, 12 + raw.length);
  return count === 1 && echoed.toString("latin1").toLowerCase() === raw.toString("latin1").toLowerCase();
}

const mdns: Upstream = { address: "224.0.0.251", port: 5353 };

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache: AnswerCache;
  readonly #pending = new Map<string, Promise<Buffer>>();
  #multicast = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#cache = new AnswerCache(options.clock);
  }

  /** The answer's bytes with the id and the spelling of this question. Throws when nobody answers. */
  async ask(question: Question, query: Buffer, call: Call): Promise<Buffer> {
    const key = keyOf(question);
    const cached = this.#cache.get(key, question.id);
    if (cached) return asSpelled(cached, question);
    const pending = this.#pending.get(key) ?? this.#start(key, question, query, call);
    const answer = Buffer.from(await pending);
    answer.writeUInt16BE(question.id, 0);
    return asSpelled(answer, question);
  }

  #start(key: string, question: Question, query: Buffer, call: Call): Promise<Buffer> {
    this.#requireRoom();
    const work = this.#tryAll(question, query, call).then((answer) => {
      this.#cache.put(key, answer);
      return answer;
    });
    this.#pending.set(key, work);
    const forget = () => this.#pending.delete(key);
    work.then(forget, forget);
    return work;
  }

  #requireRoom(): void {
    const most = this.#options.mostPending ?? defaultMostPending;
    if (this.#pending.size + this.#multicast >= most)
      throw new Fault("too-many", `Cannot forward a DNS question: ${most} others wait for an answer`);
  }

  async #tryAll(question: Question, query: Buffer, call: Call): Promise<Buffer> {
    const upstreams = this.#options.upstreams();
    if (upstreams.length === 0)
      throw new Fault("unavailable", "Cannot forward a DNS question: the node has no name servers");
    let last: unknown;
    for (const upstream of upstreams) {
      try {
        const answer = await this.#udp(upstream, question, query, call);
        // A server that fails may have a healthy neighbour.
        if ((answer.readUInt16BE(2) & 15) === 2 && upstream !== upstreams.at(-1)) continue;
        return answer.readUInt16BE(2) & 0x200 ? await this.#tcp(upstream, question, query, call) : answer;
      } catch (error) {
        last = error;
      }
    }
    throw new Fault("unavailable", "Cannot forward a DNS question: no name server answered", { cause: last });
  }

  /** `.local` names are asked on the link; the first answer counts. */
  async askMulticast(question: Question, query: Buffer, call: Call): Promise<Buffer> {
    this.#requireRoom();
    this.#multicast++;
    try {
      const answer = await this.#udp(mdns, question, query, call);
      answer.writeUInt16BE(question.id, 0);
      return answer;
    } finally {
      this.#multicast--;
    }
  }

  #udp(upstream: Upstream, question: Question, query: Buffer, call: Call): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const socket = dgram.createSocket(upstream.address.includes(":") ? "udp6" : "udp4");
      const message = Buffer.from(query);
      // Our own id and port: an answer to guess has to hit both.
      const id = randomInt(65536);
      message.writeUInt16BE(id, 0);
      const finish = (settle: () => void) => {
        cancel();
        call.signal.removeEventListener("abort", onAbort);
        socket.close();
        settle();
      };
      const onAbort = () => finish(() => reject(call.signal.reason as Error));
      const cancel = this.#options.clock.after(this.#options.timeoutMs ?? 2000, () =>
        finish(() => reject(new Fault("timeout", `Name server ${upstream.address} did not answer`))),
      );
      socket.on("error", (error) => finish(() => reject(error)));
      socket.on("message", (answer, from) => {
        const isMine = answer.length >= 12 && answer.readUInt16BE(0) === id && (answer[2] ?? 0) & 0x80;
        if (!isMine || (upstream !== mdns && !isFrom(upstream, from, answer, question))) return;
        finish(() => resolve(answer));
      });
      call.signal.addEventListener("abort", onAbort, { once: true });
      socket.send(message, upstream.port, upstream.address);
    });
  }

  #tcp(upstream: Upstream, question: Question, query: Buffer, call: Call): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(upstream.port, upstream.address);
      let received = Buffer.alloc(0);
      const finish = (settle: () => void) => {
        cancel();
        call.signal.removeEventListener("abort", onAbort);
        socket.destroy();
        settle();
      };
      const onAbort = () => finish(() => reject(call.signal.reason as Error));
      const cancel = this.#options.clock.after(this.#options.timeoutMs ?? 2000, () =>
        finish(() => reject(new Fault("timeout", `Name server ${upstream.address} did not answer over TCP`))),
      );
      const length = Buffer.alloc(2);
      length.writeUInt16BE(query.length);
      socket.on("connect", () => socket.write(Buffer.concat([length, query])));
      socket.on("error", (error) => finish(() => reject(error)));
      socket.on("end", () => finish(() => reject(new Fault("unavailable", `Name server ${upstream.address} hung up`))));
      socket.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
        const answer = Buffer.from(received.subarray(2, 2 + received.readUInt16BE(0)));
        if (answer.length < 12 || !repeats(answer, question))
          return finish(() => reject(new Fault("unavailable", `Name server ${upstream.address} answered nonsense`)));
        finish(() => resolve(answer));
      });
      call.signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
