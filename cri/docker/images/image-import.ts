// Loads an archive of images from disk: what `docker save` writes, or an OCI layout, plain or compressed.

import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Engine } from "../engine/engine.ts";
import { fullName } from "./image-view.ts";
import { missingManifest } from "./oci-layout.ts";

interface LoadProgress {
  readonly stream?: string;
  readonly error?: string;
}

/** The names of the images that were loaded, or their ids. */
export async function importArchive(engine: Engine, path: string, call: Call): Promise<string[]> {
  const names: string[] = [];
  try {
    const missing = await missingManifest(openArchive(path), call);
    const stream = missing
      ? Readable.from(joined(missing, openArchive(path)), { objectMode: false })
      : openArchive(path);
    const options = { query: { quiet: true }, upload: { stream, type: "application/x-tar" } };
    for await (const { stream, error } of engine.values<LoadProgress>("POST", "/images/load", options, call)) {
      if (error !== undefined) throw new Fault("invalid", error);
      const loaded = /^Loaded image(?: ID)?: (\S+)/m.exec(stream ?? "")?.[1];
      if (loaded) names.push(loaded.startsWith("sha256:") ? loaded : fullName(loaded));
    }
  } catch (cause) {
    call.signal.throwIfAborted();
    const { code, message } = cause as Fault;
    throw new Fault(code ?? "internal", `Cannot import images from "${path}": ${message}`, { cause });
  }
  return names;
}

async function* joined(first: Uint8Array, rest: Readable): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest as AsyncIterable<Buffer>;
}

/** Plain: the daemon unpacks zstd only in later releases, and what is put before an archive must be like it. */
function openArchive(path: string): Readable {
  const file = createReadStream(path);
  const unpack = path.endsWith(".zst") ? createZstdDecompress() : /\.(gz|tgz)$/.test(path) ? createGunzip() : undefined;
  if (!unpack) return file;
  // Either's end or failure is the other's; readers hear of it from the last.
  return pipeline(file, unpack, () => {});
}
