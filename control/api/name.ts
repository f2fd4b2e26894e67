// Names: what an object may be called, and names made from a prefix.

import { randomBytes } from "node:crypto";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { FieldErrors } from "../resources/field-error.ts";
import { invalid, required } from "../resources/field-error.ts";
import { dnsSubdomain } from "../resources/names.ts";

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

/** A prefix may end where a name may not. */
function completed(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
}
