// Service: a stable address in front of pods.

import { warnOfService } from "./warnings.ts";
import type { KubeObject, Service } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { dns1035Label } from "../names.ts";
import { setDefault } from "../pod-spec/defaults.ts";
import { age, ageColumn, column, labelsText, nameColumn, wideColumn } from "../print.ts";
import type { ServiceAllocator } from "./allocator.ts";
import { keepFamilies } from "./families.ts";
import { reserveFor } from "./reserve.ts";
import { isExternallyAccessible, validateService } from "./validate.ts";
import { defaultServiceStatus, validateServiceStatus } from "./validate-status.ts";

type Spec = NonNullable<Service["spec"]>;

const asService = (object: KubeObject): Service => object as unknown as Service;

export function servicesWith(allocator: ServiceAllocator): ResourceDefinition {
  return {
    group: "",
    version: "v1",
    plural: "services",
    singular: "service",
    kind: "Service",
    namespaced: true,
    shortNames: ["svc"],
    categories: ["all"],
    hasStatus: true,
    createsOnUpdate: true,
    answersDeleted: true,
    validateName: dns1035Label,
    selectable: {
      "spec.clusterIP": (object) => asService(object).spec?.clusterIP ?? "",
      "spec.type": (object) => asService(object).spec?.type ?? "",
    },
    columns: [
      nameColumn,
      column("Type", "How the service is reached."),
      column("Cluster-IP", "Its address inside the cluster."),
      column("External-IP", "Its addresses outside the cluster."),
      column("Port(s)", "Its ports, with their node ports."),
      ageColumn,
      wideColumn("Selector", "Which pods stand behind it."),
    ],
    cells(object, now) {
      const { spec, metadata } = asService(object);
      return [
        metadata.name,
        spec?.type ?? "",
        spec?.clusterIPs?.[0] ?? spec?.clusterIP ?? "<none>",
        externalText(asService(object)),
        portsText(asService(object)),
        age(metadata.creationTimestamp, now),
        labelsText(spec?.selector),
      ];
    },
    defaults(object) {
      object.spec ??= {};
      defaultSpec(asService(object).spec as NonNullable<Service["spec"]>);
      object.status ??= { loadBalancer: {} };
      defaultServiceStatus(asService(object));
    },
    prepareCreate(object) {
      object.status = { loadBalancer: {} };
      alignAddresses(asService(object).spec);
    },
    prepareUpdate(object, previous) {
      alignAddresses(asService(object).spec);
      keepAllocated(asService(object), asService(previous));
    },
    warnings: (object) => warnOfService(asService(object)),
    validate: (object, previous) => validateService(asService(object), previous && asService(previous)),
    validateStatus: (object) => validateServiceStatus(asService(object)),
    reserve: (object) => reserveFor(allocator, object),
  };
}

function defaultSpec(spec: NonNullable<Service["spec"]>): void {
  if (!spec.type) spec.type = "ClusterIP";
  if (!spec.sessionAffinity) spec.sessionAffinity = "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === "ClientIP" && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds == null)
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: 10800 } };
  for (const port of spec.ports ?? []) {
    if (!port.protocol) port.protocol = "TCP";
    if (port.targetPort === undefined || port.targetPort === null || port.targetPort === 0 || port.targetPort === "")
      port.targetPort = port.port;
  }
  if (isExternallyAccessible(spec) && !spec.externalTrafficPolicy) spec.externalTrafficPolicy = "Cluster";
  if (spec.type === "LoadBalancer") setDefault(spec, "allocateLoadBalancerNodePorts", true);
  if (spec.type === "ExternalName") return;
  if (spec.internalTrafficPolicy === undefined) spec.internalTrafficPolicy = "Cluster";
}

/** The old field and the new one say the same. */
function alignAddresses(spec: Spec | undefined): void {
  if (!spec || spec.type === "ExternalName") return;
  if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
  if (!spec.clusterIP && spec.clusterIPs?.[0]) spec.clusterIP = spec.clusterIPs[0];
}

/** What the server gave and the client did not repeat stays. */
function keepAllocated(service: Service, previous: Service): void {
  const { spec } = service;
  const before = previous.spec;
  if (!spec || !before) return;
  if (spec.type !== "ExternalName" && before.type !== "ExternalName" && !spec.clusterIP && before.clusterIP) {
    spec.clusterIP = before.clusterIP;
    if (before.clusterIPs) spec.clusterIPs = before.clusterIPs;
  }
  if (spec.type !== "ExternalName" && before.type !== "ExternalName") keepFamilies(spec, before);
  if (spec.type === "ExternalName") {
    for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] as const)
      delete spec[field];
  }
  const isPublic = spec.type === "NodePort" || spec.type === "LoadBalancer";
  const wasPublic = before.type === "NodePort" || before.type === "LoadBalancer";
  if (isPublic && wasPublic)
    for (const port of spec.ports ?? []) {
      const same = before.ports?.find(
        (one) => one.port === port.port && (one.protocol ?? "TCP") === (port.protocol ?? "TCP"),
      );
      if (!port.nodePort && same?.nodePort) port.nodePort = same.nodePort;
    }
  if (!isPublic && wasPublic) {
    for (const port of spec.ports ?? [])
      if (before.ports?.some((one) => one.nodePort === port.nodePort)) delete port.nodePort;
  }
  dropWithType(spec, before);
}

/** What only makes sense for the type that it was goes with it, unless the client sets it anew. */
function dropWithType(spec: Spec, before: Spec): void {
  const drop = (field: keyof Spec, isNeeded: (spec: Spec) => boolean) => {
    if (isNeeded(before) && !isNeeded(spec) && deepEqual(spec[field], before[field])) delete spec[field];
  };
  const isBalancer = ({ type }: Spec) => type === "LoadBalancer";
  drop("externalTrafficPolicy", isExternallyAccessible);
  drop("allocateLoadBalancerNodePorts", isBalancer);
  drop("loadBalancerClass", isBalancer);
  drop("healthCheckNodePort", (one) => isBalancer(one) && one.externalTrafficPolicy === "Local");
  if (isBalancer(spec) && isBalancer(before) && spec.externalTrafficPolicy === "Local")
    if (!spec.healthCheckNodePort && before.healthCheckNodePort) spec.healthCheckNodePort = before.healthCheckNodePort;
}

function externalText({ spec, status }: Service): string {
  const external = spec?.externalIPs ?? [];
  if (spec?.type === "ExternalName") return spec.externalName || "<none>";
  if (spec?.type !== "LoadBalancer") return external.length > 0 ? external.join(",") : "<none>";
  const ingress = (status?.loadBalancer?.ingress ?? [])
    .map((one) => one.ip || one.hostname || "")
    .filter((one) => one !== "");
  const all = [...ingress, ...external];
  return all.length > 0 ? all.join(",") : "<pending>";
}

function portsText({ spec }: Service): string {
  const ports = spec?.ports ?? [];
  if (ports.length === 0) return "<none>";
  return ports
    .map((port) => `${port.port}${port.nodePort ? `:${port.nodePort}` : ""}/${port.protocol ?? "TCP"}`)
    .join(",");
}
