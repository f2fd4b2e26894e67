// Validation of Services. Families and the addresses of each are settled later, in families.ts.

import type { Service } from "../../../plugins/kit/kube/objects/types.ts";
import { validateCidr, validateIp, validateReachableIp } from "../addresses.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain, isPortNumber, portName, qualifiedName } from "../names.ts";
import { validateLabels } from "../object-meta.ts";

type Spec = NonNullable<Service["spec"]>;

const types = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
const protocols = ["TCP", "UDP", "SCTP"];
const portRange = "must be between 1 and 65535, inclusive";
const onlyBalancers = "may only be used when `type` is 'LoadBalancer'";
const kubeletPort = 10250;
const longestAffinitySeconds = 86400;

/** Whether traffic from outside the cluster can come in. */
export function isExternallyAccessible({ type, externalIPs }: Spec): boolean {
  return type === "LoadBalancer" || type === "NodePort" || (type === "ClusterIP" && (externalIPs?.length ?? 0) > 0);
}

export function validateService(service: Service, previous: Service | undefined): FieldErrors {
  const spec = service.spec ?? {};
  const errors: FieldErrors = [];
  if (previous) validateChange(spec, previous.spec ?? {}, errors);
  const isHeadless = spec.clusterIP === "None";
  if ((spec.ports?.length ?? 0) === 0 && !isHeadless && spec.type !== "ExternalName")
    errors.push(required("spec.ports"));
  validateByType(spec, isHeadless, errors);
  validatePorts(spec, errors);
  errors.push(...validateLabels(spec.selector, "spec.selector"));
  validateAffinity(spec, errors);
  if (spec.type !== "ExternalName") validateAddresses(spec, errors);
  (spec.externalIPs ?? []).forEach((address, index) =>
    errors.push(...validateReachableIp(address, `spec.externalIPs[${index}]`)),
  );
  if (!spec.type) errors.push(required("spec.type"));
  else if (!types.includes(spec.type)) errors.push(notSupported("spec.type", spec.type, types));
  validateTaken(spec, errors);
  validateBalancer(spec, errors);
  validateTraffic(spec, errors);
  return errors;
}

function validateByType(spec: Spec, isHeadless: boolean, errors: FieldErrors): void {
  if (spec.type === "LoadBalancer")
    (spec.ports ?? []).forEach(({ port }, index) => {
      if (port === kubeletPort)
        errors.push(
          invalid(
            `spec.ports[${index}]`,
            port,
            `may not expose port ${kubeletPort} externally since it is used by kubelet`,
          ),
        );
    });
  if (isHeadless && (spec.type === "NodePort" || spec.type === "LoadBalancer"))
    errors.push(invalid("spec.clusterIPs[0]", spec.clusterIP, `may not be set to 'None' for ${spec.type} services`));
  if (spec.type !== "ExternalName") return;
  const not = "may not be set for ExternalName services";
  if (spec.clusterIP || (spec.clusterIPs?.length ?? 0) > 0) errors.push(forbidden("spec.clusterIPs", not));
  if ((spec.ipFamilies?.length ?? 0) > 0) errors.push(forbidden("spec.ipFamilies", not));
  if (spec.ipFamilyPolicy) errors.push(forbidden("spec.ipFamilyPolicy", not));
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (!name) errors.push(required("spec.externalName"));
  else for (const problem of dnsSubdomain(name)) errors.push(invalid("spec.externalName", name, problem));
}

function validatePorts(spec: Spec, errors: FieldErrors): void {
  const names = new Set<string>();
  const ports = spec.ports ?? [];
  ports.forEach((port, index) => {
    const at = `spec.ports[${index}]`;
    if (ports.length > 1 && !port.name) errors.push(required(`${at}.name`));
    else if (port.name) {
      for (const problem of dnsLabel(port.name)) errors.push(invalid(`${at}.name`, port.name, problem));
      if (names.has(port.name)) errors.push(duplicate(`${at}.name`, port.name));
      names.add(port.name);
    }
    if (!isPortNumber(port.port)) errors.push(invalid(`${at}.port`, port.port ?? 0, portRange));
    if (!port.protocol) errors.push(required(`${at}.protocol`));
    else if (!protocols.includes(port.protocol)) errors.push(notSupported(`${at}.protocol`, port.protocol, protocols));
    const { targetPort, appProtocol } = port;
    if (typeof targetPort === "string") {
      for (const problem of portName(targetPort)) errors.push(invalid(`${at}.targetPort`, targetPort, problem));
    } else if (targetPort !== undefined && !isPortNumber(targetPort))
      errors.push(invalid(`${at}.targetPort`, targetPort, portRange));
    if (appProtocol !== undefined && appProtocol !== null)
      for (const problem of qualifiedName(appProtocol)) errors.push(invalid(`${at}.appProtocol`, appProtocol, problem));
  });
}

function validateAffinity(spec: Spec, errors: FieldErrors): void {
  const { sessionAffinity, sessionAffinityConfig } = spec;
  if (!sessionAffinity) errors.push(required("spec.sessionAffinity"));
  else if (!["None", "ClientIP"].includes(sessionAffinity))
    errors.push(notSupported("spec.sessionAffinity", sessionAffinity, ["ClientIP", "None"]));
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (sessionAffinity === "ClientIP" && seconds != null && (seconds <= 0 || seconds > longestAffinitySeconds))
    errors.push(
      invalid(
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        seconds,
        `must be greater than 0 and less than ${longestAffinitySeconds}`,
      ),
    );
}

function validateAddresses(spec: Spec, errors: FieldErrors): void {
  const { clusterIP, clusterIPs = [] } = spec;
  const field = "spec.clusterIPs";
  if (clusterIP && clusterIPs.length > 0 && clusterIPs[0] !== clusterIP)
    errors.push(invalid(field, clusterIPs, "first value must match `clusterIP`"));
  clusterIPs.forEach((address, index) => {
    if (index === 0 && address === "None") {
      if (clusterIPs.length > 1) errors.push(invalid(field, clusterIPs, "'None' must be the first and only value"));
    } else errors.push(...validateIp(address, `${field}[${index}]`));
  });
  if (clusterIPs.length > 2) errors.push(invalid(field, clusterIPs, "may only hold up to 2 values"));
}

/** Each port of the service, and each of the nodes, once for each protocol. */
function validateTaken(spec: Spec, errors: FieldErrors): void {
  const nodePorts = new Set<string>();
  const ports = new Set<string>();
  (spec.ports ?? []).forEach(({ nodePort }, index) => {
    if (nodePort && spec.type === "ClusterIP")
      errors.push(forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'"));
  });
  (spec.ports ?? []).forEach(({ nodePort, protocol }, index) => {
    const id = `${protocol}/${nodePort}`;
    if (nodePort && nodePorts.has(id)) errors.push(duplicate(`spec.ports[${index}].nodePort`, nodePort));
    nodePorts.add(id);
  });
  (spec.ports ?? []).forEach(({ port, protocol }, index) => {
    const id = `${protocol}/${port}`;
    if (ports.has(id)) errors.push(duplicate(`spec.ports[${index}]`, { port, protocol }));
    ports.add(id);
  });
}

function validateBalancer(spec: Spec, errors: FieldErrors): void {
  const { type, loadBalancerSourceRanges = [], loadBalancerClass } = spec;
  const isBalancer = type === "LoadBalancer";
  // The capital is upstream's.
  const field = "spec.LoadBalancerSourceRanges";
  if (loadBalancerSourceRanges.length > 0 && !isBalancer) errors.push(forbidden(field, onlyBalancers));
  loadBalancerSourceRanges.forEach((range, index) => errors.push(...validateCidr(range.trim(), `${field}[${index}]`)));
  if (spec.allocateLoadBalancerNodePorts != null && !isBalancer)
    errors.push(forbidden("spec.allocateLoadBalancerNodePorts", onlyBalancers));
  if (loadBalancerClass == null) return;
  if (!isBalancer) errors.push(forbidden("spec.loadBalancerClass", onlyBalancers));
  else
    for (const problem of qualifiedName(loadBalancerClass))
      errors.push(invalid("spec.loadBalancerClass", loadBalancerClass, problem));
}

function validateTraffic(spec: Spec, errors: FieldErrors): void {
  const { externalTrafficPolicy, internalTrafficPolicy, healthCheckNodePort, trafficDistribution } = spec;
  const policies = ["Cluster", "Local"];
  if (!isExternallyAccessible(spec)) {
    if (externalTrafficPolicy)
      errors.push(
        invalid(
          "spec.externalTrafficPolicy",
          externalTrafficPolicy,
          "may only be set for externally-accessible services",
        ),
      );
  } else if (!policies.includes(externalTrafficPolicy ?? ""))
    errors.push(notSupported("spec.externalTrafficPolicy", externalTrafficPolicy ?? "", policies));
  if (healthCheckNodePort && !(spec.type === "LoadBalancer" && externalTrafficPolicy === "Local"))
    errors.push(
      invalid(
        "spec.healthCheckNodePort",
        healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    );
  if (internalTrafficPolicy !== undefined && !policies.includes(internalTrafficPolicy))
    errors.push(notSupported("spec.internalTrafficPolicy", internalTrafficPolicy, policies));
  if (trafficDistribution != null && trafficDistribution !== "PreferClose")
    errors.push(notSupported("spec.trafficDistribution", trafficDistribution, ["PreferClose"]));
}

function validateChange(spec: Spec, before: Spec, errors: FieldErrors): void {
  const isLocal = ({ type, externalTrafficPolicy }: Spec) =>
    type === "LoadBalancer" && externalTrafficPolicy === "Local";
  if (spec.type !== "ExternalName" && before.type !== "ExternalName") {
    if (before.clusterIP && spec.clusterIP !== before.clusterIP)
      errors.push(
        invalid("spec.clusterIPs[0]", spec.clusterIPs?.[0] ?? spec.clusterIP ?? "", "may not change once set"),
      );
    const [family] = spec.ipFamilies ?? [];
    const [familyBefore] = before.ipFamilies ?? [];
    if (family && familyBefore && family !== familyBefore)
      errors.push(invalid("spec.ipFamilies[0]", family, "may not change once set"));
  }
  if (spec.type === "LoadBalancer" && before.type === "LoadBalancer")
    if ((spec.loadBalancerClass ?? null) !== (before.loadBalancerClass ?? null))
      errors.push(invalid("spec.loadBalancerClass", spec.loadBalancerClass ?? null, "may not change once set"));
  if (isLocal(spec) && isLocal(before) && spec.healthCheckNodePort !== before.healthCheckNodePort)
    errors.push(forbidden("spec.healthCheckNodePort", "field is immutable"));
}
