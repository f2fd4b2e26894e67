// The body of the daemon's "create a container", from what CRI asks. Pure, but for looking at host paths.

import { type ContainerConfig, NamespaceMode, type PodSandboxConfig, Signal } from "../../api/gen/runtime.js";
import type { HostFacts } from "../docker.ts";
import { namespaceModes } from "../sandboxes/sandbox-view.ts";
import { hostDevices, toEngineDevice, toEngineMount } from "./container-mounts.ts";
import { toHostResources } from "./container-resources.ts";
import { securityFields, userField } from "./container-security.ts";

export interface BodyInput {
  readonly config: ContainerConfig;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly imageId: string;
  readonly labels: Record<string, string>;
  readonly cgroupParent: string;
  readonly hasLog: boolean;
  readonly host: HostFacts;
  readonly knowsRecursive: boolean;
}

/** Bounded, because every line is kept twice: here only until it has been taken over. Binary-safe, unlike the daemon's default. */
const logConfig = { Type: "local", Config: { "max-size": "32m", "max-file": "2", compress: "false" } };

export function containerBody(input: BodyInput) {
  const { config, host } = input;
  const security = config.linux?.securityContext;
  const fields = securityFields(config, host);
  const isDegraded = (security?.privileged ?? false) && !fields.Privileged;
  const named = config.devices.map(toEngineDevice);
  const user = userField(security);
  const signal = stopSignal(config.stopSignal);
  return {
    Image: input.imageId,
    ...(config.command.length > 0 ? { Entrypoint: config.command } : {}),
    ...(config.args.length > 0 ? { Cmd: config.args } : {}),
    Env: config.envs.map(({ key, value }) => `${key}=${value}`),
    ...(config.workingDir ? { WorkingDir: config.workingDir } : {}),
    ...(user === undefined ? {} : { User: user }),
    ...(signal === undefined ? {} : { StopSignal: signal }),
    Tty: config.tty,
    OpenStdin: config.stdin,
    StdinOnce: config.stdinOnce,
    Labels: input.labels,
    // Kubernetes has probes of its own; the image's would only cost.
    Healthcheck: { Test: ["NONE"] },
    HostConfig: {
      ...fields,
      ...namespaceFields(input),
      ...toHostResources(config.linux?.resources),
      Mounts: config.mounts.map((mount) => toEngineMount(mount, input.knowsRecursive)),
      Devices: isDegraded ? [...hostDevices(), ...named] : named,
      CgroupParent: input.cgroupParent,
      OomScoreAdj: Math.max(Number(config.linux?.resources?.oomScoreAdj ?? 0n), host.lowestOomScoreAdj),
      LogConfig: input.hasLog ? logConfig : { Type: "none" },
    },
  };
}

function namespaceFields({ config, sandboxConfig, sandboxId }: BodyInput) {
  const ofPod = namespaceModes(sandboxConfig);
  const own = config.linux?.securityContext?.namespaceOptions;
  const isHostNetwork = ofPod.network === NamespaceMode.NODE;
  const pid = own?.pid ?? ofPod.pid;
  const pidModes: Readonly<Record<number, string>> = {
    [NamespaceMode.POD]: `container:${sandboxId}`,
    [NamespaceMode.CONTAINER]: "",
    [NamespaceMode.NODE]: "host",
    [NamespaceMode.TARGET]: `container:${own?.targetId ?? ""}`,
  };
  return {
    NetworkMode: isHostNetwork ? "host" : `container:${sandboxId}`,
    UTSMode: isHostNetwork ? "host" : "",
    IpcMode: ofPod.ipc === NamespaceMode.NODE ? "host" : `container:${sandboxId}`,
    PidMode: pidModes[pid] ?? "",
  };
}

function stopSignal(wanted: Signal): string | undefined {
  if (wanted === Signal.RUNTIME_DEFAULT) return undefined;
  const name = Object.entries(Signal).find(([, value]) => value === wanted)?.[0];
  return name?.replace(/^SIGRTMINPLUS/, "SIGRTMIN+").replace(/^SIGRTMAXMINUS/, "SIGRTMAX-");
}
