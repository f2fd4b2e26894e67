// The text of a pod's /etc/hosts.

import type { AgentPod } from "../model/agent-pod.ts";
import { podNames } from "./hostname.ts";

const managed = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

export function hostsFile(
  pod: AgentPod,
  facts: { podIps: readonly string[]; clusterDomain: string; hostFile: string },
): string {
  const aliases = aliasLines(pod);
  if (pod.spec.hostNetwork) return `# Kubernetes-managed hosts file (host network).\n${facts.hostFile}${aliases}`;
  const { hostname, domain } = podNames(pod, facts.clusterDomain);
  const names = domain ? `${hostname}.${domain}\t${hostname}` : hostname;
  return managed + facts.podIps.map((ip) => `${ip}\t${names}\n`).join("") + aliases;
}

function aliasLines(pod: AgentPod): string {
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length === 0) return "";
  const lines = aliases.map((alias) => `${alias.ip}\t${(alias.hostnames ?? []).join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}
