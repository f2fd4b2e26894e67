// Image archives into containerd: CRI has no call for it, so containerd's own client does it, which comes with it.

import { createReadStream } from "node:fs";
import { decompress } from "../../cri/native/images/decompress.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { run } from "../../plugins/kit/os/platform/process.ts";

const importTimeoutMs = 600_000;

/** Returns the images' names. The archive may be compressed, which the client itself does not take. */
export async function importByCtr(socket: string, path: string, call: Call): Promise<string[]> {
  const args = ["--address", socket, "--namespace", "k8s.io", "images", "import", "-"];
  const input = decompress(createReadStream(path, { highWaterMark: 256 * 1024 }));
  const result = await run("ctr", args, { input, timeoutMs: importTimeoutMs }, call);
  if (result.code !== 0)
    throw new Fault("unavailable", `Cannot import ${path} into containerd: ${result.stderr.trim().split("\n")[0]}`);
  // `unpacking NAME (…)` up to 1.x, `NAME   saved` from 2.0 on.
  return [...result.stdout.matchAll(/^unpacking (\S+)|^(\S+)\s+saved\s*$/gm)].map(([, old, now]) => old ?? now ?? "");
}
