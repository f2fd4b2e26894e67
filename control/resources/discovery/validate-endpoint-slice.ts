// Validation of endpoint slices: addresses of one kind that lead somewhere, and the ports that all of them serve.

import { isIP } from "node:net";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { isMappedIp, validateReachable } from "../addresses.ts";
import { duplicate, type FieldErrors, invalid, notSupported, required, tooMany } from "../../machinery/field-error.ts";
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from "../names.ts";

interface Endpoint {
  addresses?: string[] | null;
  hostname?: string | null;
  nodeName?: string | null;
  hints?: { forZones?: { name?: string }[] | null } | null;
}

interface Port {
  name?: string;
  port?: number;
  protocol?: string;
  appProtocol?: string | null;
}

export interface Slice extends KubeObject {
  addressType?: string;
  endpoints?: Endpoint[] | null;
  ports?: Port[] | null;
}

const addressTypes = ["FQDN", "IPv4", "IPv6"];
const protocols = ["TCP", "UDP", "SCTP"];
const most = { endpoints: 1000, addresses: 100, ports: 20_000, zones: 8 };

export function validateSlice(slice: Slice, previous: Slice | undefined): FieldErrors {
  const errors: FieldErrors = [];
  const { addressType: type = "", endpoints, ports } = slice;
  if (!type) errors.push(required("addressType"));
  else if (!addressTypes.includes(type)) errors.push(notSupported("addressType", type, addressTypes));
  if (previous && previous.addressType !== type) errors.push(invalid("addressType", type, "field is immutable"));
  if ((endpoints?.length ?? 0) > most.endpoints)
    errors.push(tooMany("endpoints", endpoints?.length ?? 0, most.endpoints));
  else endpoints?.forEach((endpoint, index) => validateEndpoint(endpoint, type, `endpoints[${index}]`, errors));
  if ((ports?.length ?? 0) > most.ports) errors.push(tooMany("ports", ports?.length ?? 0, most.ports));
  else validatePorts(ports ?? [], errors);
  return errors;
}

function validateEndpoint(endpoint: Endpoint, type: string, at: string, errors: FieldErrors): void {
  const addresses = endpoint.addresses ?? [];
  if (addresses.length === 0) errors.push(required(`${at}.addresses`, "must contain at least 1 address"));
  if (addresses.length > most.addresses) errors.push(tooMany(`${at}.addresses`, addresses.length, most.addresses));
  addresses.forEach((address, index) => validateAddress(address, type, `${at}.addresses[${index}]`, errors));
  const { nodeName, hostname } = endpoint;
  if (nodeName != null)
    for (const problem of dnsSubdomain(nodeName)) errors.push(invalid(`${at}.nodeName`, nodeName, problem));
  if (hostname != null)
    for (const problem of dnsLabel(hostname)) errors.push(invalid(`${at}.hostname`, hostname, problem));
  validateZones(endpoint.hints?.forZones ?? [], `${at}.hints.forZones`, errors);
}

function validateAddress(address: string, type: string, field: string, errors: FieldErrors): void {
  if (type === "FQDN") validateDomain(address, field, errors);
  if (type !== "IPv4" && type !== "IPv6") return;
  const family = isMappedIp(address) ? 4 : isIP(address);
  if (`IPv${family}` !== type) errors.push(invalid(field, address, `must be a valid ${type} address`));
  if (family !== 0) errors.push(...validateReachable(address, field));
}

function validateDomain(text: string, field: string, errors: FieldErrors): void {
  const name = text.replace(/\.$/, "");
  if (text === "") errors.push(required(field));
  else if (dnsSubdomain(name).length > 0) errors.push(invalid(field, name, dnsSubdomain(name).join(",")));
  else if (!name.includes("."))
    errors.push(invalid(field, name, "should be a domain with at least two segments separated by dots"));
  else {
    const long = name.split(".").find((label) => dnsLabel(label).length > 0);
    if (long) errors.push(invalid(field, long, dnsLabel(long).join(",")));
  }
}

function validateZones(zones: readonly { name?: string }[], at: string, errors: FieldErrors): void {
  if (zones.length > most.zones) {
    errors.push(tooMany(at, zones.length, most.zones));
    return;
  }
  const names = new Set<string>();
  zones.forEach(({ name = "" }, index) => {
    const field = `${at}[${index}].name`;
    if (names.has(name)) errors.push(duplicate(field, name));
    names.add(name);
    for (const problem of labelValue(name)) errors.push(invalid(field, name, problem));
  });
}

function validatePorts(ports: readonly Port[], errors: FieldErrors): void {
  const names = new Set<string>();
  ports.forEach(({ name = "", protocol, appProtocol }, index) => {
    const at = `ports[${index}]`;
    if (name) for (const problem of dnsLabel(name)) errors.push(invalid(`${at}.name`, name, problem));
    if (names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (protocol !== undefined && !protocols.includes(protocol))
      errors.push(notSupported(`${at}.protocol`, protocol, protocols));
    if (appProtocol != null)
      for (const problem of qualifiedName(appProtocol)) errors.push(invalid(`${at}.appProtocol`, appProtocol, problem));
  });
}
