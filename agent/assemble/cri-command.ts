// `skiff cri`: a runtime of ours as a CRI v1 socket, for crictl, critest and a stock kubelet.

import { serveRuntime } from "../../cri/serve/serve.ts";
import type { Call } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import type { Log } from "../../plugins/kit/log.ts";
import type { Settings } from "../../plugins/kit/settings.ts";
import { instancePaths } from "./paths.ts";
import { openLocalRuntime } from "./runtime.ts";

/** Serves until stopped; containers go on. */
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
  const { runtime } = await openLocalRuntime(
    which,
    { paths: instancePaths(String(settings["data-dir"])), log, clock },
    {
      networkDir: String(settings["cni-conf-dir"]),
      ...(dockerSocket ? { dockerSocket: dockerSocket.replace(/^unix:\/\//, "") } : {}),
      ...(sandboxImage ? { sandboxImage } : {}),
    },
  );
  try {
    const served = await serveRuntime(runtime, { listen: String(settings.listen), clock });
    say(`ready runtime=${which} listen=unix://${served.socket}`);
    if (!call.signal.aborted)
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
    await served.close();
  } finally {
    await runtime.close();
  }
}
