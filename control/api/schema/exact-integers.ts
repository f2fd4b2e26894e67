// Refuses integers that would be stored as other ones. Custom resources keep them; the fields of built-in kinds are numbers of 64-bit
// floating point, which hold 53 bits of an integer, and so are the numbers of YAML.

import { type InexactInteger, inexactIntegers, inexactPath } from "../../../plugins/kit/base/inexact-integers.ts";
import type { CompactField } from "../openapi/compact.ts";
import type { Schemas } from "./schemas.ts";

interface Document {
  readonly text: string;
  readonly value: unknown;
}

/** What is wrong with the first such integer; `root` is the schema of the document, where it has one. */
export function inexactProblem(
  { text, value }: Document,
  root: CompactField | undefined,
  schemas: Schemas | undefined,
): string | undefined {
  const found = inexactIntegers(text, value).find((each) =>
    root && schemas ? !isFloat(each, root, schemas) : !each.isExact,
  );
  return found && `${inexactPath(found)}: integer ${found.source} cannot be stored exactly: ${rule}`;
}

const rule = `integers beyond ${Number.MAX_SAFE_INTEGER} are not supported`;

/** Fields of floating-point numbers, such as `maximum` in the schema of a custom resource, are rounded everywhere. */
function isFloat({ path }: InexactInteger, root: CompactField, schemas: Schemas): boolean {
  let field: CompactField | undefined = root;
  for (const step of path) {
    if (field === undefined) return false;
    if (typeof field !== "string") {
      field = field[1];
      continue;
    }
    const type = schemas.type(field.slice(1));
    const fields: Readonly<Record<string, CompactField>> = (type?.or ? schemas.type(type.or) : type)?.p ?? {};
    field = Object.hasOwn(fields, step) ? fields[step] : undefined;
  }
  return field === "n";
}
