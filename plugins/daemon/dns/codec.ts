// DNS messages on the wire: reads questions from anybody (so it never throws on bad bytes), writes answers with compressed names.

import { addressBytes, parseAddress } from "../../kit/os/net/address.ts";

export const recordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;
export const responseCode = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  nameError: 3,
  notImplemented: 4,
  refused: 5,
} as const;

export interface Question {
  readonly id: number;
  readonly isRecursionDesired: boolean;
  /** Lower case, without the final dot; "" is the root. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** As it came, to be echoed with the case that the client chose. */
  readonly raw: Buffer;
  readonly edns: { readonly size: number; readonly version: number; readonly dnssecOk: boolean } | undefined;
}

export type RecordData =
  | { readonly type: "A" | "AAAA"; readonly address: string }
  | { readonly type: "CNAME" | "PTR" | "NS"; readonly target: string }
  | {
      readonly type: "SRV";
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: "TXT"; readonly text: string }
  | {
      readonly type: "SOA";
      readonly primary: string;
      readonly mailbox: string;
      readonly serial: number;
      readonly minimum: number;
    };

export interface DnsRecord {
  readonly name: string;
  readonly ttl: number;
  readonly data: RecordData;
}

export interface Answer {
  readonly code: number;
  readonly isAuthoritative: boolean;
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** What is asked, the code of the error to answer with, or undefined for bytes that deserve no answer. */
export function readQuestion(bytes: Buffer): Question | { readonly error: number } | undefined {
  if (bytes.length < 12) return undefined;
  const flags = bytes.readUInt16BE(2);
  // An answer to nothing: replying to it could start a loop.
  if (flags & 0x8000) return undefined;
  if ((flags >> 11) & 15) return { error: responseCode.notImplemented };
  if (bytes.readUInt16BE(4) !== 1) return { error: responseCode.formatError };
  const name = readName(bytes, 12);
  if (!name || name.next + 4 > bytes.length) return { error: responseCode.formatError };
  const edns = readEdns(bytes, name.next + 4);
  if (edns === "bad") return { error: responseCode.formatError };
  return {
    id: bytes.readUInt16BE(0),
    isRecursionDesired: (flags & 0x100) !== 0,
    name: name.text.toLowerCase(),
    type: bytes.readUInt16BE(name.next),
    class: bytes.readUInt16BE(name.next + 2),
    raw: bytes.subarray(12, name.next + 4),
    edns,
  };
}

function readName(bytes: Buffer, start: number): { text: string; next: number } | undefined {
  const labels: string[] = [];
  let at = start;
  let next = -1;
  for (let length = 0; ; ) {
    const size = bytes[at];
    if (size === undefined) return undefined;
    if (size === 0) break;
    if ((size & 0xc0) === 0xc0) {
      const low = bytes[at + 1];
      if (low === undefined) return undefined;
      const target = ((size & 0x3f) << 8) | low;
      if (next < 0) next = at + 2;
      // Only backwards, so that no loop is possible.
      if (target >= at || target < 12) return undefined;
      at = target;
      continue;
    }
    if (size & 0xc0 || at + 1 + size > bytes.length) return undefined;
    length += size + 1;
    if (length > 254) return undefined;
    labels.push(bytes.toString("latin1", at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { text: labels.join("."), next: next < 0 ? at + 1 : next };
}

function readEdns(bytes: Buffer, start: number): Question["edns"] | "bad" {
  const records = bytes.readUInt16BE(6) + bytes.readUInt16BE(8) + bytes.readUInt16BE(10);
  let at = start;
  let edns: Question["edns"];
  for (let index = 0; index < records; index++) {
    const name = readName(bytes, at);
    if (!name || name.next + 10 > bytes.length) return "bad";
    at = name.next;
    if (bytes.readUInt16BE(at) === recordType.OPT) {
      if (edns) return "bad";
      const ttl = bytes.readUInt32BE(at + 4);
      edns = { size: bytes.readUInt16BE(at + 2), version: (ttl >> 16) & 255, dnssecOk: (ttl & 0x8000) !== 0 };
    }
    at += 10 + bytes.readUInt16BE(at + 8);
    if (at > bytes.length) return "bad";
  }
  return edns;
}

/** An answer that only says what is wrong with the question. */
export function writeError(query: Buffer, code: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt16BE(query.readUInt16BE(0), 0);
  bytes.writeUInt16BE(0x8000 | (query.readUInt16BE(2) & 0x7900) | 0x80 | code, 2);
  return bytes;
}

/** Whole, or cut and marked so when longer than `limit` bytes. */
export function writeAnswer(question: Question, answer: Answer, limit: number): Buffer {
  const whole = new Writer(question).write(answer);
  if (whole.length <= limit) return whole;
  const bare = new Writer(question).write({ ...answer, additionals: [] });
  if (bare.length <= limit) return bare;
  const cut = new Writer(question).write({ ...answer, answers: [], authorities: [], additionals: [] });
  cut.writeUInt16BE(cut.readUInt16BE(2) | 0x200, 2);
  return cut;
}

class Writer {
  readonly #question: Question;
  #bytes = Buffer.alloc(512);
  #at = 0;
  readonly #names = new Map<string, number>();

  constructor(question: Question) {
    this.#question = question;
  }

  write(answer: Answer): Buffer {
    const { id, isRecursionDesired, raw, edns } = this.#question;
    const flags = 0x8080 | (answer.isAuthoritative ? 0x400 : 0) | (isRecursionDesired ? 0x100 : 0) | answer.code;
    const counts = [1, answer.answers.length, answer.authorities.length, answer.additionals.length + (edns ? 1 : 0)];
    for (const value of [id, flags, ...counts]) this.#u16(value);
    this.#noteNames(this.#question.name, this.#at);
    this.#raw(raw);
    for (const section of [answer.answers, answer.authorities, answer.additionals])
      for (const record of section) this.#record(record);
    // Ours: no extended code, version 0, and the size that we take.
    if (edns) this.#raw(Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]));
    return this.#bytes.subarray(0, this.#at);
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#at + size));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }

  #u16(value: number): void {
    this.#room(2);
    this.#bytes.writeUInt16BE(value, this.#at);
    this.#at += 2;
  }

  #u32(value: number): void {
    this.#room(4);
    this.#bytes.writeUInt32BE(value >>> 0, this.#at);
    this.#at += 4;
  }

  #raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  #noteNames(name: string, start: number): void {
    let at = start;
    for (let rest = name; rest !== ""; ) {
      if (at < 0x4000 && !this.#names.has(rest)) this.#names.set(rest, at);
      const dot = rest.indexOf(".");
      const label = dot < 0 ? rest : rest.slice(0, dot);
      at += label.length + 1;
      rest = dot < 0 ? "" : rest.slice(dot + 1);
    }
  }

  #name(name: string): void {
    for (let rest = name; ; ) {
      const known = this.#names.get(rest);
      if (known !== undefined) return this.#u16(0xc000 | known);
      if (rest === "") return this.#raw(Buffer.from([0]));
      if (this.#at < 0x4000) this.#names.set(rest, this.#at);
      const dot = rest.indexOf(".");
      const label = Buffer.from(dot < 0 ? rest : rest.slice(0, dot), "latin1").subarray(0, 63);
      this.#raw(Buffer.from([label.length]));
      this.#raw(label);
      rest = dot < 0 ? "" : rest.slice(dot + 1);
    }
  }

  #record(record: DnsRecord): void {
    this.#name(record.name);
    this.#u16(recordType[record.data.type]);
    this.#u16(1);
    this.#u32(record.ttl);
    const lengthAt = this.#at;
    this.#u16(0);
    this.#data(record.data);
    this.#bytes.writeUInt16BE(this.#at - lengthAt - 2, lengthAt);
  }

  #data(data: RecordData): void {
    if ("address" in data) this.#raw(addressBytes(parseAddress(data.address)));
    else if (data.type === "SRV") {
      for (const value of [data.priority, data.weight, data.port]) this.#u16(value);
      this.#name(data.target);
    } else if (data.type === "TXT") {
      const text = Buffer.from(data.text, "utf8").subarray(0, 255);
      this.#raw(Buffer.from([text.length]));
      this.#raw(text);
    } else if (data.type === "SOA") {
      this.#name(data.primary);
      this.#name(data.mailbox);
      for (const value of [data.serial, 7200, 1800, 86400, data.minimum]) this.#u32(value);
    } else this.#name(data.target);
  }
}
