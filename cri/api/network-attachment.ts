// What the network is told of a sandbox, the same for attaching and detaching.

import { Fault } from "../../plugins/kit/base/fault.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import { type PodSandboxConfig, Protocol } from "./gen/runtime.js";

// The largest burst that the programs take: the rate alone limits.
const burst = 2 ** 31 - 1;
const bandwidthAnnotations = {
  ingress: "kubernetes.io/ingress-bandwidth",
  egress: "kubernetes.io/egress-bandwidth",
};
const [leastRate, mostRate] = [10n ** 3n, 10n ** 15n];

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
    ...bandwidthOf(config.annotations),
    ...(config.dnsConfig ? { dns: config.dnsConfig } : {}),
    ...(config.linux?.cgroupParent ? { cgroupPath: config.linux.cgroupParent } : {}),
  };
}

/** The limits that a pod's annotations ask for, in bits a second; for a network list with a plugin that shapes traffic. */
function bandwidthOf(annotations: Readonly<Record<string, string>>) {
  const ingressRate = rateOf(annotations[bandwidthAnnotations.ingress]);
  const egressRate = rateOf(annotations[bandwidthAnnotations.egress]);
  if (ingressRate === undefined && egressRate === undefined) return {};
  return {
    bandwidth: {
      ...(ingressRate === undefined ? {} : { ingressRate, ingressBurst: burst }),
      ...(egressRate === undefined ? {} : { egressRate, egressBurst: burst }),
    },
  };
}

/** Refuses limits that cannot be; for before a sandbox is made. Once it is there nothing may keep it from being detached. */
export function checkBandwidth(annotations: Readonly<Record<string, string>>): void {
  for (const name of Object.values(bandwidthAnnotations)) {
    const text = annotations[name];
    if (text !== undefined && rateOf(text) === undefined)
      throw new Fault("invalid", `Cannot limit the pod's traffic by ${name}: ${text} is not between 1k and 1P`);
  }
}

function rateOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const rate = quantityValue(parseQuantity(text));
    return rate < leastRate || rate > mostRate ? undefined : Number(rate);
  } catch {
    return undefined; // no amount at all
  }
}
