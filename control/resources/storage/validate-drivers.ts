// Validation of drivers, of what a node has of them, and of attachments.

import {
  duplicate,
  type FieldErrors,
  invalid,
  notListed,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { dnsSubdomain, qualifiedName } from "../names.ts";

const lifecycleModes = ["Persistent", "Ephemeral"];
const groupPolicies = ["File", "None", "ReadWriteOnceWithFSType"];
const leastSeconds = 10 * 60;
const mostSeconds = 2 ** 32;

interface DriverSpec {
  volumeLifecycleModes?: string[];
  fsGroupPolicy?: string;
  tokenRequests?: { audience?: string; expirationSeconds?: number | null }[];
}

export function validateDriver(spec: DriverSpec): FieldErrors {
  const errors: FieldErrors = [];
  for (const mode of spec.volumeLifecycleModes ?? [])
    if (!lifecycleModes.includes(mode)) errors.push(notListed("spec.volumeLifecycleModes", mode, lifecycleModes));
  if (spec.fsGroupPolicy !== undefined && !groupPolicies.includes(spec.fsGroupPolicy))
    errors.push(notSupported("spec.fsGroupPolicy", spec.fsGroupPolicy, groupPolicies));
  const audiences = new Set<string>();
  (spec.tokenRequests ?? []).forEach(({ audience = "", expirationSeconds }, index) => {
    const at = `spec.tokenRequests[${index}]`;
    if (audiences.has(audience)) errors.push(duplicate(`${at}.audience`, audience));
    audiences.add(audience);
    if (expirationSeconds == null) return;
    if (expirationSeconds < leastSeconds)
      errors.push(
        invalid(`${at}.expirationSeconds`, expirationSeconds, "may not specify a duration less than 10 minutes"),
      );
    if (expirationSeconds > mostSeconds)
      errors.push(
        invalid(`${at}.expirationSeconds`, expirationSeconds, "may not specify a duration larger than 2^32 seconds"),
      );
  });
  return errors;
}

interface NodeDriver {
  name?: string;
  nodeID?: string;
  topologyKeys?: string[];
  allocatable?: { count?: number };
}

export function validateNodeDrivers(drivers: readonly NodeDriver[]): FieldErrors {
  const errors: FieldErrors = [];
  const names = new Set<string>();
  drivers.forEach(({ name = "", nodeID = "", topologyKeys = [], allocatable }, index) => {
    const at = `spec.drivers[${index}]`;
    if (name === "") errors.push(required(`${at}.name`));
    else for (const problem of dnsSubdomain(name.toLowerCase())) errors.push(invalid(`${at}.name`, name, problem));
    if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    names.add(name);
    if (nodeID === "") errors.push(required(`${at}.nodeID`));
    topologyKeys.forEach((key, keyIndex) => {
      if (key === "") errors.push(required(at));
      else if (topologyKeys.indexOf(key) < keyIndex) errors.push(duplicate(at, key));
      for (const problem of qualifiedName(key)) errors.push(invalid(at, key, problem));
    });
    if ((allocatable?.count ?? 0) < 0)
      errors.push(invalid(`${at}.allocatable.count`, allocatable?.count, "must be greater than or equal to 0"));
  });
  return errors;
}

interface AttachmentSpec {
  attacher?: string;
  nodeName?: string;
  source?: { persistentVolumeName?: string | null; inlineVolumeSpec?: unknown };
}

export function validateAttachment({ attacher = "", nodeName = "", source = {} }: AttachmentSpec): FieldErrors {
  const errors: FieldErrors = [];
  if (attacher === "") errors.push(required("spec.attacher"));
  else
    for (const problem of dnsSubdomain(attacher.toLowerCase()))
      errors.push(invalid("spec.attacher", attacher, problem));
  if (nodeName === "") errors.push(required("spec.nodeName"));
  else for (const problem of dnsSubdomain(nodeName)) errors.push(invalid("spec.nodeName", nodeName, problem));
  const { persistentVolumeName: volume, inlineVolumeSpec } = source;
  if ((volume == null) === (inlineVolumeSpec == null))
    errors.push(required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"));
  if (volume == null) return errors;
  const field = "spec.source.persistentVolumeName";
  if (volume === "") errors.push(required(field, "must specify non empty persistentVolumeName"));
  for (const problem of dnsSubdomain(volume)) errors.push(invalid(field, volume, problem));
  return errors;
}

interface TopologyTerm {
  matchLabelExpressions?: { key?: string; values?: string[] }[];
}

/** No two terms may say the same, and no term a key or value twice. */
export function validateTopologies(terms: readonly TopologyTerm[]): FieldErrors {
  const errors: FieldErrors = [];
  // A term that says nothing is one too many.
  const seen = new Set<string>([""]);
  terms.forEach(({ matchLabelExpressions = [] }, index) => {
    const field = `allowedTopologies[${index}].matchLabelExpressions`;
    const keys = new Set<string>();
    matchLabelExpressions.forEach(({ key = "", values = [] }, place) => {
      const at = `${field}[${place}]`;
      if (values.length === 0) errors.push(required(`${at}.values`));
      values.forEach((value, valueIndex) => {
        if (values.indexOf(value) < valueIndex) errors.push(duplicate(`${at}.values[${valueIndex}]`, value));
      });
      for (const problem of qualifiedName(key)) errors.push(invalid(`${at}.key`, key, problem));
      if (keys.has(key)) errors.push(duplicate(`${at}.key`, key));
      keys.add(key);
    });
    const parts = matchLabelExpressions.map(({ key, values }) => `${key} ${[...(values ?? [])].sort().join()}`);
    const text = parts.sort().join(";");
    if (seen.has(text)) errors.push(duplicate(field, ""));
    seen.add(text);
  });
  return errors;
}
