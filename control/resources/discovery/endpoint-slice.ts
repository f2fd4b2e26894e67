// EndpointSlice.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { type Slice, validateSlice } from "./validate-endpoint-slice.ts";

const asSlice = (object: KubeObject) => object as Slice;
const shown = 3;

export const endpointSlices: ResourceDefinition = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  singular: "endpointslice",
  kind: "EndpointSlice",
  namespaced: true,
  hasGeneration: true,
  labelsCount: true,
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
  validate: (object, previous) => validateSlice(asSlice(object), previous ? asSlice(previous) : undefined),
};

function limited(all: readonly string[], none: string): string {
  if (all.length === 0) return none;
  const text = all.slice(0, shown).join(",");
  return all.length > shown ? `${text} + ${all.length - shown} more...` : text;
}
