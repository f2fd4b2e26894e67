// Validation of what a version of a definition says beside its schema: columns, subresources, fields to select by, its end.

import { duplicate, type FieldErrors, invalid, required, tooMany } from "../../machinery/field-error.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import type { CrdVersion, PrinterColumn } from "./types.ts";

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const mostSelectable = 8;

/** `scaleAt` is where its subresources are said to stand. */
export function validateVersion(version: CrdVersion, at: string, errors: FieldErrors, scaleAt = at): void {
  validateDeprecation(version, `${at}.deprecationWarning`, errors);
  validateScale(version.subresources?.scale, `${scaleAt}.subresources.scale`, errors);
  (version.additionalPrinterColumns ?? []).forEach((one, index) =>
    validateColumn(one, `${at}.additionalPrinterColumns[${index}]`, errors),
  );
  validateSelectable(version, `${at}.selectableFields`, errors);
}

function validateDeprecation(
  { deprecated, deprecationWarning: text }: CrdVersion,
  at: string,
  errors: FieldErrors,
): void {
  if (text === undefined || text === null) return;
  if (!deprecated) errors.push(invalid(at, text, "can only be set for deprecated versions"));
  else if (text === "") errors.push(invalid(at, text, "must not be an empty string"));
  else if (text.length > 256) errors.push(invalid(at, text, "must be <= 256 characters long"));
}

function simplePath(path: string, field: string): FieldErrors {
  return path.startsWith(".") ? [] : [invalid(field, path, "must be a simple json path starting with .")];
}

type Scale = NonNullable<NonNullable<CrdVersion["subresources"]>["scale"]>;

function validateScale(scale: Scale | undefined | null, at: string, errors: FieldErrors): void {
  if (!scale) return;
  for (const [name, roots, said] of [
    ["specReplicasPath", [".spec."], ".spec"],
    ["statusReplicasPath", [".status."], ".status"],
    ["labelSelectorPath", [".spec.", ".status."], "either .spec or .status"],
  ] as const) {
    const path = scale[name];
    const field = `${at}.${name}`;
    if (!path) {
      if (name !== "labelSelectorPath") errors.push(required(field));
    } else if (!path.startsWith(".")) errors.push(...simplePath(path, field));
    else if (!roots.some((root) => path.startsWith(root)))
      errors.push(invalid(field, path, `should be a json path under ${said}`));
  }
}

function validateColumn({ name, type, format, jsonPath }: PrinterColumn, at: string, errors: FieldErrors): void {
  const typeRule = `must be one of ${columnTypes.join(",")}`;
  if (!name) errors.push(required(`${at}.name`));
  if (!type) errors.push(required(`${at}.type`, typeRule));
  else if (!columnTypes.includes(type)) errors.push(invalid(`${at}.type`, type, typeRule));
  if (format && !columnFormats.includes(format))
    errors.push(invalid(`${at}.format`, format, `must be one of ${columnFormats.join(",")}`));
  // The capitals are upstream's.
  if (!jsonPath) errors.push(required(`${at}.JSONPath`));
  else errors.push(...simplePath(jsonPath, `${at}.JSONPath`));
}

function validateSelectable({ selectableFields = [], schema }: CrdVersion, at: string, errors: FieldErrors): void {
  const seen = new Set<string>();
  selectableFields.forEach(({ jsonPath: path }, index) => {
    const field = `${at}[${index}].jsonPath`;
    if (!path) {
      errors.push(required(field));
      return;
    }
    const names = path.split(".").slice(1);
    const found = path.startsWith(".") ? schemaAt(schema?.openAPIV3Schema, names) : undefined;
    if (names[0] === "metadata") errors.push(invalid(field, path, "must not point to fields in metadata"));
    else if (!found) errors.push(invalid(field, path, "is an invalid path: does not refer to a valid field"));
    else if (!["string", "boolean", "integer"].includes(found.type ?? ""))
      errors.push(
        invalid(
          field,
          path,
          "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
      );
    if (seen.has(path)) errors.push(duplicate(field, path));
    seen.add(path);
  });
  if (seen.size > mostSelectable) errors.push(tooMany(at, seen.size, mostSelectable));
}

function schemaAt(schema: StructuralSchema | undefined, names: readonly string[]): StructuralSchema | undefined {
  let found = schema;
  for (const name of names)
    found = Object.hasOwn(found?.properties ?? {}, name) ? found?.properties?.[name] : undefined;
  return found;
}
