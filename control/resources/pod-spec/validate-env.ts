// Validation of a container's variables and where their values come from.

import type { Container } from "../../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, invalid, required } from "../../machinery/field-error.ts";
import { configKey, dnsSubdomain } from "../names.ts";
import { validateDownwardVariable } from "./validate-downward.ts";

const oneAtATime = "may not have more than one field specified at a time";

function validateVariableName(name: string, field: string, errors: FieldErrors): void {
  if (!/^[ -<>-~]+$/.test(name))
    errors.push(
      invalid(
        field,
        name,
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ),
    );
}

export function validateEnv(container: Container, at: string, errors: FieldErrors): void {
  (container.env ?? []).forEach((variable, index) => {
    const field = `${at}.env[${index}]`;
    if (!variable.name) errors.push(required(`${field}.name`));
    else validateVariableName(variable.name, `${field}.name`, errors);
    const from = variable.valueFrom;
    if (!from) return;
    validateDownwardVariable(from, `${field}.valueFrom`, errors);
    for (const kind of ["configMapKeyRef", "secretKeyRef"] as const) {
      const reference = from[kind];
      if (!reference) continue;
      const where = `${field}.valueFrom.${kind}`;
      for (const problem of dnsSubdomain(reference.name ?? ""))
        errors.push(invalid(`${where}.name`, reference.name ?? "", problem));
      if (!reference.key) errors.push(required(`${where}.key`));
      else for (const problem of configKey(reference.key)) errors.push(invalid(`${where}.key`, reference.key, problem));
    }
    const count = Object.values(from).filter((source) => source !== undefined && source !== null).length;
    const problem =
      count === 0
        ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        : variable.value
          ? "may not be specified when `value` is not empty"
          : count > 1
            ? oneAtATime
            : undefined;
    if (problem) errors.push(invalid(`${field}.valueFrom`, "", problem));
  });
  (container.envFrom ?? []).forEach((source, index) => {
    const field = `${at}.envFrom[${index}]`;
    if (source.prefix) validateVariableName(source.prefix, `${field}.prefix`, errors);
    const kinds = (["configMapRef", "secretRef"] as const).filter((kind) => source[kind]);
    for (const kind of kinds) {
      const name = source[kind]?.name;
      if (!name) errors.push(required(`${field}.${kind}.name`));
      else for (const problem of dnsSubdomain(name)) errors.push(invalid(`${field}.${kind}.name`, name, problem));
    }
    // The path is the list's, as upstream has it.
    if (kinds.length === 0)
      errors.push(invalid(`${at}.envFrom`, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (kinds.length > 1) errors.push(invalid(`${at}.envFrom`, "", oneAtATime));
  });
}
