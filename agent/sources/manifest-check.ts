// Whether a manifest is a pod that can run: what an API server would have refused is refused here, by the field that is wrong. The API
// server of the cluster checks the rest when it is told of the pod.

import type { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container, PodSpec } from "../../plugins/kit/kube/objects/types.ts";
import { compareQuantity, parseQuantity } from "../../plugins/kit/kube/quantity.ts";

/** Makes the error for a field. */
export type Wrong = (field: string, why: string) => Fault;

export const namePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const labelPattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Throws what `wrong` makes for the first field that is not right. */
export function checkPodSpec(raw: unknown, wrong: Wrong): void {
  if (!isObject(raw)) throw wrong("spec", "must be an object");
  const spec = raw as unknown as PodSpec;
  checkFields(raw, "spec", specFields, wrong);
  if (raw["ephemeralContainers"] !== undefined)
    throw wrong("spec.ephemeralContainers", "cannot be given with a manifest");
  const volumes = checkVolumes(raw["volumes"], wrong);
  const names = new Set<string>();
  const lists = { containers: spec.containers, initContainers: spec.initContainers };
  for (const [list, items] of Object.entries(lists)) {
    if (items === undefined && list === "initContainers") continue;
    if (!Array.isArray(items) || (list === "containers" && items.length === 0))
      throw wrong(`spec.${list}`, "must be a list with at least one container");
    items.forEach((container: unknown, index) => {
      const at = `spec.${list}[${index}]`;
      checkContainer(container, at, volumes, wrong);
      const { name } = container as Container;
      if (names.has(name)) throw wrong(`${at}.name`, `"${name}" is the name of another container, too`);
      names.add(name);
    });
  }
}

type Check = (value: unknown) => string | undefined;

const oneOf =
  (...words: string[]): Check =>
  (value) =>
    words.includes(value as string) ? undefined : `must be one of ${words.join(", ")}, not ${JSON.stringify(value)}`;
const aFlag: Check = (value) => (typeof value === "boolean" ? undefined : "must be true or false");
const aText: Check = (value) => (typeof value === "string" ? undefined : "must be a text");
const aList: Check = (value) => (Array.isArray(value) ? undefined : "must be a list");
const anObject: Check = (value) => (isObject(value) ? undefined : "must be an object");
const texts: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? undefined : "must be a list of texts";
const wholeFrom =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `must be a whole number ${most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`}`;

const specFields: Readonly<Record<string, Check>> = {
  restartPolicy: oneOf("Always", "OnFailure", "Never"),
  dnsPolicy: oneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
  terminationGracePeriodSeconds: wholeFrom(0),
  activeDeadlineSeconds: wholeFrom(1),
  priority: wholeFrom(-2_147_483_648, 2_147_483_647),
  hostNetwork: aFlag,
  hostPID: aFlag,
  hostIPC: aFlag,
  hostUsers: aFlag,
  shareProcessNamespace: aFlag,
  automountServiceAccountToken: aFlag,
  enableServiceLinks: aFlag,
  securityContext: anObject,
  nodeSelector: anObject,
  tolerations: aList,
  hostAliases: aList,
  imagePullSecrets: aList,
  serviceAccountName: aText,
  priorityClassName: aText,
  runtimeClassName: aText,
  hostname: aText,
  subdomain: aText,
};

const containerFields: Readonly<Record<string, Check>> = {
  command: texts,
  args: texts,
  env: aList,
  envFrom: aList,
  ports: aList,
  volumeMounts: aList,
  volumeDevices: aList,
  workingDir: aText,
  imagePullPolicy: oneOf("Always", "IfNotPresent", "Never"),
  terminationMessagePath: aText,
  terminationMessagePolicy: oneOf("File", "FallbackToLogsOnError"),
  restartPolicy: oneOf("Always"),
  stdin: aFlag,
  stdinOnce: aFlag,
  tty: aFlag,
  securityContext: anObject,
  lifecycle: anObject,
  resources: anObject,
};

const portFields: Readonly<Record<string, Check>> = {
  containerPort: wholeFrom(1, 65_535),
  hostPort: wholeFrom(0, 65_535),
  protocol: oneOf("TCP", "UDP", "SCTP"),
};

const probeFields: Readonly<Record<string, Check>> = {
  initialDelaySeconds: wholeFrom(0),
  timeoutSeconds: wholeFrom(1),
  periodSeconds: wholeFrom(1),
  successThreshold: wholeFrom(1),
  failureThreshold: wholeFrom(1),
  terminationGracePeriodSeconds: wholeFrom(1),
};

/** Those that are there; what must be there is looked for elsewhere. */
function checkFields(
  object: Record<string, unknown>,
  at: string,
  fields: Readonly<Record<string, Check>>,
  wrong: Wrong,
): void {
  for (const [field, check] of Object.entries(fields)) {
    const value = object[field];
    if (value === undefined || value === null) continue;
    const why = check(value);
    if (why) throw wrong(`${at}.${field}`, why);
  }
}

function checkContainer(raw: unknown, at: string, volumes: ReadonlySet<string>, wrong: Wrong): void {
  if (!isObject(raw)) throw wrong(at, "is not an object");
  const container = raw as unknown as Container;
  if (typeof container.name !== "string" || !labelPattern.test(container.name))
    throw wrong(`${at}.name`, "must be a lower case DNS label");
  if (typeof container.image !== "string" || container.image === "" || container.image.trim() !== container.image)
    throw wrong(`${at}.image`, "must name an image");
  checkFields(raw, at, containerFields, wrong);
  if (raw["restartPolicy"] !== undefined && !at.startsWith("spec.initContainers"))
    throw wrong(`${at}.restartPolicy`, "is for init containers alone");
  container.ports?.forEach((port: unknown, index) => {
    const here = `${at}.ports[${index}]`;
    if (!isObject(port) || port["containerPort"] === undefined) throw wrong(`${here}.containerPort`, "must be given");
    checkFields(port, here, portFields, wrong);
  });
  container.env?.forEach((variable: unknown, index) => {
    const { name, value } = isObject(variable) ? variable : {};
    if (typeof name !== "string" || name === "" || name.includes("="))
      throw wrong(`${at}.env[${index}].name`, 'must be a text without "="');
    if (value !== undefined && value !== null && typeof value !== "string")
      throw wrong(`${at}.env[${index}].value`, `must be a text: write "${String(value)}" in quotes`);
  });
  checkMounts(container, at, volumes, wrong);
  checkResources(container, at, wrong);
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"] as const) {
    if (raw[probe] !== undefined && raw[probe] !== null) checkProbe(raw[probe], `${at}.${probe}`, wrong);
  }
}

function checkMounts(container: Container, at: string, volumes: ReadonlySet<string>, wrong: Wrong): void {
  const paths = new Set<string>();
  container.volumeMounts?.forEach((mount: unknown, index) => {
    const here = `${at}.volumeMounts[${index}]`;
    const { name, mountPath } = isObject(mount) ? mount : {};
    if (typeof name !== "string" || !volumes.has(name))
      throw wrong(`${here}.name`, `${JSON.stringify(name)} is no volume of the pod`);
    if (typeof mountPath !== "string" || mountPath === "") throw wrong(`${here}.mountPath`, "must be a path");
    if (paths.has(mountPath)) throw wrong(`${here}.mountPath`, `"${mountPath}" is mounted twice`);
    paths.add(mountPath);
  });
}

function checkResources(container: Container, at: string, wrong: Wrong): void {
  const { requests = {}, limits = {} } = container.resources ?? {};
  for (const [list, amounts] of Object.entries({ requests, limits })) {
    for (const [name, amount] of Object.entries(amounts ?? {})) {
      try {
        parseQuantity(amount);
      } catch {
        throw wrong(`${at}.resources.${list}.${name}`, `${JSON.stringify(amount)} is no quantity such as 500m or 64Mi`);
      }
    }
  }
  for (const [name, amount] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit !== undefined && compareQuantity(parseQuantity(amount), parseQuantity(limit)) > 0)
      throw wrong(`${at}.resources.requests.${name}`, `is more than its limit of ${limit}`);
  }
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc"];

function checkProbe(raw: unknown, at: string, wrong: Wrong): void {
  if (!isObject(raw)) throw wrong(at, "must be an object");
  if (handlers.filter((handler) => raw[handler] !== undefined).length !== 1)
    throw wrong(at, `must have exactly one of ${handlers.join(", ")}`);
  checkFields(raw, at, probeFields, wrong);
}

/** Their names. */
function checkVolumes(raw: unknown, wrong: Wrong): Set<string> {
  const names = new Set<string>();
  if (raw === undefined || raw === null) return names;
  if (!Array.isArray(raw)) throw wrong("spec.volumes", "must be a list");
  raw.forEach((volume: unknown, index) => {
    const at = `spec.volumes[${index}]`;
    const { name, ...source } = isObject(volume) ? volume : {};
    if (typeof name !== "string" || !labelPattern.test(name))
      throw wrong(`${at}.name`, "must be a lower case DNS label");
    if (names.has(name)) throw wrong(`${at}.name`, `"${name}" is the name of another volume, too`);
    if (Object.values(source).filter((value) => value !== undefined && value !== null).length > 1)
      throw wrong(at, `has more than one source: ${Object.keys(source).join(", ")}`);
    names.add(name);
  });
  return names;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
