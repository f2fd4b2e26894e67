// Validation of what CEL rules say beside their expressions; the expressions are judged in rule-problems.ts.

import { type FieldErrors, invalid, notSupported, required } from "../../machinery/field-error.ts";
import { propertyOf, type StructuralSchema } from "./structural-schema.ts";

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const hasBreaks = (text: string): boolean => /[\n\r]/.test(text);

export function validateRules(schema: StructuralSchema, at: string, errors: FieldErrors): void {
  (schema["x-kubernetes-validations"] ?? []).forEach((one, index) => {
    const here = `${at}.x-kubernetes-validations[${index}]`;
    const rule = (one.rule ?? "").trim();
    const { message = "", messageExpression = "", reason, fieldPath = "" } = one;
    if (rule === "") errors.push(required(`${here}.rule`, "rule is not specified"));
    else if (message !== "" && message.trim() === "")
      errors.push(invalid(`${here}.message`, message, "message must be non-empty if specified"));
    else if (hasBreaks(message.trim()))
      errors.push(invalid(`${here}.message`, message, "message must not contain line breaks"));
    else if (hasBreaks(rule) && message.trim() === "")
      errors.push(required(`${here}.message`, "message must be specified if rule contains line breaks"));
    if (messageExpression !== "" && messageExpression.trim() === "")
      errors.push(required(`${here}.messageExpression`, "messageExpression must be non-empty if specified"));
    if (reason !== undefined && reason !== null && !reasons.includes(reason))
      errors.push(notSupported(`${here}.reason`, reason, reasons));
    if (fieldPath !== "" && fieldPath.trim() === "")
      errors.push(invalid(`${here}.fieldPath`, fieldPath, "fieldPath must be non-empty if specified"));
    if (hasBreaks(fieldPath))
      errors.push(invalid(`${here}.fieldPath`, fieldPath, "fieldPath must not contain line breaks"));
    if (fieldPath !== "" && !isFieldPath(fieldPath, schema))
      errors.push(invalid(`${here}.fieldPath`, fieldPath, "fieldPath must be a valid path"));
  });
}

/** `.spec.labels['a.b']`: names of fields and keys of maps that the schema has. */
function isFieldPath(path: string, schema: StructuralSchema): boolean {
  let at: StructuralSchema | undefined = schema;
  let rest = path;
  while (rest !== "") {
    const step: RegExpExecArray | null = /^(?:\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\])/.exec(rest);
    if (!step || !at) return false;
    const name = step[1] ?? (step[2] ?? "").replaceAll(/\\(.)/g, "$1");
    at = step[1] !== undefined && !Object.hasOwn(at.properties ?? {}, name) ? undefined : propertyOf(at, name);
    if (!at) return false;
    rest = rest.slice(step[0].length);
  }
  return true;
}
