// The network of a runtime that runs CNI programs itself, such as containerd: our programs where it looks for them, and the agent
// behind a socket to do their work while it is up.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { serveHandOver } from "../../cni/assemble/serve-hand-over.ts";
import { installPrograms, ownPrefix, uninstallPrograms } from "../../cni/assemble/install-programs.ts";
import { pluginFinder } from "../../cni/invoke/builtins.ts";
import { openKernel } from "../../cni/net/kernel.ts";
import { runProgram } from "../../cni/skel/run-program.ts";
import type { Runtime } from "../../cri/api/contract.ts";
import { StatusRequest } from "../../cri/api/gen/runtime.js";
import { within } from "../../plugins/kit/base/call.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { isBundled, projectFolder } from "../../plugins/kit/os/platform/project.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import type { InstancePaths } from "./paths.ts";

export interface NetworkPrograms {
  /** Where the runtime reads network lists. */
  readonly networkDir: string;
  /** What the types of our plugins begin with in its lists. */
  readonly typePrefix: string;
  /** Stops serving; with `remove` the programs go too. */
  close(remove: boolean): Promise<void>;
}

const defaults = { binDir: "/opt/cni/bin", confDir: "/etc/cni/net.d" };

export async function openNetworkPrograms(runtime: Runtime, paths: InstancePaths, log: Log): Promise<NetworkPrograms> {
  const { binDir, confDir } = await networkFolders(runtime);
  const program = join(projectFolder, isBundled ? "dist/cni.cjs" : "cni/assemble/program.ts");
  mkdirSync(paths.runDir, { recursive: true, mode: 0o700 });
  const socketPath = join(paths.runDir, "cni.sock");
  const cacheDir = join(paths.dataDir, "cni", "compiled");
  installPrograms({ dir: binDir, command: selfCommand(program), socketPath, cacheDir });
  const kernel = openKernel();
  const find = pluginFinder(kernel);
  const stop = new AbortController();
  const serving = serveHandOver(socketPath, (type, input, call) => runProgram(find(type, []), input, call), {
    signal: stop.signal,
  }).catch((error: unknown) =>
    log.warn({ err: error }, "network programs of the runtime have to do their work themselves"),
  );
  return {
    networkDir: confDir,
    typePrefix: ownPrefix,
    async close(remove) {
      stop.abort();
      await serving;
      kernel.close();
      if (remove) uninstallPrograms(binDir);
    },
  };
}

/** containerd tells its folders in the verbose status; others use the customary ones. */
async function networkFolders(runtime: Runtime): Promise<typeof defaults> {
  try {
    const { info } = await runtime.runtime.status(StatusRequest.create({ verbose: true }), within(5000));
    const { cni } = JSON.parse(info.config ?? "{}") as { cni?: Partial<typeof defaults> };
    return { binDir: cni?.binDir || defaults.binDir, confDir: cni?.confDir || defaults.confDir };
  } catch {
    // The runtime may not be up yet, or tell nothing: the customary folders are right for most.
    return defaults;
  }
}
