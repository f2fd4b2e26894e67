// Settings that tune the agent beyond what every command knows, and how they become parts of an AgentConfig. Names are kubelet's.

import { join } from "node:path";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { Setting, Settings } from "../../plugins/kit/base/settings.ts";
import { durationOf, evictionThresholds } from "./eviction-thresholds.ts";
import { type AgentConfig, agentConfig, type ShutdownGroup } from "./agent-config.ts";

export const tuningSettings: readonly Setting[] = [
  { name: "system-reserved", type: "list", value: "cpu=…", help: "resources that pods do not get" },
  { name: "kube-reserved", type: "list", value: "cpu=…", help: "resources that pods do not get, for Skiff itself" },
  {
    name: "max-parallel-image-pulls",
    type: "number",
    default: 3,
    help: "images pulled at once; 1 is one after the other",
  },
  {
    name: "image-gc-high-threshold",
    type: "number",
    default: 85,
    help: "percent of disk use that starts removing images",
  },
  {
    name: "image-gc-low-threshold",
    type: "number",
    default: 80,
    help: "percent of disk use that images are removed down to",
  },
  {
    name: "image-maximum-gc-age",
    type: "number",
    default: 0,
    help: "seconds after which unused images are removed; 0 never",
  },
  {
    name: "seccomp-default",
    type: "switch",
    default: true,
    help: "RuntimeDefault for containers without a seccomp profile",
  },
  {
    name: "allowed-unsafe-sysctls",
    type: "list",
    value: "name",
    help: "sysctls beyond the safe ones that pods may set; net.core.* allows all below",
  },
  {
    name: "resolv-conf",
    type: "text",
    default: "/etc/resolv.conf",
    value: "path",
    help: "resolver file that pods inherit",
  },
  {
    name: "cgroup-root",
    type: "text",
    help: "cgroup that pods lie below (default: one of this instance); empty leaves it to the runtime",
  },
  {
    name: "cgroup-driver",
    type: "text",
    default: "auto",
    choices: ["auto", "cgroupfs", "systemd"],
    help: "who makes the cgroups of pods; auto is what the runtime says, which holds in any case",
  },
  {
    name: "pod-max-pids",
    type: "number",
    value: "count",
    default: 4096,
    help: "how many processes and threads a pod may have; -1 is no limit",
  },
  { name: "container-log-max-size", type: "text", default: "10Mi", help: "size at which a container's log is rotated" },
  { name: "container-log-max-files", type: "number", default: 5, help: "log files kept for each container" },
  {
    name: "eviction-hard",
    type: "list",
    value: "signal<amount",
    help: "thresholds that end pods at once, such as nodefs.available<10%; 0 switches one off, the others keep their defaults",
  },
  {
    name: "eviction-soft",
    type: "list",
    value: "signal<amount",
    help: "thresholds that end pods gently once crossed for their grace period, such as memory.available<300Mi",
  },
  { name: "eviction-soft-grace-period", type: "list", value: "signal=1m30s", help: "one for each soft threshold" },
  {
    name: "eviction-max-pod-grace-period",
    type: "number",
    default: 0,
    help: "the most seconds that a pod which is ended gently is given",
  },
  {
    name: "eviction-minimum-reclaim",
    type: "list",
    value: "signal=amount",
    help: "how much more than its threshold is freed of something that ran short, such as imagefs.available=2Gi",
  },
  {
    name: "eviction-pressure-transition-period",
    type: "text",
    default: "5m",
    value: "1m30s",
    help: "how long the node tells of pressure after it was last seen",
  },
  {
    name: "eviction-memory",
    type: "text",
    default: "100Mi",
    help: "free memory below which pods are evicted; short for eviction-hard memory.available",
  },
  {
    name: "host-devices",
    type: "mapping",
    help: "extended resource to host devices: { skiff.dev/serial: [/dev/ttyUSB0] }",
  },
  {
    name: "device-plugin-dir",
    type: "text",
    value: "path",
    help: "where device plugins register (default: kubelet's folder, or one in another data dir); empty is off",
  },
  {
    name: "plugin-registry-dir",
    type: "text",
    value: "path",
    help: "where storage drivers register (default: kubelet's folder, or one in another data dir); empty is off",
  },
  { name: "image-credential-provider-config", type: "text", value: "path", help: "credential provider configuration" },
  {
    name: "image-credential-provider-bin-dir",
    type: "text",
    value: "path",
    help: "folder of credential provider programs",
  },
  {
    name: "cpu-manager-policy",
    type: "text",
    default: "none",
    choices: ["none", "static"],
    help: "CPUs of their own for pods",
  },
  { name: "reserved-cpus", type: "text", default: "", help: "CPUs that pods never get for themselves" },
  {
    name: "shutdown-grace-period",
    type: "number",
    default: 0,
    help: "seconds that pods get when the machine shuts down",
  },
  {
    name: "shutdown-grace-period-critical-pods",
    type: "number",
    default: 0,
    help: "seconds of shutdown-grace-period that are kept for critical pods, which go last",
  },
  {
    name: "shutdown-grace-period-by-pod-priority",
    type: "list",
    value: "priority=seconds",
    help: "seconds for pods from each priority on, the lowest first, in place of shutdown-grace-period",
  },
];

const mainDataDir = "/var/lib/skiff";

/** Stock plugins know one folder; an instance beside the main one must not take it over. */
function defaultPluginDir(dataDir: string, name: string): string {
  return join(dataDir === mainDataDir ? "/var/lib/kubelet" : dataDir, name);
}

/** What was said; `cgroupRoot` is the one of this instance, for when nothing was. */
export function tuningFrom(settings: Settings, cgroupRoot: string): Partial<AgentConfig> {
  const { imageGc, containerLogs, eviction, podPids } = agentConfig({});
  const text = (name: string) => settings[name] as string | undefined;
  const number = (name: string, otherwise: number) => (settings[name] as number | undefined) ?? otherwise;
  const list = (name: string) => (settings[name] as readonly string[] | undefined) ?? [];
  const bytes = (name: string, otherwise: bigint) => {
    const said = text(name);
    return said === undefined ? otherwise : quantityValue(parseQuantity(said));
  };
  const memory = text("eviction-memory");
  const transition = text("eviction-pressure-transition-period");
  // Said to be empty, there is none.
  const pluginDir = (setting: string, name: string) =>
    (text(setting) ?? defaultPluginDir(text("data-dir") ?? mainDataDir, name)) || undefined;
  return {
    systemReserved: pairs("system-reserved", list("system-reserved")),
    kubeReserved: pairs("kube-reserved", list("kube-reserved")),
    parallelPulls: number("max-parallel-image-pulls", 3),
    imageGc: {
      highPercent: number("image-gc-high-threshold", imageGc.highPercent),
      lowPercent: number("image-gc-low-threshold", imageGc.lowPercent),
      minAgeMs: imageGc.minAgeMs,
      maxAgeMs: number("image-maximum-gc-age", 0) * 1000,
    },
    seccompDefault: settings["seccomp-default"] !== false,
    allowedUnsafeSysctls: list("allowed-unsafe-sysctls"),
    resolvConf: text("resolv-conf") ?? "/etc/resolv.conf",
    cgroupRoot: text("cgroup-root") ?? cgroupRoot,
    cgroupDriver: (text("cgroup-driver") ?? "auto") as AgentConfig["cgroupDriver"],
    podPids: number("pod-max-pids", podPids),
    containerLogs: {
      maxBytes: Number(bytes("container-log-max-size", BigInt(containerLogs.maxBytes))),
      maxFiles: number("container-log-max-files", containerLogs.maxFiles),
    },
    eviction: {
      thresholds: evictionThresholds({
        hard: [...(memory === undefined ? [] : [`memory.available<${memory}`]), ...list("eviction-hard")],
        soft: list("eviction-soft"),
        softGracePeriods: list("eviction-soft-grace-period"),
        minimumReclaims: list("eviction-minimum-reclaim"),
      }),
      maxPodGraceSeconds: number("eviction-max-pod-grace-period", eviction.maxPodGraceSeconds),
      pressureMs: durationOf(transition ?? "5m", "eviction-pressure-transition-period"),
    },
    hostDevices: devicesOf(settings["host-devices"]),
    devicePluginDir: pluginDir("device-plugin-dir", "device-plugins"),
    pluginRegistryDir: pluginDir("plugin-registry-dir", "plugins_registry"),
    credentialProviderConfig: text("image-credential-provider-config"),
    credentialProviderDir: text("image-credential-provider-bin-dir"),
    cpuManager: text("cpu-manager-policy") === "static" ? "static" : "none",
    reservedCpus: text("reserved-cpus") ?? "",
    shutdownGraceSeconds: number("shutdown-grace-period", 0),
    shutdownGraceCriticalSeconds: number("shutdown-grace-period-critical-pods", 0),
    shutdownGraceByPriority: shutdownGroupsOf(list("shutdown-grace-period-by-pod-priority")),
  };
}

function pairs(setting: string, list: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    list.map((item) => {
      const at = item.indexOf("=");
      if (at < 1) throw new Fault("invalid", `Bad value for ${setting}: "${item}" is not of the form key=value`);
      return [item.slice(0, at), item.slice(at + 1)];
    }),
  );
}

function shutdownGroupsOf(texts: readonly string[]): ShutdownGroup[] {
  return texts.map((text) => {
    const [, priority, seconds] = /^(-?\d+)=(\d+)$/.exec(text) ?? [];
    if (priority === undefined || seconds === undefined)
      throw new Fault(
        "invalid",
        `Bad value for shutdown-grace-period-by-pod-priority: "${text}" is not of the form priority=seconds`,
      );
    return { priority: Number(priority), seconds: Number(seconds) };
  });
}

function devicesOf(raw: unknown): Record<string, readonly string[]> {
  const result: Record<string, readonly string[]> = {};
  for (const [name, paths] of Object.entries((raw ?? {}) as Record<string, unknown>)) {
    const list = typeof paths === "string" ? [paths] : paths;
    if (
      !name.includes("/") ||
      !Array.isArray(list) ||
      !list.every((path) => typeof path === "string" && path.startsWith("/dev/"))
    ) {
      throw new Fault(
        "invalid",
        `Bad value for host-devices: "${name}" must be domain/name with a list of paths below /dev`,
      );
    }
    result[name] = list as string[];
  }
  return result;
}
