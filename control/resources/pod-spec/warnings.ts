// What is accepted in a pod, or in the template of one, but is likely not what its author wants: told in `Warning` headers, in upstream's words.

import type { Container, KubeObject, ObjectMeta, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import { fractionalBytes } from "../fractional-bytes.ts";
import { dnsLabel } from "../names.ts";
import { successorOf, warnOfTerms } from "../node-labels.ts";
import { warnOfOverlaps } from "./overlapping-paths.ts";

const volumesGone: Readonly<Record<string, string>> = {
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  gitRepo: "deprecated in v1.11",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  flocker: "deprecated in v1.22, non-functional in v1.25+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  quobyte: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
};

const annotationsGone: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
};

const seccompOfPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompOfContainer = "container.seccomp.security.alpha.kubernetes.io/";
const seccompGone = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const appArmor = "container.apparmor.security.beta.kubernetes.io/";
const selectsNothing = "a null labelSelector results in matching no pod";

type ContainerPort = NonNullable<Container["ports"]>[number];

interface Template {
  readonly metadata?: ObjectMeta | null | undefined;
  readonly spec?: PodSpec | null | undefined;
}

/** The names of what makes pods become their hostnames. */
export function warnOfName(name = "", of = "Pod names and hostnames"): string[] {
  const problems = dnsLabel(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in ${of}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(" ")}]`,
  ];
}

/** For the definition of a kind that makes pods: told when it is created, and when what it wants changes. */
export function workloadWarnings(
  object: KubeObject,
  previous: KubeObject | undefined,
  { isNamed = true }: { isNamed?: boolean } = {},
): string[] {
  const { template } = (object.spec ?? {}) as { template?: Template };
  if (!previous) return [...(isNamed ? warnOfName(object.metadata.name) : []), ...warnOfTemplate(template)];
  return object.metadata.generation === previous.metadata.generation ? [] : warnOfTemplate(template);
}

/** `path` is that of the template, or empty for a pod itself. */
export function warnOfTemplate(template: Template | undefined, path = "spec.template"): string[] {
  const { spec, metadata } = template ?? {};
  if (!spec) return [];
  const prefix = path === "" ? "" : `${path}.`;
  const at = `${prefix}spec`;
  const annotations = metadata?.annotations ?? {};
  const annotation = (key: string) => `${prefix}metadata.annotations[${key}]`;
  const told: string[] = [];
  for (const key of Object.keys(spec.nodeSelector ?? {}))
    if (successorOf(key)) told.push(`${at}.nodeSelector[${key}]: ${successorOf(key)}`);
  add(told, warnOfAffinity(spec, at));
  (spec.topologySpreadConstraints ?? []).forEach(({ topologyKey, labelSelector }, index) => {
    const where = `${at}.topologySpreadConstraints[${index}]`;
    const said = successorOf(topologyKey);
    if (said) told.push(`${where}.topologyKey: ${topologyKey} is ${said}`);
    if (!labelSelector) told.push(`${where}.labelSelector: ${selectsNothing}`);
  });
  for (const [key, said] of Object.entries(annotationsGone))
    if (Object.hasOwn(annotations, key)) told.push(`${annotation(key)}: ${said}`);
  (spec.volumes ?? []).forEach((volume, index) => {
    const where = `${at}.volumes[${index}]`;
    for (const [source, said] of Object.entries(volumesGone))
      if (Object.hasOwn(volume, source))
        told.push(`${where}.${source === "storageos" ? "storageOS" : source}: ${said}`);
    const claim = volume.ephemeral?.volumeClaimTemplate;
    if (claim)
      add(told, fractionalBytes(claim.spec?.resources, ["storage"], `${where}.ephemeral.volumeClaimTemplate.spec`));
  });
  add(told, warnOfOverlaps(spec.volumes ?? []));
  add(told, repeated(spec.hostAliases, "ip", `${at}.hostAliases`));
  add(told, repeated(spec.imagePullSecrets, "name", `${at}.imagePullSecrets`));
  (spec.imagePullSecrets ?? []).forEach(({ name }, index) => {
    if (!name) told.push(`${at}.imagePullSecrets[${index}].name: invalid empty name ""`);
  });
  if (!spec.securityContext?.seccompProfile && Object.hasOwn(annotations, seccompOfPod))
    told.push(`${annotation(seccompOfPod)}: ${seccompGone}`);
  const containers = containersOf(spec, at);
  for (const { container, where } of containers) {
    const seccomp = `${seccompOfContainer}${container.name}`;
    if (!container.securityContext?.seccompProfile && Object.hasOwn(annotations, seccomp))
      told.push(`${annotation(seccomp)}: ${seccompGone}`);
    const profile = spec.securityContext?.appArmorProfile ?? container.securityContext?.appArmorProfile;
    if (!profile && Object.hasOwn(annotations, `${appArmor}${container.name}`))
      told.push(
        `${annotation(`${appArmor}${container.name}`)}: deprecated since v1.30; use the "appArmorProfile" field instead`,
      );
    add(told, fractionalBytes(container.resources, ["memory", "ephemeral-storage"], where));
    add(told, warnOfHidden(container, where));
  }
  add(told, warnOfPorts(containers));
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    told.push(
      `${at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  return told;
}

/** One at a time: there may be more than a call takes arguments. */
function add(told: string[], more: readonly string[]): void {
  for (const one of more) told.push(one);
}

interface Placed {
  readonly container: Container;
  readonly where: string;
}

function containersOf(spec: PodSpec, at: string): Placed[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
    ((spec[list] ?? []) as Container[]).map((container, index) => ({ container, where: `${at}.${list}[${index}]` })),
  );
}

function warnOfAffinity({ affinity }: PodSpec, at: string): string[] {
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const ofNodes = affinity?.nodeAffinity;
  const told = [
    ...warnOfTerms(
      ofNodes?.[required]?.nodeSelectorTerms,
      (index) => `${at}.affinity.nodeAffinity.${required}.nodeSelectorTerms[${index}]`,
    ),
    ...warnOfTerms(
      ofNodes?.[preferred]?.map(({ preference }) => preference),
      (index) => `${at}.affinity.nodeAffinity.${preferred}[${index}].preference`,
    ),
  ];
  for (const which of ["podAffinity", "podAntiAffinity"] as const) {
    (affinity?.[which]?.[required] ?? []).forEach(({ labelSelector }, index) => {
      if (!labelSelector) told.push(`${at}.affinity.${which}.${required}[${index}].labelSelector: ${selectsNothing}`);
    });
    (affinity?.[which]?.[preferred] ?? []).forEach(({ podAffinityTerm }, index) => {
      if (!podAffinityTerm?.labelSelector)
        told.push(`${at}.affinity.${which}.${preferred}[${index}].podAffinityTerm.labelSelector: ${selectsNothing}`);
    });
  }
  return told;
}

function repeated<K extends string>(
  list: readonly { [key in K]?: string | undefined }[] | undefined,
  key: K,
  at: string,
): string[] {
  const seen = new Set<string>();
  return (list ?? []).flatMap((item, index) => {
    const value = item[key] ?? "";
    if (seen.has(value)) return [`${at}[${index}].${key}: duplicate ${key} ${JSON.stringify(value)}`];
    seen.add(value);
    return [];
  });
}

/** A variable may be built upon an earlier one of its name; otherwise the earlier one is lost. */
function warnOfHidden({ env = [] }: Container, where: string): string[] {
  const seen = new Set<string>();
  return env.flatMap(({ name, value = "", valueFrom }, index) => {
    const known = seen.has(name);
    seen.add(name);
    const reference = `$(${name})`;
    if (!known || (!valueFrom && value !== reference && value.includes(reference))) return [];
    return [
      `${where}.env[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
    ];
  });
}

function warnOfPorts(containers: readonly Placed[]): string[] {
  const told: string[] = [];
  const all = new Map<string, { where: string; port: ContainerPort }[]>();
  for (const { container, where } of containers)
    (container.ports ?? []).forEach((port, index) => {
      const here = `${where}.ports[${index}]`;
      if (port.hostIP && !port.hostPort) told.push(`${here}: hostIP set without hostPort: ${asGo(port)}`);
      const key = `${port.containerPort}/${port.protocol ?? ""}`;
      const others = all.get(key) ?? [];
      for (const other of others) {
        const how = clash(port, other.port);
        if (how) told.push(`${here}: ${how} port definition with ${other.where}`);
      }
      all.set(key, [...others, { where: here, port }]);
    });
  return told;
}

function clash(port: ContainerPort, other: ContainerPort): string | undefined {
  const [address, otherAddress] = [port.hostIP ?? "", other.hostIP ?? ""];
  const [host, otherHost] = [port.hostPort ?? 0, other.hostPort ?? 0];
  if (address === otherAddress && host === otherHost) return "duplicate";
  if (host === 0 || otherHost === 0) return "overlapping";
  return host === otherHost && (address === "") !== (otherAddress === "") ? "dangerously ambiguous" : undefined;
}

/** A port as upstream prints it. */
function asGo({ name = "", hostPort = 0, containerPort, protocol, hostIP = "" }: ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol ?? ""} HostIP:${hostIP}}`;
}
