// Names: what an object may be called, and names made from a prefix.

import { randomBytes } from "node:crypto";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { FieldErrors } from "../machinery/field-error.ts";
import { invalid, required } from "../machinery/field-error.ts";
import { dnsSubdomain } from "../resources/names.ts";
import { badRequest } from "../machinery/status.ts";

const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maximumBase = 63 - suffixLength;

export function generateName(prefix: string): string {
  let suffix = "";
  for (const byte of randomBytes(suffixLength)) suffix += alphabet[byte % alphabet.length];
  return prefix.slice(0, maximumBase) + suffix;
}

export function validateObjectName(
  definition: ResourceDefinition,
  name: string,
  prefix: string | undefined,
): FieldErrors {
  const problemsOf = definition.validateName ?? dnsSubdomain;
  const errors = prefix
    ? problemsOf(completed(prefix)).map((problem) => invalid("metadata.generateName", prefix, problem))
    : [];
  if (name === "") errors.push(required("metadata.name", "name or generateName is required"));
  else for (const problem of problemsOf(name)) errors.push(invalid("metadata.name", name, problem));
  return errors;
}

/** Holds what was sent to the name on the URL; one that names nothing is no update of it. */
export function claimName({ metadata }: KubeObject, name: string): void {
  if (!metadata.name)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (metadata.name !== name)
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
}

/** The same for what is created on an object: an Eviction, a Binding. */
export function claimSameName({ metadata }: KubeObject, name: string, kind: string): void {
  if (metadata.name !== name) throw badRequest(`name in URL does not match name in ${kind} object`);
}

/** A prefix may end where a name may not. */
function completed(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
}
