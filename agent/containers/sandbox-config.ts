// The sandbox of a pod as the runtime takes it. Pure.

import { PodSandboxConfig, type PortMapping, Protocol } from "../../cri/api/gen/runtime.js";
import { LinuxContainerResources } from "../../cri/api/gen/runtime.js";
import { parseQuantity, quantityMilli, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import { type AgentPod, isSidecar } from "../model/agent-pod.ts";
import { type DnsFacts, dnsConfigOf } from "./dns.ts";
import { kernelHostname } from "./hostname.ts";
import { podLabels, podLogDir } from "../model/identity.ts";
import { podLimits, sharesOf } from "./resources.ts";
import { sandboxSecurity, type SecurityFacts } from "./security.ts";

export interface SandboxFacts extends DnsFacts, Omit<SecurityFacts, "imageUser" | "targetId"> {
  readonly logsDir: string;
  /** The pod's cgroup; empty leaves it to the runtime. */
  readonly cgroupParent: string;
}

export function sandboxConfig(pod: AgentPod, attempt: number, facts: SandboxFacts): PodSandboxConfig {
  const { name, namespace, uid } = pod.metadata;
  const { servers, searches, options } = dnsConfigOf(pod, facts);
  const limits = podLimits(pod);
  const sysctls = (pod.spec.securityContext?.sysctls ?? []).map((sysctl) => [sysctl.name, sysctl.value]);
  return PodSandboxConfig.create({
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork ? "" : kernelHostname(pod, facts.clusterDomain),
    logDirectory: podLogDir(facts.logsDir, pod.metadata),
    dnsConfig: { servers: [...servers], searches: [...searches], options: [...options] },
    portMappings: pod.spec.hostNetwork ? [] : portMappings(pod),
    labels: { ...pod.metadata.labels, ...podLabels(pod) },
    annotations: { ...pod.metadata.annotations },
    linux: {
      cgroupParent: facts.cgroupParent,
      securityContext: sandboxSecurity(pod, facts),
      sysctls: Object.fromEntries(sysctls) as Record<string, string>,
      overhead: overheadOf(pod),
      resources: LinuxContainerResources.create({
        cpuShares: limits.cpuShares,
        cpuQuota: limits.cpuQuota,
        cpuPeriod: 100_000n,
        memoryLimitInBytes: limits.memoryBytes,
      }),
    },
  });
}

function overheadOf(pod: AgentPod): LinuxContainerResources {
  const { cpu, memory } = pod.spec.overhead ?? {};
  return LinuxContainerResources.create({
    ...(cpu === undefined ? {} : { cpuShares: sharesOf(quantityMilli(parseQuantity(cpu))) }),
    ...(memory === undefined ? {} : { memoryLimitInBytes: quantityValue(parseQuantity(memory)) }),
  });
}

const protocols: Record<string, Protocol> = { TCP: Protocol.TCP, UDP: Protocol.UDP, SCTP: Protocol.SCTP };

function portMappings(pod: AgentPod): PortMapping[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
  return containers.flatMap((container) =>
    (container.ports ?? []).map((port) => ({
      protocol: protocols[port.protocol ?? "TCP"] ?? Protocol.TCP,
      containerPort: port.containerPort,
      hostPort: port.hostPort ?? 0,
      hostIp: port.hostIP ?? "",
    })),
  );
}
