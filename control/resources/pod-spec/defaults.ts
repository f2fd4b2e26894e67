// Fills what a pod's specification leaves out, for pods and for templates.

import { defaultSources } from "../volume-sources.ts";
import type { Container, PodSpec, Probe, Volume } from "../../../plugins/kit/kube/objects/types.ts";

type Json = Record<string, unknown>;

/** Sets a field that is absent or null. */
export function setDefault<T extends object, K extends keyof T>(target: T, field: K, value: T[K]): void {
  if (target[field] === undefined || target[field] === null) target[field] = value;
}

export function defaultPodSpec(spec: PodSpec): void {
  setDefault(spec, "restartPolicy", "Always");
  if (!spec.dnsPolicy) spec.dnsPolicy = "ClusterFirst";
  setDefault(spec, "schedulerName", "default-scheduler");
  setDefault(spec, "terminationGracePeriodSeconds", 30);
  setDefault(spec, "securityContext", {});
  mirrorServiceAccount(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of allContainers(spec)) defaultContainer(container);
}

/** The old field `serviceAccount` always says the same as the new one. */
function mirrorServiceAccount(spec: PodSpec): void {
  if (!spec.serviceAccountName && spec.serviceAccount) spec.serviceAccountName = spec.serviceAccount;
  if (spec.serviceAccountName) spec.serviceAccount = spec.serviceAccountName;
  else delete spec.serviceAccount;
}

function allContainers(spec: PodSpec): Container[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as unknown as Container[]),
  ];
}

function defaultContainer(container: Container): void {
  if (!container.imagePullPolicy)
    container.imagePullPolicy = hasLatestTag(container.image ?? "") ? "Always" : "IfNotPresent";
  setDefault(container, "terminationMessagePath", "/dev/termination-log");
  if (!container.terminationMessagePolicy) container.terminationMessagePolicy = "File";
  setDefault(container, "resources", {});
  for (const port of container.ports ?? []) if (!port.protocol) port.protocol = "TCP";
  for (const variable of container.env ?? []) {
    if (variable.valueFrom) defaultDownward(variable.valueFrom);
  }
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    if (probe) defaultProbe(probe);
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop])
    if (handler?.httpGet) defaultHttpGet(handler.httpGet);
}

function defaultProbe(probe: Probe): void {
  if (!probe.timeoutSeconds) probe.timeoutSeconds = 1;
  if (!probe.periodSeconds) probe.periodSeconds = 10;
  if (!probe.successThreshold) probe.successThreshold = 1;
  if (!probe.failureThreshold) probe.failureThreshold = 3;
  if (probe.httpGet) defaultHttpGet(probe.httpGet);
  if (probe.grpc) setDefault(probe.grpc, "service", "");
}

function defaultHttpGet(action: { path?: string; scheme?: string }): void {
  if (!action.path) action.path = "/";
  if (!action.scheme) action.scheme = "HTTP";
}

const component = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const reference = new RegExp(
  `^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\\d+)?/)?${component}(?:/${component})*(?::[\\w][\\w.-]{0,127})?$`,
);

/** What is no name of an image at all has no tag either. */
function hasLatestTag(image: string): boolean {
  if (image.includes("@") || image.length > 255 + 128 || !reference.test(image)) return false;
  const name = image.slice(image.lastIndexOf("/") + 1);
  const colon = name.indexOf(":");
  return colon < 0 || name.slice(colon + 1) === "latest";
}

interface Downward {
  fieldRef?: { apiVersion?: string };
  resourceFieldRef?: { divisor?: string | number };
}

/** No divisor is written as 0, which counts in the resource's own unit. */
function defaultDownward({ fieldRef, resourceFieldRef }: Downward): void {
  if (fieldRef && !fieldRef.apiVersion) fieldRef.apiVersion = "v1";
  if (resourceFieldRef) setDefault(resourceFieldRef, "divisor", "0");
}

const fileMode = 0o644;

function defaultVolume(volume: Volume): void {
  const sources = Object.keys(volume).filter((key) => key !== "name" && (volume as unknown as Json)[key] != null);
  if (sources.length === 0) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected])
    if (source) setDefault(source as { defaultMode?: number }, "defaultMode", fileMode);
  defaultSources(volume as unknown as Json);
  for (const item of volume.downwardAPI?.items ?? []) defaultDownward(item);
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken) setDefault(source.serviceAccountToken, "expirationSeconds", 3600);
    for (const item of source.downwardAPI?.items ?? []) defaultDownward(item);
  }
  const template = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (template) setDefault(template, "volumeMode", "Filesystem");
}

/** Of pods only: what is limited but not requested is requested in full, links to services are on, ports of a host network are the host's. */
export function defaultPod(spec: PodSpec): void {
  defaultPodSpec(spec);
  setDefault(spec, "enableServiceLinks", true);
  if (spec.hostNetwork)
    for (const container of allContainers(spec))
      for (const port of container.ports ?? []) if (!port.hostPort) port.hostPort = port.containerPort;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const limits = container.resources?.limits;
    if (!limits || !container.resources) continue;
    const requests = (container.resources.requests ??= {});
    for (const [name, value] of Object.entries(limits)) if (!Object.hasOwn(requests, name)) requests[name] = value;
  }
}
