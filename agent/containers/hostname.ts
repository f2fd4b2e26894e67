// The names a pod answers to: its host name and, with a subdomain, its domain.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { AgentPod } from "../model/agent-pod.ts";

const longest = 63;
const longestFqdn = 64;

/** The name and domain for `/etc/hosts`; the domain is empty without a subdomain. */
export function podNames(pod: AgentPod, clusterDomain: string): { hostname: string; domain: string } {
  const { hostname = "", subdomain } = pod.spec;
  const name = hostname || truncate(pod.metadata.name);
  const domain = subdomain ? `${subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : "";
  return { hostname: name, domain };
}

/** What the kernel's host name inside the pod is set to. Fault `invalid` when a whole name does not fit. */
export function kernelHostname(pod: AgentPod, clusterDomain: string): string {
  const { hostname, domain } = podNames(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || !domain) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > longestFqdn) {
    throw new Fault(
      "invalid",
      `Failed to construct FQDN from Pod hostname and cluster domain, FQDN ${fqdn} is too long (${longestFqdn} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

function truncate(name: string): string {
  return name.slice(0, longest).replace(/[-.]+$/, "");
}
