// The image whose only program holds a pod's namespaces and reaps its orphans. Made here and loaded into the daemon, so that no registry
// is needed.

import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { packTar, type TarEntry } from "modern-tar";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { holderProgram } from "../../plugins/kit/os/platform/holder-program.ts";
import type { Engine } from "./engine/engine.ts";
import type { ImageInspect } from "./engine/types.ts";

export const pauseImageName = "skiff.local/pause:1";

/** Loads our own image where it is missing; another that was asked for must be there already, or be pulled by the caller. */
export async function ensurePauseImage(engine: Engine, name: string, call: Call): Promise<void> {
  try {
    await engine.get<ImageInspect>(`/images/${name}/json`, {}, call);
    return;
  } catch (error) {
    if (!isFault(error, "not-found") || name !== pauseImageName) throw error;
  }
  const upload = { stream: Readable.from([await pauseArchive()]), type: "application/x-tar" };
  await engine.call("POST", "/images/load", { query: { quiet: true }, upload }, call).catch((error: unknown) => {
    throw new Fault("unavailable", `Cannot load the sandbox image into Docker: ${(error as Error).message}`);
  });
}

/** In the form of `docker save`. */
async function pauseArchive(arch: string = process.arch): Promise<Uint8Array> {
  const program = holderProgram(arch);
  if (!program)
    throw new Fault("unsupported", `Cannot make a sandbox image for ${arch} processors: name one that is present`);
  const layer = await packTar([file("pause", program, 0o555)]);
  const config = JSON.stringify({
    architecture: arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    created: stamp.toISOString(),
    config: { Entrypoint: ["/pause"], User: "65535:65535" },
    rootfs: { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(layer).digest("hex")}`] },
  });
  const manifest = [{ Config: "config.json", RepoTags: [pauseImageName], Layers: ["layer.tar"] }];
  return packTar([
    file("layer.tar", layer),
    file("config.json", Buffer.from(config)),
    file("manifest.json", Buffer.from(JSON.stringify(manifest))),
  ]);
}

// A fixed stamp: the same program is the same image.
const stamp = new Date("2026-01-01T00:00:00Z");

function file(name: string, body: Uint8Array, mode = 0o644): TarEntry {
  return { header: { name, size: body.byteLength, type: "file", mode, mtime: stamp }, body };
}
