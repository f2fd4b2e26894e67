// Gives a Service its cluster addresses and node ports before it is written, and takes them back when the write did not happen.
// What is reserved, this server gives to no other; that no other server does is seen to by the write itself (holdings.ts).

import type { KubeObject, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { invalidObject } from "../../machinery/status.ts";
import type { Reservation } from "../definition.ts";
import { invalid } from "../../machinery/field-error.ts";
import type { AddressRange } from "./address-range.ts";
import type { ServiceAllocator } from "./allocator.ts";
import { settleFamilies } from "./families.ts";

const serviceKind = { group: "", kind: "Service" };

export function reserveFor(allocator: ServiceAllocator, object: KubeObject): Reservation {
  const service = object as unknown as Service;
  const { spec, metadata } = service;
  const owner = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
  const undo: Array<() => void> = [];
  const restore: Array<() => void> = [];
  const release = () => {
    for (const step of undo.splice(0)) step();
  };
  try {
    if (spec) {
      takeAddresses(allocator, spec, owner, undo);
      takePorts(allocator, spec, owner, undo);
    }
  } catch (error) {
    release();
    throw error;
  }
  return {
    release,
    undo() {
      release();
      for (const step of restore.splice(0)) step();
    },
  };

  function takeAddresses(
    from: ServiceAllocator,
    target: NonNullable<Service["spec"]>,
    who: string,
    steps: Array<() => void>,
  ): void {
    if (target.type === "ExternalName") return;
    const errors = settleFamilies(
      target,
      from.ranges.map(({ family }) => family),
    );
    if (errors.length > 0) throw invalidObject(serviceKind, metadata.name ?? "", errors);
    if (target.clusterIP === "None") return;
    const { clusterIP, clusterIPs } = target;
    const asked = clusterIPs?.length ? clusterIPs : [clusterIP ?? ""];
    restore.push(() => Object.assign(target, { clusterIP, clusterIPs }));
    target.clusterIPs = (target.ipFamilies ?? []).map((family, index) => {
      const range = from.ranges.find((one) => one.family === family) as AddressRange;
      const address = addressOrThrow(from, who, asked[index] ?? "", range);
      steps.push(() => from.releaseAddress(who, address));
      return address;
    });
    target.clusterIP = target.clusterIPs[0] ?? "";
  }

  function addressOrThrow(from: ServiceAllocator, who: string, wanted: string, range: AddressRange): string {
    const isOutside = wanted !== "" && range.indexOf(wanted) === undefined;
    const address = isOutside ? undefined : from.takeAddress(who, wanted, range);
    if (address !== undefined) return address;
    const why = isOutside
      ? `failed to allocate IP ${wanted}: the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${range.cidr}`
      : wanted === ""
        ? "failed to allocate a serviceIP: range is full"
        : `failed to allocate IP ${wanted}: provided IP is already allocated`;
    throw invalidObject(serviceKind, metadata.name ?? "", [invalid("spec.clusterIPs", [wanted], why)]);
  }

  function takePorts(
    from: ServiceAllocator,
    target: NonNullable<Service["spec"]>,
    who: string,
    steps: Array<() => void>,
  ): void {
    const isPublic =
      target.type === "NodePort" || (target.type === "LoadBalancer" && target.allocateLoadBalancerNodePorts !== false);
    const byPort = new Map<number, number>();
    (target.ports ?? []).forEach((port, index) => {
      const wanted = port.nodePort || (isPublic ? (byPort.get(port.port) ?? 0) : -1);
      if (wanted === -1) return;
      const shared = [...byPort.values()].includes(wanted);
      const taken = shared ? wanted : portOrThrow(from, who, wanted, `spec.ports[${index}].nodePort`, steps);
      const { nodePort } = port;
      restore.push(() => Object.assign(port, { nodePort }));
      port.nodePort = taken;
      byPort.set(port.port, taken);
    });
    if (target.type !== "LoadBalancer" || target.externalTrafficPolicy !== "Local") return;
    const { healthCheckNodePort } = target;
    restore.push(() => Object.assign(target, { healthCheckNodePort }));
    target.healthCheckNodePort = portOrThrow(from, who, healthCheckNodePort ?? 0, "spec.healthCheckNodePort", steps);
  }

  function portOrThrow(
    from: ServiceAllocator,
    who: string,
    wanted: number,
    field: string,
    steps: Array<() => void>,
  ): number {
    if (wanted !== 0 && !from.isNodePort(wanted))
      throw invalidObject(serviceKind, metadata.name ?? "", [
        invalid(
          field,
          wanted,
          `provided port is not in the valid range. The range of valid ports is ${from.portRangeText}`,
        ),
      ]);
    const port = from.takePort(who, wanted);
    if (port === undefined)
      throw invalidObject(serviceKind, metadata.name ?? "", [
        invalid(field, wanted, "provided port is already allocated"),
      ]);
    steps.push(() => from.releasePort(who, port));
    return port;
  }
}
