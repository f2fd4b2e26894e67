// Keeps an APIService for every group and version that this server itself answers, as upstream does: made when missing,
// gone when it is no longer served. One that a user led to a service of their own is left alone.

import { randomUUID } from "node:crypto";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { type Settler, settler } from "../../machinery/settler.ts";
import { type ApiService, apiServiceRef, localCondition } from "../../resources/registration/types.ts";
import { timestamp } from "../lifecycle.ts";
import type { Services } from "../scope.ts";

const label = "kube-aggregator.kubernetes.io/automanaged";
const versionPriority = 15;
const customPriority = { group: 1000, version: 100 };

/** Which group goes first where several have a resource of one name. */
const groupPriorities: Readonly<Record<string, number>> = {
  "": 18_000,
  apps: 17_800,
  "events.k8s.io": 17_750,
  "authentication.k8s.io": 17_700,
  "authorization.k8s.io": 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  "certificates.k8s.io": 17_300,
  "networking.k8s.io": 17_200,
  policy: 17_100,
  "rbac.authorization.k8s.io": 17_000,
  "storage.k8s.io": 16_800,
  "apiextensions.k8s.io": 16_700,
  "admissionregistration.k8s.io": 16_700,
  "scheduling.k8s.io": 16_600,
  "coordination.k8s.io": 16_500,
  "node.k8s.io": 16_300,
  "discovery.k8s.io": 16_200,
  "flowcontrol.apiserver.k8s.io": 16_100,
  "metrics.k8s.io": 100,
};
const versionPriorities: Readonly<Record<string, number>> = { "v1.": 1, "v2.autoscaling": 30 };

export function groupPriorityOf(group: string): number {
  return groupPriorities[group] ?? customPriority.group;
}

/** Does so now and after every change of what is served. */
export function keepRegistered(services: Services, call: Call): Settler {
  const onError = (error: unknown) => services.log.error({ err: error }, "cannot write the APIServices of this server");
  const work = settler(() => register(services, call), onError, call);
  services.registry.onVersions = () => work.again();
  work.again();
  return work;
}

/** Brings the objects in line with what is served now. */
async function register({ registry, cache, storage, clock }: Services, call: Call): Promise<void> {
  const served = new Map<string, { group: string; version: string }>();
  for (const group of registry.groups())
    for (const version of registry.versions(group))
      if (group !== apiServiceRef.group) served.set(`${version}.${group}`, { group, version });
  const known = new Set<string>();
  const stale: string[] = [];
  for (const entry of cache.cache(apiServiceRef).sorted()) {
    known.add(entry.name);
    const { metadata, spec } = entry.object as ApiService;
    if (!served.has(entry.name) && metadata.labels?.[label] && !spec.service) stale.push(entry.name);
  }
  const now = timestamp(clock.now());
  const missing = [...served].filter(([name]) => !known.has(name));
  await Promise.all([
    ...missing.map(([name, { group, version }]) =>
      storage.create(apiServiceRef, "", name, localService(name, group, version, now), call),
    ),
    ...stale.map((name) => storage.update(apiServiceRef, "", name, () => ({ do: "delete" }), call)),
  ]);
}

function localService(name: string, group: string, version: string, now: string): ApiService {
  const isCustom = groupPriorities[group] === undefined;
  return {
    kind: "APIService",
    apiVersion: "apiregistration.k8s.io/v1",
    metadata: {
      name,
      uid: randomUUID(),
      creationTimestamp: now,
      labels: { [label]: isCustom ? "true" : "onstart" },
    },
    spec: {
      ...(group === "" ? {} : { group }),
      version,
      groupPriorityMinimum: groupPriorityOf(group),
      versionPriority: isCustom ? customPriority.version : (versionPriorities[name] ?? versionPriority),
    },
    status: { conditions: [{ ...localCondition, lastTransitionTime: now }] },
  };
}
