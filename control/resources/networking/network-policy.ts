// NetworkPolicy.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { isCidr, isStrictlyInside, validateCidr } from "../addresses.ts";
import { type FieldErrors, forbidden, invalid, notListed, required } from "../../machinery/field-error.ts";
import { type LabelSelector, selectorText, validateLabelSelector } from "../label-selector.ts";
import { isPortNumber, portName } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Peer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr?: string; except?: string[] };
}

interface Port {
  protocol?: string;
  port?: number | string;
  endPort?: number;
}

interface Rule {
  ports?: Port[];
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
        (rule.ports ?? []).forEach((port, portIndex) =>
          validatePort(port, `spec.${name}[${index}].ports[${portIndex}]`, errors),
        );
        (rule[key] ?? []).forEach((peer, peerIndex) =>
          validatePeer(peer, `spec.${name}[${index}].${key}[${peerIndex}]`, errors),
        );
      });
    const types = spec.policyTypes ?? [];
    if (types.length > 2) errors.push(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"));
    else
      types.forEach((type, index) => {
        if (type !== "Ingress" && type !== "Egress")
          errors.push(notListed(`spec.policyTypes[${index}]`, type, ["Ingress", "Egress"]));
      });
    return errors;
  },
};

const portRange = "must be between 1 and 65535, inclusive";

function validatePort({ protocol, port, endPort }: Port, at: string, errors: FieldErrors): void {
  if (protocol !== undefined && !["TCP", "UDP", "SCTP"].includes(protocol))
    errors.push(notListed(`${at}.protocol`, protocol, ["TCP", "UDP", "SCTP"]));
  const hasEnd = endPort !== undefined && endPort !== null;
  const end = (value: number, detail: string) => errors.push(invalid(`${at}.endPort`, value, detail));
  if (typeof port === "number") {
    if (!isPortNumber(port)) errors.push(invalid(`${at}.port`, port, portRange));
    if (hasEnd && endPort < port) end(port, "must be greater than or equal to `port`");
    if (hasEnd && !isPortNumber(endPort)) end(endPort, portRange);
  } else if (typeof port === "string") {
    if (hasEnd) end(endPort, "may not be specified when `port` is non-numeric");
    for (const problem of portName(port)) errors.push(invalid(`${at}.port`, port, problem));
  } else if (hasEnd) end(endPort, "may not be specified when `port` is not specified");
}

function validatePeer(peer: Peer, at: string, errors: FieldErrors): void {
  const count = [peer.podSelector, peer.namespaceSelector, peer.ipBlock].filter(Boolean).length;
  errors.push(...validateLabelSelector(peer.podSelector, `${at}.podSelector`));
  errors.push(...validateLabelSelector(peer.namespaceSelector, `${at}.namespaceSelector`));
  if (peer.ipBlock) validateBlock(peer.ipBlock, `${at}.ipBlock`, errors);
  if (count === 0) errors.push(required(at, "must specify a peer"));
  else if (peer.ipBlock && count > 1) errors.push(forbidden(at, "may not specify both ipBlock and another peer"));
}

function validateBlock({ cidr, except }: NonNullable<Peer["ipBlock"]>, at: string, errors: FieldErrors): void {
  if (!cidr) {
    errors.push(required(`${at}.cidr`));
    return;
  }
  errors.push(...validateCidr(cidr, `${at}.cidr`));
  if (!isCidr(cidr)) return;
  (except ?? []).forEach((inner, index) => {
    const field = `${at}.except[${index}]`;
    if (!isCidr(inner)) errors.push(...validateCidr(inner, field));
    else if (!isStrictlyInside(inner, cidr)) errors.push(invalid(field, inner, "must be a strict subset of `cidr`"));
  });
}
