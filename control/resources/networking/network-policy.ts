// NetworkPolicy.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, invalid, notSupported, required } from "../field-error.ts";
import { type LabelSelector, selectorText, validateLabelSelector } from "../label-selector.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr?: string; except?: string[] };
}

interface Rule {
  ports?: { protocol?: string; port?: number | string; endPort?: number }[];
  from?: Peer[];
  to?: Peer[];
}

interface PolicySpec {
  podSelector?: LabelSelector;
  policyTypes?: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

const specOf = (object: KubeObject) => (object.spec ?? {}) as PolicySpec;

export const networkPolicies: ResourceDefinition = {
  group: "networking.k8s.io",
  version: "v1",
  plural: "networkpolicies",
  singular: "networkpolicy",
  kind: "NetworkPolicy",
  namespaced: true,
  shortNames: ["netpol"],
  hasGeneration: true,
  columns: [nameColumn, column("Pod-Selector", "Which pods it is for."), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    selectorText(specOf(object).podSelector),
    age(object.metadata.creationTimestamp, now),
  ],
  defaults(object) {
    object.spec ??= {};
    const spec = specOf(object);
    spec.podSelector ??= {};
    if ((spec.policyTypes?.length ?? 0) === 0)
      spec.policyTypes = (spec.egress?.length ?? 0) > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      for (const port of rule.ports ?? []) port.protocol ??= "TCP";
  },
  validate(object) {
    const spec = specOf(object);
    const errors: FieldErrors = validateLabelSelector(spec.podSelector, "spec.podSelector");
    for (const [name, key] of [
      ["ingress", "from"],
      ["egress", "to"],
    ] as const)
      (spec[name] ?? []).forEach((rule, index) => {
        (rule[key] ?? []).forEach((peer, peerIndex) =>
          validatePeer(peer, `spec.${name}[${index}].${key}[${peerIndex}]`, errors),
        );
        (rule.ports ?? []).forEach((port, portIndex) => {
          const at = `spec.${name}[${index}].ports[${portIndex}]`;
          if (port.protocol && !["TCP", "UDP", "SCTP"].includes(port.protocol))
            errors.push(notSupported(`${at}.protocol`, port.protocol, ["TCP", "UDP", "SCTP"]));
          if (port.endPort !== undefined && typeof port.port === "number" && port.endPort < port.port)
            errors.push(invalid(`${at}.endPort`, port.endPort, "must be greater than or equal to `port`"));
        });
      });
    return errors;
  },
};

function validatePeer(peer: Peer, at: string, errors: FieldErrors): void {
  const count = [peer.podSelector, peer.namespaceSelector, peer.ipBlock].filter(Boolean).length;
  if (count === 0) errors.push(required(at, "must specify a peer"));
  if (peer.ipBlock && count > 1)
    errors.push({
      type: "FieldValueForbidden",
      field: at,
      message: "Forbidden: may not specify both ipBlock and another peer",
    });
  errors.push(...validateLabelSelector(peer.podSelector, `${at}.podSelector`));
  errors.push(...validateLabelSelector(peer.namespaceSelector, `${at}.namespaceSelector`));
  if (peer.ipBlock && !/^[0-9a-fA-F.:]+\/\d{1,3}$/.test(peer.ipBlock.cidr ?? ""))
    errors.push(
      invalid(
        `${at}.ipBlock.cidr`,
        peer.ipBlock.cidr ?? "",
        "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
      ),
    );
}
