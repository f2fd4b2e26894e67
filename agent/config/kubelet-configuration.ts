// The agent's configuration in the words of upstream's KubeletConfiguration, as `/configz` shows it: scanners and scripts look for its
// fields. What upstream lets one set and Skiff has fixed is told with the value that holds.

import { join } from "node:path";
import { runtimeRequestSeconds } from "../runtime/with-timeouts.ts";
import type { AgentConfig, EvictionConfig } from "./agent-config.ts";
import type { Amount, Threshold } from "./eviction-thresholds.ts";

export function kubeletConfiguration(config: AgentConfig): Record<string, unknown> {
  const { eviction, imageGc, containerLogs, manifestDir, manifestUrl } = config;
  const { shutdownGraceByPriority: byPriority } = config;
  return {
    enableServer: true,
    ...(manifestDir ? { staticPodPath: manifestDir } : {}),
    ...(manifestUrl ? { staticPodURL: manifestUrl } : {}),
    podLogsDir: join(config.dataDir, "logs", "pods"),
    fileCheckFrequency: "20s",
    httpCheckFrequency: "20s",
    address: "::",
    port: config.kubeletPort,
    readOnlyPort: config.readOnlyPort,
    rotateCertificates: true,
    serverTLSBootstrap: true,
    tlsMinVersion: "VersionTLS12",
    authentication: { x509: {}, webhook: { enabled: true, cacheTTL: "2m0s" }, anonymous: { enabled: false } },
    authorization: { mode: "Webhook", webhook: { cacheAuthorizedTTL: "5m0s", cacheUnauthorizedTTL: "30s" } },
    // Each object's events are bounded, their sum is not.
    eventRecordQPS: 0,
    enableDebuggingHandlers: true,
    enableSystemLogHandler: true,
    enableSystemLogQuery: true,
    enableProfilingHandler: true,
    enableDebugFlagsHandler: true,
    healthzPort: config.healthzPort,
    healthzBindAddress: "127.0.0.1",
    clusterDomain: config.clusterDomain,
    clusterDNS: config.clusterDns,
    streamingConnectionIdleTimeout: "4h0m0s",
    nodeStatusUpdateFrequency: "10s",
    nodeStatusReportFrequency: "5m0s",
    nodeLeaseDurationSeconds: 40,
    imageMinimumGCAge: duration(imageGc.minAgeMs),
    imageMaximumGCAge: duration(imageGc.maxAgeMs),
    imageGCHighThresholdPercent: imageGc.highPercent,
    imageGCLowThresholdPercent: imageGc.lowPercent,
    volumeStatsAggPeriod: "1m0s",
    ...(config.cgroupRoot === "" ? {} : { cgroupRoot: `/${config.cgroupRoot.replace(/^\/+/, "")}` }),
    cgroupsPerQOS: config.cgroupRoot !== "",
    cgroupDriver: config.cgroupDriver === "systemd" ? "systemd" : "cgroupfs",
    cpuManagerPolicy: config.cpuManager,
    memoryManagerPolicy: "None",
    topologyManagerPolicy: "none",
    topologyManagerScope: "container",
    runtimeRequestTimeout: duration(runtimeRequestSeconds * 1000),
    maxPods: config.maxPods,
    podPidsLimit: config.podPids > 0 ? config.podPids : -1,
    resolvConf: config.resolvConf,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriod: "100ms",
    nodeStatusMaxImages: 50,
    contentType: "application/json",
    serializeImagePulls: config.parallelPulls === 1,
    maxParallelImagePulls: config.parallelPulls,
    ...evictionOf(eviction),
    evictionPressureTransitionPeriod: duration(eviction.pressureMs),
    enableControllerAttachDetach: true,
    makeIPTablesUtilChains: true,
    failSwapOn: false,
    memorySwap: {},
    containerLogMaxSize: bytes(containerLogs.maxBytes),
    containerLogMaxFiles: containerLogs.maxFiles,
    containerLogMonitorInterval: "10s",
    systemReserved: config.systemReserved,
    kubeReserved: config.kubeReserved,
    ...(config.reservedCpus === "" ? {} : { reservedSystemCPUs: config.reservedCpus }),
    configMapAndSecretChangeDetectionStrategy: "Watch",
    enforceNodeAllocatable: ["pods"],
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
    shutdownGracePeriod: duration(config.shutdownGraceSeconds * 1000),
    shutdownGracePeriodCriticalPods: duration(config.shutdownGraceCriticalSeconds * 1000),
    ...(byPriority.length > 0
      ? {
          shutdownGracePeriodByPodPriority: byPriority.map(({ priority, seconds }) => ({
            priority,
            shutdownGracePeriodSeconds: seconds,
          })),
        }
      : {}),
    seccompDefault: config.seccompDefault,
    registerNode: config.registerNode,
    registerWithTaints: config.nodeTaints,
    localStorageCapacityIsolation: true,
  };
}

function evictionOf({ thresholds, maxPodGraceSeconds }: EvictionConfig): object {
  const by = (list: readonly Threshold[], of: (one: Threshold) => string) =>
    Object.fromEntries(list.map((one) => [one.signal, of(one)] as const));
  const hard = thresholds.filter(({ graceMs }) => graceMs === undefined);
  const soft = thresholds.filter(({ graceMs }) => graceMs !== undefined);
  const reclaiming = thresholds.filter(({ minimumReclaim }) => minimumReclaim !== undefined);
  return {
    evictionHard: by(hard, ({ below }) => amount(below)),
    ...(soft.length > 0
      ? {
          evictionSoft: by(soft, ({ below }) => amount(below)),
          evictionSoftGracePeriod: by(soft, ({ graceMs = 0 }) => duration(graceMs)),
          evictionMaxPodGracePeriod: maxPodGraceSeconds,
        }
      : {}),
    ...(reclaiming.length > 0
      ? { evictionMinimumReclaim: by(reclaiming, ({ minimumReclaim }) => amount(minimumReclaim ?? { amount: 0 })) }
      : {}),
  };
}

const amount = (told: Amount) => ("fraction" in told ? percent(told.fraction) : bytes(told.amount));

const percent = (fraction: number) => `${Number((fraction * 100).toFixed(3))}%`;

const binary = ["", "Ki", "Mi", "Gi", "Ti"];

function bytes(amount: number): string {
  let step = 0;
  let left = amount;
  for (; left > 0 && left % 1024 === 0 && step + 1 < binary.length; step++) left /= 1024;
  return `${left}${binary[step]}`;
}

/** As Go writes a duration: `1h0m0s`, `2m0s`, `0s`, `100ms`. */
function duration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1000];
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${seconds}s`;
}
