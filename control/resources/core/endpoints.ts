// Endpoints: the older form of EndpointSlices.

import { isIP } from "node:net";
import type { Endpoints, KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { validateReachableIp } from "../addresses.ts";
import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain, isPortNumber, qualifiedName } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const subsetsOf = (object: KubeObject) => (object as unknown as Endpoints).subsets ?? [];
const shown = 3;

export const endpoints: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "endpoints",
  singular: "endpoints",
  kind: "Endpoints",
  listKind: "EndpointsList",
  namespaced: true,
  shortNames: ["ep"],
  createsOnUpdate: true,
  columns: [nameColumn, column("Endpoints", "The addresses and ports behind it."), ageColumn],
  cells: (object, now) => [object.metadata.name, endpointsText(object), age(object.metadata.creationTimestamp, now)],
  defaults(object) {
    for (const subset of subsetsOf(object))
      for (const port of subset.ports ?? []) if (!port.protocol) port.protocol = "TCP";
  },
  validate(object) {
    const errors: FieldErrors = [];
    subsetsOf(object).forEach((subset, index) => {
      const at = `subsets[${index}]`;
      if ((subset.addresses?.length ?? 0) === 0 && (subset.notReadyAddresses?.length ?? 0) === 0)
        errors.push(required(at, "must specify `addresses` or `notReadyAddresses`"));
      for (const list of ["addresses", "notReadyAddresses"] as const)
        (subset[list] ?? []).forEach((address, addressIndex) => {
          const field = `${at}.${list}[${addressIndex}]`;
          if (address.hostname)
            for (const problem of dnsLabel(address.hostname))
              errors.push(invalid(`${field}.hostname`, address.hostname, problem));
          if (address.nodeName != null)
            for (const problem of dnsSubdomain(address.nodeName))
              errors.push(invalid(`${field}.nodeName`, address.nodeName, problem));
          errors.push(...validateReachableIp(address.ip, `${field}.ip`));
        });
      const ports = subset.ports ?? [];
      ports.forEach((port, portIndex) => {
        const field = `${at}.ports[${portIndex}]`;
        if (ports.length > 1 && !port.name) errors.push(required(`${field}.name`));
        else if (port.name)
          for (const problem of dnsLabel(port.name)) errors.push(invalid(`${field}.name`, port.name, problem));
        if (port.protocol && !["TCP", "UDP", "SCTP"].includes(port.protocol))
          errors.push(notSupported(`${field}.protocol`, port.protocol, ["TCP", "UDP", "SCTP"]));
        if (!isPortNumber(port.port))
          errors.push(invalid(`${field}.port`, port.port, "must be between 1 and 65535, inclusive"));
        if (port.appProtocol != null)
          for (const problem of qualifiedName(port.appProtocol))
            errors.push(invalid(`${field}.appProtocol`, port.appProtocol, problem));
      });
    });
    return errors;
  },
};

function endpointsText(object: KubeObject): string {
  const all = subsetsOf(object).flatMap((subset) =>
    (subset.ports?.length ?? 0) === 0
      ? (subset.addresses ?? []).map(({ ip }) => ip)
      : (subset.ports ?? []).flatMap((port) =>
          (subset.addresses ?? []).map(({ ip }) => (isIP(ip) === 6 ? `[${ip}]:${port.port}` : `${ip}:${port.port}`)),
        ),
  );
  if (all.length === 0) return "<none>";
  const text = all.slice(0, shown).join(",");
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}
