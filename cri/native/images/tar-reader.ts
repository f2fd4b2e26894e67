// Reads a tar stream entry by entry: ustar, pax (with extended attributes) and GNU long names. Knows nothing of disks.

import { Fault } from "../../../plugins/kit/base/fault.ts";

type TarType = "file" | "directory" | "symlink" | "hardlink" | "char" | "block" | "fifo";

export interface TarEntry {
  readonly name: string;
  readonly type: TarType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Seconds, with fractions where pax carried them. */
  readonly mtime: number;
  readonly linkName: string;
  readonly major: number;
  readonly minor: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
  /** The content of a file, to be read before the next entry is asked for; what is left is skipped. */
  readonly content: AsyncIterable<Uint8Array>;
}

const block = 512;
/** Pax headers and long names are held in memory. */
const maxHeaderBytes = 1024 * 1024;
const types: Record<string, TarType> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "3": "char",
  "4": "block",
  "5": "directory",
  "6": "fifo",
};

const broken = (why: string) => new Fault("invalid", `Cannot read tar archive: ${why}`);

/** Hands out exactly as many bytes as asked for. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Up to `limit` bytes; undefined at the end. */
  async some(limit: number): Promise<Uint8Array | undefined> {
    while (this.#held.length === 0) {
      const next = await this.#source.next();
      if (next.done) return undefined;
      this.#held = next.value;
    }
    const taken = this.#held.subarray(0, limit);
    this.#held = this.#held.subarray(taken.length);
    return taken;
  }

  /** Exactly `size` bytes; undefined when the source is at its end already. */
  async exactly(size: number): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = [];
    let left = size;
    while (left > 0) {
      const part = await this.some(left);
      if (!part) {
        if (left === size) return undefined;
        throw broken("it ends in the middle of an entry");
      }
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 ? Buffer.from(parts[0] as Uint8Array) : Buffer.concat(parts);
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) {
      const part = await this.some(left);
      if (!part) throw broken("it ends in the middle of an entry");
      left -= part.length;
    }
  }

  /** Reads what is left, so that whoever hashes the source sees every byte. */
  async drain(): Promise<void> {
    while (await this.some(Number.MAX_SAFE_INTEGER));
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}

export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void, void> {
  const bytes = new ByteReader(source);
  try {
    let pax = new Map<string, Buffer>();
    let longName: string | undefined;
    let longLink: string | undefined;
    for (;;) {
      const header = await bytes.exactly(block);
      if (!header || header.every((byte) => byte === 0)) break;
      checkSum(header);
      const flag = String.fromCharCode(header[156] ?? 0);
      const size = number(pax.get("size") ?? null, header, 124, 12);
      if (flag === "x" || flag === "g" || flag === "L" || flag === "K") {
        if (size > maxHeaderBytes) throw broken(`a header of ${size} bytes is too large`);
        const body = (await bytes.exactly(size)) ?? Buffer.alloc(0);
        await bytes.skip(padding(size));
        if (flag === "x") pax = parsePax(body);
        else if (flag === "L") longName = text(body, 0, size);
        else if (flag === "K") longLink = text(body, 0, size);
        continue;
      }
      const type = types[flag];
      if (!type || pax.has("GNU.sparse.major") || pax.has("GNU.sparse.map")) {
        throw broken(`entry type "${type ? "sparse" : flag}" is not supported`);
      }
      const entry = toEntry(header, type, size, pax, longName, longLink);
      let left = entry.size;
      const content: AsyncIterable<Uint8Array> = {
        async *[Symbol.asyncIterator]() {
          while (left > 0) {
            const part = await bytes.some(left);
            if (!part) throw broken(`it ends in the middle of ${entry.name}`);
            left -= part.length;
            yield part;
          }
        },
      };
      yield { ...entry, content };
      await bytes.skip(left);
      await bytes.skip(padding(entry.size));
      pax = new Map();
      longName = undefined;
      longLink = undefined;
    }
    await bytes.drain();
  } finally {
    await bytes.close();
  }
}

function toEntry(
  header: Buffer,
  type: TarType,
  size: number,
  pax: Map<string, Buffer>,
  longName: string | undefined,
  longLink: string | undefined,
): Omit<TarEntry, "content"> {
  const isUstar = header.toString("latin1", 257, 262) === "ustar";
  const isGnu = header.toString("latin1", 257, 265) === "ustar  \0";
  const prefix = isUstar && !isGnu ? text(header, 345, 155) : "";
  const short = text(header, 0, 100);
  const name = pax.get("path")?.toString("utf8") ?? longName ?? (prefix ? `${prefix}/${short}` : short);
  const xattrs = new Map<string, Buffer>();
  for (const [key, value] of pax) {
    if (key.startsWith("SCHILY.xattr.")) xattrs.set(key.slice("SCHILY.xattr.".length), value);
  }
  const mtime = pax.get("mtime");
  const isDirectory = type === "directory" || (type === "file" && name.endsWith("/"));
  return {
    name,
    type: isDirectory ? "directory" : type,
    mode: number(null, header, 100, 8) & 0o7777,
    uid: number(pax.get("uid") ?? null, header, 108, 8),
    gid: number(pax.get("gid") ?? null, header, 116, 8),
    size: type === "file" ? size : 0,
    mtime: mtime ? Number(mtime.toString("latin1")) || 0 : number(null, header, 136, 12),
    linkName: pax.get("linkpath")?.toString("utf8") ?? longLink ?? text(header, 157, 100),
    major: isUstar ? number(null, header, 329, 8) : 0,
    minor: isUstar ? number(null, header, 337, 8) : 0,
    xattrs,
  };
}

const padding = (size: number) => (block - (size % block)) % block;

function text(from: Buffer, offset: number, length: number): string {
  const field = from.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}

/** A pax override in decimal, else an octal or base-256 header field. */
function number(override: Buffer | null, header: Buffer, offset: number, length: number): number {
  const field = header.subarray(offset, offset + length);
  let value: number;
  if (override) value = Number(override.toString("latin1"));
  else if (((field[0] ?? 0) & 0x80) !== 0) {
    let wide = BigInt((field[0] ?? 0) & 0x7f);
    for (const byte of field.subarray(1)) wide = (wide << 8n) | BigInt(byte);
    value = Number(wide);
  } else value = Number.parseInt(text(header, offset, length).trim() || "0", 8);
  if (!Number.isSafeInteger(value) || value < 0) throw broken("a header field is not a number");
  return value;
}

function checkSum(header: Buffer): void {
  let sum = 0;
  for (let at = 0; at < block; at++) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0);
  if (sum !== number(null, header, 148, 8)) throw broken("a header has a wrong checksum");
}

/** Records of `length key=value\n`; values are bytes, because extended attributes are. */
function parsePax(body: Buffer): Map<string, Buffer> {
  const records = new Map<string, Buffer>();
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const length = Number(body.toString("latin1", at, Math.max(at, space)));
    const end = at + length;
    const equals = body.indexOf(0x3d, space);
    if (space < 0 || !Number.isSafeInteger(length) || length <= 0 || end > body.length || equals < 0 || equals >= end) {
      throw broken("a pax header is malformed");
    }
    records.set(body.toString("utf8", space + 1, equals), body.subarray(equals + 1, end - 1));
    at = end;
  }
  return records;
}
