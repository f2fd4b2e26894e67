// The resolver configuration of a pod, by its DNS policy and its own additions, within the limits of resolvers.

import { type AgentPod, podFormat } from "../model/agent-pod.ts";

export interface Resolver {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface DnsFacts {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** What the host itself uses. */
  readonly host: Resolver;
}

const mostServers = 3;
const mostSearches = 32;
const longestSearches = 2048;

export function parseResolver(text: string): Resolver {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === "nameserver" && values[0]) servers.push(values[0]);
    // The last of these lines counts.
    if (keyword === "search") searches = values.map((value) => (value === "." ? value : value.replace(/\.$/, "")));
    if (keyword === "options") options = values;
  }
  return { servers, searches, options };
}

export interface DnsWarning {
  readonly reason: "MissingClusterDNS" | "DNSConfigForming";
  readonly message: string;
}

/** The configuration, and warnings in upstream's words where something did not fit or was missing. */
export function dnsConfigOf(pod: AgentPod, facts: DnsFacts): Resolver & { warnings: readonly DnsWarning[] } {
  const warnings: DnsWarning[] = [];
  const base = baseOf(pod, facts, warnings);
  const extra = pod.spec.dnsConfig;
  const servers = unique([...base.servers, ...(extra?.nameservers ?? [])]);
  const searches = unique([...base.searches, ...(extra?.searches ?? [])]);
  const options = mergeOptions(base.options, extra?.options ?? []);
  const limited = limit(servers, searches, warnings);
  return { ...limited, options, warnings };
}

function baseOf(pod: AgentPod, facts: DnsFacts, warnings: DnsWarning[]): Resolver {
  const policy = pod.spec.dnsPolicy ?? "ClusterFirst";
  if (policy === "None") return { servers: [], searches: [], options: [] };
  const isCluster = policy === "ClusterFirstWithHostNet" || (policy === "ClusterFirst" && !pod.spec.hostNetwork);
  if (!isCluster) return facts.host;
  if (facts.clusterDns.length === 0) {
    const message = `kubelet does not have ClusterDNS IP configured and cannot create Pod using "${policy}" policy. Falling back to "Default" policy.`;
    warnings.push({ reason: "MissingClusterDNS", message: `pod: "${podFormat(pod)}". ${message}` });
    return facts.host;
  }
  const { clusterDomain } = facts;
  const own = clusterDomain
    ? [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain]
    : [];
  return { servers: facts.clusterDns, searches: [...own, ...facts.host.searches], options: ["ndots:5"] };
}

function mergeOptions(base: readonly string[], extra: readonly { name?: string; value?: string }[]): string[] {
  const merged = new Map<string, string>();
  for (const option of base) {
    const [name = "", value = ""] = option.split(":");
    merged.set(name, value);
  }
  for (const { name, value } of extra) if (name) merged.set(name, value ?? "");
  return [...merged].map(([name, value]) => (value ? `${name}:${value}` : name));
}

function limit(
  servers: string[],
  searches: string[],
  warnings: DnsWarning[],
): { servers: string[]; searches: string[] } {
  const keptServers = servers.slice(0, mostServers);
  if (keptServers.length < servers.length) {
    const message = `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${keptServers.join(" ")}`;
    warnings.push({ reason: "DNSConfigForming", message });
  }
  let keptSearches = searches.slice(0, mostSearches);
  while (keptSearches.join(" ").length > longestSearches) keptSearches = keptSearches.slice(0, -1);
  if (keptSearches.length < searches.length) {
    const message = `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${keptSearches.join(" ")}`;
    warnings.push({ reason: "DNSConfigForming", message });
  }
  return { servers: keptServers, searches: keptSearches };
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)];
}
