// Compressed streams by their first bytes, not by what a label says: gzip, zstd, or neither.

import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { Fault } from "../../../plugins/kit/base/fault.ts";

/** The plain bytes. A broken stream throws a Fault `invalid`. */
export async function* decompress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const input = source[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let size = 0;
  while (size < 4) {
    const next = await input.next();
    if (next.done) break;
    first.push(next.value);
    size += next.value.length;
  }
  const head = Buffer.concat(first);
  async function* whole(): AsyncGenerator<Uint8Array, void, void> {
    if (head.length > 0) yield head;
    for (let next = await input.next(); !next.done; next = await input.next()) yield next.value;
  }
  const decoder = decoderFor(head);
  if (!decoder) return yield* whole();
  const output = new PassThrough({ highWaterMark: 256 * 1024 });
  const done = pipeline(Readable.from(whole(), { objectMode: false }), decoder, output);
  // The reader below sees the failure as the output's error.
  done.catch(() => {});
  try {
    for await (const chunk of output) yield chunk as Uint8Array;
    await done;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault("invalid", `Cannot decompress: ${(cause as Error).message}`, { cause });
  } finally {
    output.destroy();
    await input.return?.();
  }
}

function decoderFor(head: Buffer): NodeJS.ReadWriteStream | undefined {
  if (head[0] === 0x1f && head[1] === 0x8b) return createGunzip({ chunkSize: 256 * 1024 });
  if (head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528) return createZstdDecompress({ chunkSize: 256 * 1024 });
  return undefined;
}
