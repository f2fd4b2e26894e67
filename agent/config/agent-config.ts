// The agent's configuration, complete and checked: nobody behind it checks or defaults again.

import { hostname } from "node:os";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Taint } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import { defaultThresholds, type Threshold } from "./eviction-thresholds.ts";

export interface AgentConfig {
  readonly nodeName: string;
  /** Empty finds them by the default route. */
  readonly nodeIps: readonly string[];
  /** Everything the agent writes lies below it. */
  readonly dataDir: string;
  readonly registerNode: boolean;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly nodeTaints: readonly Taint[];
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly manifestDir: string | undefined;
  readonly manifestUrl: string | undefined;
  readonly maxPods: number;
  /** Processes and threads of a pod; nothing above 0 is no limit. */
  readonly podPids: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly eviction: EvictionConfig;
  readonly kubeletPort: number;
  /** 0 is off. */
  readonly readOnlyPort: number;
  /** On loopback; 0 is off. */
  readonly healthzPort: number;
  /** Images pulled at the same time. */
  readonly parallelPulls: number;
  readonly imageGc: ImageGcConfig;
  readonly seccompDefault: boolean;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly resolvConf: string;
  /** The cgroup that all pods lie below; empty leaves cgroups to the runtime. */
  readonly cgroupRoot: string;
  /** Who makes the cgroups of pods; `auto` asks the runtime, whose word holds anyway where it has one. */
  readonly cgroupDriver: "auto" | "cgroupfs" | "systemd";
  readonly containerLogs: { readonly maxBytes: number; readonly maxFiles: number };
  /** Host devices that pods may ask for as an extended resource, by its name. */
  readonly hostDevices: Readonly<Record<string, readonly string[]>>;
  /** Where device plugins register; undefined takes none. */
  readonly devicePluginDir: string | undefined;
  /** Where storage drivers and other plugins put their registration sockets; undefined takes none. */
  readonly pluginRegistryDir: string | undefined;
  readonly credentialProviderConfig: string | undefined;
  readonly credentialProviderDir: string | undefined;
  readonly cpuManager: "none" | "static";
  /** CPUs that pods never get for themselves under the static policy. */
  readonly reservedCpus: string;
  /** What pods get when the machine goes down, and what of it is for critical ones; 0 leaves them to run again afterwards. */
  readonly shutdownGraceSeconds: number;
  readonly shutdownGraceCriticalSeconds: number;
  /** In place of both. */
  readonly shutdownGraceByPriority: readonly ShutdownGroup[];
}

/** Pods of at least this priority, and of less than the next group's. */
export interface ShutdownGroup {
  readonly priority: number;
  readonly seconds: number;
}

export interface EvictionConfig {
  /** The hard ones first. */
  readonly thresholds: readonly Threshold[];
  /** The most that a pod which is ended gently is given. */
  readonly maxPodGraceSeconds: number;
  /** Pressure stays told for so long after it was last seen. */
  readonly pressureMs: number;
}

export interface ImageGcConfig {
  readonly highPercent: number;
  readonly lowPercent: number;
  readonly minAgeMs: number;
  /** Unused for longer than this goes whatever the disk says; 0 never. */
  readonly maxAgeMs: number;
}

const defaults: AgentConfig = {
  nodeName: hostname().toLowerCase(),
  nodeIps: [],
  dataDir: "/var/lib/skiff",
  registerNode: true,
  nodeLabels: {},
  nodeTaints: [],
  clusterDns: [],
  clusterDomain: "cluster.local",
  manifestDir: undefined,
  manifestUrl: undefined,
  maxPods: 110,
  podPids: 4096,
  systemReserved: {},
  kubeReserved: {},
  eviction: { thresholds: defaultThresholds, maxPodGraceSeconds: 0, pressureMs: 300_000 },
  kubeletPort: 10_250,
  readOnlyPort: 0,
  healthzPort: 0,
  parallelPulls: 3,
  imageGc: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
  seccompDefault: true,
  allowedUnsafeSysctls: [],
  resolvConf: "/etc/resolv.conf",
  cgroupRoot: "",
  cgroupDriver: "auto",
  containerLogs: { maxBytes: 10 << 20, maxFiles: 5 },
  hostDevices: {},
  devicePluginDir: undefined,
  pluginRegistryDir: undefined,
  credentialProviderConfig: undefined,
  credentialProviderDir: undefined,
  cpuManager: "none",
  reservedCpus: "",
  shutdownGraceSeconds: 0,
  shutdownGraceCriticalSeconds: 0,
  shutdownGraceByPriority: [],
};

/** Defaults for what is left out; Fault `invalid` that names the setting. */
export function agentConfig(given: Partial<AgentConfig>): AgentConfig {
  const config: AgentConfig = { ...defaults, ...given };
  const wrong = (setting: string, why: string) => new Fault("invalid", `Bad value for ${setting}: ${why}`);
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(config.nodeName)) {
    throw wrong("node-name", `"${config.nodeName}" is not a lower case DNS name`);
  }
  if (!config.dataDir.startsWith("/")) throw wrong("data-dir", "it must be an absolute path");
  if (config.maxPods < 1) throw wrong("max-pods", "at least 1 is needed");
  if (config.imageGc.lowPercent > config.imageGc.highPercent) {
    throw wrong("image-gc-low-threshold", "it must not be greater than image-gc-high-threshold");
  }
  if (config.shutdownGraceCriticalSeconds > config.shutdownGraceSeconds) {
    throw wrong("shutdown-grace-period-critical-pods", "it is a part of shutdown-grace-period and cannot be longer");
  }
  if (config.shutdownGraceByPriority.length > 0 && config.shutdownGraceSeconds > 0) {
    throw wrong(
      "shutdown-grace-period-by-pod-priority",
      "it takes the place of shutdown-grace-period: give one of them",
    );
  }
  for (const [setting, list] of [
    ["system-reserved", config.systemReserved],
    ["kube-reserved", config.kubeReserved],
  ] as const) {
    for (const [name, text] of Object.entries(list)) {
      try {
        quantityValue(parseQuantity(text));
      } catch {
        throw wrong(setting, `"${text}" of ${name} is no quantity`);
      }
    }
  }
  return config;
}
