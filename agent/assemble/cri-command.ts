// `skiff cri`: a runtime of ours as a CRI v1 socket, for crictl, critest and a stock kubelet.

import { readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { serveRuntime } from "../../cri/serve/serve.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { ImageFolder } from "../images/image-folder.ts";
import { instancePaths } from "./paths.ts";
import { openLocalRuntime } from "./runtime.ts";

/** Serves until stopped; containers go on. Image archives in the data dir are imported, as for a node of ours. */
export async function serveCri(
  which: string,
  settings: Settings,
  { log, clock, say }: { log: Log; clock: Clock; say: (line: string) => void },
  call: Call,
): Promise<void> {
  if (which !== "docker" && which !== "native")
    throw new Fault("invalid", `Bad runtime "${which}": skiff cri serves docker or native`);
  const text = (name: string) => settings[name] as string | undefined;
  const [dockerSocket, sandboxImage] = [text("docker-socket"), text("sandbox-image")];
  const paths = instancePaths(String(settings["data-dir"]));
  const { runtime, importArchive } = await openLocalRuntime(
    which,
    { paths, log, clock },
    {
      networkDir: String(settings["cni-conf-dir"]),
      ...(dockerSocket ? { dockerSocket: dockerSocket.replace(/^unix:\/\//, "") } : {}),
      ...(sandboxImage ? { sandboxImage } : {}),
    },
  );
  const stop = new AbortController();
  const images = new ImageFolder({
    folder: join(paths.dataDir, "images"),
    stateFile: join(paths.dataDir, "imported-images.json"),
    importArchive,
    clock,
    log,
  });
  const importing = images.run({ signal: stop.signal });
  try {
    const served = await serveRuntime(runtime, { listen: String(settings.listen), clock });
    say(`ready runtime=${which} listen=unix://${served.socket}`);
    if (!call.signal.aborted)
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
    await served.close();
  } finally {
    stop.abort();
    await importing;
    await runtime.close();
    removeEmptyFolders(paths.runDir);
  }
}

/** Where no pod is left, nothing of us is; a start makes them anew. */
function removeEmptyFolders(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    // It was never there, or holds what a container needs.
  }
}
