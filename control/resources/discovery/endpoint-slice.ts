// EndpointSlice.

import { isIP } from "node:net";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { duplicate, type FieldErrors, invalid, notSupported, required, tooMany } from "../field-error.ts";
import { dnsLabel, dnsSubdomain } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Slice extends KubeObject {
  addressType?: string;
  endpoints?: { addresses?: string[] }[] | null;
  ports?: { name?: string; port?: number; protocol?: string }[] | null;
}

const asSlice = (object: KubeObject) => object as Slice;
const addressTypes = ["FQDN", "IPv4", "IPv6"];
const shown = 3;

export const endpointSlices: ResourceDefinition = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  singular: "endpointslice",
  kind: "EndpointSlice",
  namespaced: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("AddressType", "What kind of addresses it holds."),
    column("Ports", "The ports that they serve."),
    column("Endpoints", "The addresses."),
    ageColumn,
  ],
  cells(object, now) {
    const slice = asSlice(object);
    const addresses = (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses ?? []);
    const ports = slice.ports ?? [];
    return [
      object.metadata.name,
      slice.addressType ?? "",
      limited(
        ports.map((port) => (port.port === undefined || port.port === null ? "*" : String(port.port))),
        "<unset>",
      ),
      limited(addresses, "<unset>"),
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    for (const port of asSlice(object).ports ?? []) {
      port.name ??= "";
      port.protocol ??= "TCP";
    }
  },
  validate(object, previous) {
    const slice = asSlice(object);
    const errors: FieldErrors = [];
    if (!slice.addressType) errors.push(required("addressType"));
    else if (!addressTypes.includes(slice.addressType))
      errors.push(notSupported("addressType", slice.addressType, addressTypes));
    if (previous && asSlice(previous).addressType !== slice.addressType)
      errors.push(invalid("addressType", slice.addressType, "field is immutable"));
    if ((slice.endpoints?.length ?? 0) > 1000) errors.push(tooMany("endpoints", slice.endpoints?.length ?? 0, 1000));
    (slice.endpoints ?? []).forEach((endpoint, index) => {
      if ((endpoint.addresses?.length ?? 0) === 0)
        errors.push(required(`endpoints[${index}].addresses`, "must contain at least 1 address"));
      if ((endpoint.addresses?.length ?? 0) > 100)
        errors.push(tooMany(`endpoints[${index}].addresses`, endpoint.addresses?.length ?? 0, 100));
      (endpoint.addresses ?? []).forEach((address, addressIndex) => {
        const problem = addressProblem(address, slice.addressType);
        if (problem) errors.push(invalid(`endpoints[${index}].addresses[${addressIndex}]`, address, problem));
      });
    });
    const names = new Set<string>();
    (slice.ports ?? []).forEach(({ name = "", protocol }, index) => {
      if (name) for (const problem of dnsLabel(name)) errors.push(invalid(`ports[${index}].name`, name, problem));
      if (names.has(name)) errors.push(duplicate(`ports[${index}].name`, name));
      names.add(name);
      if (protocol && !["TCP", "UDP", "SCTP"].includes(protocol))
        errors.push(notSupported(`ports[${index}].protocol`, protocol, ["TCP", "UDP", "SCTP"]));
    });
    return errors;
  },
};

function addressProblem(address: string, type: string | undefined): string | undefined {
  if (type === "IPv4") return isIP(address) === 4 ? undefined : "must be a valid IPv4 address";
  if (type === "IPv6") return isIP(address) === 6 ? undefined : "must be a valid IPv6 address";
  return type === "FQDN" ? dnsSubdomain(address)[0] : undefined;
}

function limited(all: readonly string[], none: string): string {
  if (all.length === 0) return none;
  const text = all.slice(0, shown).join(",");
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}
