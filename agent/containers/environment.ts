// The environment of a container: envFrom, then env with expansion and references, then service variables that nothing overrode.

import type { AgentPod } from "../model/agent-pod.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { ConfigMap, Container, Secret, Service } from "../../plugins/kit/kube/objects/types.ts";
import { type DownwardFacts, fieldValue, resourceValue } from "../../plugins/kit/kube/objects/downward.ts";
import { expand } from "../../plugins/kit/kube/objects/expansion.ts";
import { serviceEnv } from "./service-env.ts";

/** Objects a pod refers to; each answers Fault `not-found` where there is none. */
export interface ReferencedObjects {
  configMap(namespace: string, name: string, call: Call): Promise<ConfigMap>;
  secret(namespace: string, name: string, call: Call): Promise<Secret>;
  /** Every service the node knows of, from memory. */
  services(): readonly Service[];
}

type EnvVar = NonNullable<Container["env"]>[number];
type EnvSource = NonNullable<Container["envFrom"]>[number];

export async function environmentOf(
  container: Container,
  facts: DownwardFacts<AgentPod>,
  objects: ReferencedObjects,
  call: Call,
): Promise<Map<string, string>> {
  const { namespace } = facts.pod.metadata;
  const services = serviceEnv(objects.services(), namespace, facts.pod.spec.enableServiceLinks ?? true);
  const env = new Map<string, string>();
  for (const source of container.envFrom ?? []) await addSource(env, source, namespace, objects, call);
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, container, facts, objects, env, services, call);
    // Set anew so that a later duplicate takes the later place, as in a list.
    env.delete(variable.name);
    if (value !== undefined) env.set(variable.name, value);
  }
  for (const [name, value] of services) if (!env.has(name)) env.set(name, value);
  return env;
}

async function addSource(
  env: Map<string, string>,
  source: EnvSource,
  namespace: string,
  objects: ReferencedObjects,
  call: Call,
): Promise<void> {
  const prefix = source.prefix ?? "";
  const { configMapRef, secretRef } = source;
  if (configMapRef) {
    const read = () => objects.configMap(namespace, configMapRef.name ?? "", call);
    const map = await orMissing(read, configMapRef.optional, `configmap "${configMapRef.name}" not found`);
    for (const [key, value] of sorted(map?.data)) set(env, prefix + key, value);
  }
  if (secretRef) {
    const read = () => objects.secret(namespace, secretRef.name ?? "", call);
    const secret = await orMissing(read, secretRef.optional, `secret "${secretRef.name}" not found`);
    for (const [key, value] of sorted(secret?.data)) set(env, prefix + key, decode(value));
  }
}

/** Names that no shell could use are left out, as upstream does. */
function set(env: Map<string, string>, name: string, value: string): void {
  if (name !== "" && !name.includes("=") && !name.includes("\0")) env.set(name, value);
}

async function valueOf(
  variable: EnvVar,
  container: Container,
  facts: DownwardFacts<AgentPod>,
  objects: ReferencedObjects,
  env: ReadonlyMap<string, string>,
  services: ReadonlyMap<string, string>,
  call: Call,
): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (!from) return expand(variable.value ?? "", (name) => env.get(name) ?? services.get(name));
  const { namespace } = facts.pod.metadata;
  if (from.fieldRef) return fieldValue(facts, from.fieldRef.fieldPath);
  if (from.resourceFieldRef) {
    const { containerName, resource, divisor } = from.resourceFieldRef;
    const all = [...facts.pod.spec.containers, ...(facts.pod.spec.initContainers ?? [])];
    const target = containerName ? all.find((other) => other.name === containerName) : container;
    if (!target) throw new Fault("invalid", `container ${containerName} not found`);
    return resourceValue(facts, target, resource, divisor);
  }
  if (from.configMapKeyRef) {
    const { name = "", key, optional } = from.configMapKeyRef;
    const read = () => objects.configMap(namespace, name, call);
    const map = await orMissing(read, optional, `configmap "${name}" not found`);
    const value = map?.data?.[key];
    if (value !== undefined || optional) return value;
    throw new Fault("invalid", `couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
  }
  if (from.secretKeyRef) {
    const { name = "", key, optional } = from.secretKeyRef;
    const secret = await orMissing(() => objects.secret(namespace, name, call), optional, `secret "${name}" not found`);
    const value = secret?.data?.[key];
    if (value !== undefined || optional) return value === undefined ? undefined : decode(value);
    throw new Fault("invalid", `couldn't find key ${key} in Secret ${namespace}/${name}`);
  }
  return "";
}

async function orMissing<T>(
  read: () => Promise<T>,
  optional: boolean | undefined,
  message: string,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isFault(error, "not-found")) throw error;
    if (optional) return undefined;
    throw new Fault("not-found", message, { cause: error });
  }
}

function sorted(map: Record<string, string> | undefined): [string, string][] {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
