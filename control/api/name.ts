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
  if (name === "") {
    return [required("metadata.name", "name or generateName is required")];
  }
  const problems = (definition.validateName ?? dnsSubdomain)(name);
  const errors = problems.map((problem) => invalid("metadata.name", name, problem));
  if (prefix !== undefined && prefix !== "" && errors.length > 0)
    return [...problems.map((problem) => invalid("metadata.generateName", prefix, problem)), ...errors];
  return errors;
}
