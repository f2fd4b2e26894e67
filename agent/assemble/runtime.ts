// Opens the container runtime that the settings name, or finds one: containerd, Docker, the embedded one, or a plugin of the user's.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type NetworkLists, networkLists } from "../../cni/invoke/network-lists.ts";
import { type Runtime, runtimeKind } from "../../cri/api/contract.ts";
import type { RegistriesConfig } from "../../cri/native/images/registry-config.ts";
import { ListPodSandboxRequest } from "../../cri/api/gen/runtime.js";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { chosenPlugin } from "../../plugins/kit/base/plugin-sides.ts";
import { openChosen } from "../../plugins/kit/base/registry.ts";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import { importByCtr } from "./containerd-import.ts";
import type { NetworkPrograms } from "./network-programs.ts";
import type { InstancePaths } from "./paths.ts";

export interface OpenedRuntime {
  readonly name: string;
  readonly runtime: Runtime;
  /** Where the runtime looks for network lists. */
  readonly networkDir: string;
  /** Where the runtime runs CNI programs itself: ours, served by the agent. */
  readonly networkPrograms?: NetworkPrograms;
  /** Imports an image archive and tells the names of its images. */
  importArchive(path: string, call: Call): Promise<string[]>;
}

export const containerdSocket = "/run/containerd/containerd.sock";
const askMs = 5000;
const networkPrograms = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];

export interface RuntimeHost {
  readonly paths: InstancePaths;
  readonly log: Log;
  readonly clock: Clock;
  /** The user's own, and the settings of all. */
  readonly plugins?: readonly AnyPlugin[];
  readonly settings?: Readonly<Record<string, unknown>>;
}

export async function openRuntime(wanted: string, host: RuntimeHost): Promise<OpenedRuntime> {
  if (wanted === "auto") return openRuntime(await findRuntime(), host);
  if (wanted === "containerd") return openRemoteRuntime("containerd", containerdSocket, host);
  if (wanted.startsWith("unix://")) return openRemoteRuntime(wanted, wanted.slice("unix://".length), host);
  if (wanted === "docker" || wanted === "native") return openLocalRuntime(wanted, host);
  const plugin = chosenPlugin("runtime", wanted, host.plugins ?? []);
  if (plugin) return openPlugged(plugin, host);
  throw new Fault(
    "invalid",
    `Bad value for --runtime: "${wanted}" is not auto, containerd, docker, native, unix:///path.sock or a plugin's name`,
  );
}

async function openPlugged(
  plugin: AnyPlugin,
  { paths, log, clock, settings = {} }: RuntimeHost,
): Promise<OpenedRuntime> {
  const { name } = plugin;
  const options = { settings, log, clock, stateDir: join(paths.dataDir, "plugins") };
  const runtime = await openChosen(runtimeKind, plugin, options, within(askMs));
  return {
    name,
    runtime,
    networkDir: ownNetworkDir(paths),
    importArchive: async (path) => {
      throw new Fault("unsupported", `Cannot import ${path}: runtime "${name}" takes no archives`);
    },
  };
}

const ownNetworkDir = (paths: InstancePaths) => join(paths.dataDir, "cni", "net.d");

/** Docker brings a containerd along that often does not speak CRI: then it is Docker that is meant. */
export async function findRuntime(): Promise<"containerd" | "docker" | "native"> {
  const { dockerSocket } = await import("../../cri/docker/docker-runtime.ts");
  const hasDocker = dockerSocket() !== undefined;
  if (existsSync(containerdSocket) && (!hasDocker || (await speaksCri(containerdSocket)))) return "containerd";
  return hasDocker ? "docker" : "native";
}

async function speaksCri(socket: string): Promise<boolean> {
  const { openRemote } = await import("../../cri/remote/open.ts");
  const remote = openRemote({ socket });
  try {
    await remote.runtime.version({ version: "v1" }, within(askMs));
    return true;
  } catch {
    // Whatever it answers, it is not a runtime that pods can be given to.
    return false;
  } finally {
    await remote.close();
  }
}

export interface LocalRuntimeChanges {
  /** Where network lists are read from; the instance's own folder where absent. */
  readonly networkDir?: string;
  readonly dockerSocket?: string;
  readonly sandboxImage?: string;
}

/** Runtimes that live in this process. */
export async function openLocalRuntime(
  name: "docker" | "native",
  { paths, log, clock }: RuntimeHost,
  { networkDir = ownNetworkDir(paths), dockerSocket, sandboxImage }: LocalRuntimeChanges = {},
): Promise<OpenedRuntime> {
  const network = networkLists({
    confDir: networkDir,
    binDirs: networkPrograms,
    cacheDir: join(paths.dataDir, "cni", "cache"),
    log,
  });
  if (name === "docker") {
    const { dockerRuntime } = await import("../../cri/docker/docker-runtime.ts");
    const runtime = await dockerRuntime({
      root: join(paths.dataDir, "docker"),
      network,
      log,
      clock,
      ...(dockerSocket ? { socket: dockerSocket } : {}),
      ...(sandboxImage ? { sandboxImage } : {}),
    });
    await collectNetwork(runtime, network, log);
    return { name, runtime, networkDir, importArchive: (path, call) => runtime.importArchive(path, call) };
  }
  const { nativeRuntime } = await import("../../cri/native/native-runtime.ts");
  const runtime = await nativeRuntime({
    root: join(paths.dataDir, "runtime"),
    runDir: paths.runDir,
    network,
    registries: await readRegistries(join(paths.dataDir, "registries.yaml")),
    log,
    clock,
  });
  await collectNetwork(runtime, network, log);
  return { name, runtime, networkDir, importArchive: (path, call) => runtime.importArchive(path, call) };
}

/** After a reboot or a kill: addresses and rules of pods that the runtime no longer knows are given back. */
async function collectNetwork(runtime: Runtime, network: NetworkLists, log: Log): Promise<void> {
  try {
    const { items } = await runtime.runtime.listPodSandbox(ListPodSandboxRequest.create(), within(10_000));
    await network.gc(
      items.map(({ id }) => id),
      within(30_000),
    );
  } catch (error) {
    log.warn({ err: error }, "what pods that are gone left in the network could not be collected");
  }
}

/** Mirrors, trust and credentials of registries, in the shape that k3s users know; none where the file is absent. */
async function readRegistries(path: string): Promise<RegistriesConfig> {
  if (!existsSync(path)) return {};
  const { parseRegistries } = await import("../../cri/native/images/registry-config.ts");
  return parseRegistries(readYaml(readFileSync(path, "utf8"), path));
}

async function openRemoteRuntime(
  name: string,
  socket: string,
  { paths, log, clock }: RuntimeHost,
): Promise<OpenedRuntime> {
  const { openRemote } = await import("../../cri/remote/open.ts");
  if (!existsSync(socket)) {
    throw new Fault("unavailable", `Cannot use runtime ${name}: there is no socket ${socket} (is the daemon running?)`);
  }
  const runtime = openRemote({ socket, clock });
  const { openNetworkPrograms } = await import("./network-programs.ts");
  const programs = await openNetworkPrograms(runtime, paths, log);
  return {
    name,
    runtime,
    networkDir: programs.networkDir,
    networkPrograms: programs,
    importArchive: (path, call) => importByCtr(socket, path, call),
  };
}
