// What the network is told of a sandbox, the same for attaching and detaching.

import { type PodSandboxConfig, Protocol } from "./gen/runtime.js";

const protocols: Readonly<Record<number, string>> = {
  [Protocol.TCP]: "tcp",
  [Protocol.UDP]: "udp",
  [Protocol.SCTP]: "sctp",
};

/** An empty path says that the namespace is gone, as in CNI. */
export function networkAttachment(id: string, netnsPath: string, config: PodSandboxConfig) {
  const { metadata } = config;
  return {
    containerId: id,
    netnsPath,
    ifName: "eth0",
    podName: metadata?.name ?? "",
    podNamespace: metadata?.namespace ?? "",
    podUid: metadata?.uid ?? "",
    portMappings: config.portMappings
      .filter(({ hostPort }) => hostPort > 0)
      .map(({ hostPort, containerPort, protocol, hostIp }) => ({
        hostPort,
        containerPort,
        protocol: protocols[protocol] ?? "tcp",
        ...(hostIp ? { hostIP: hostIp } : {}),
      })),
    ...(config.dnsConfig ? { dns: config.dnsConfig } : {}),
    ...(config.linux?.cgroupParent ? { cgroupPath: config.linux.cgroupParent } : {}),
  };
}
