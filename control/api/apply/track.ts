// Who changed which fields: kept in metadata.managedFields by every write that is not an apply.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { groupVersion } from "../../resources/definition.ts";
import { timestamp } from "../lifecycle.ts";
import type { Scope } from "../scope.ts";
import { compare, type Comparison } from "./compare.ts";
import { type Manager, managerKey, type Managers, readManagers, writeManagers } from "./managers.ts";
import { newFields } from "./new-fields.ts";
import { ownable } from "./ownable.ts";
import { PathSet } from "./path-set.ts";
import { deduced, type Shape } from "../../resources/shape.ts";

/** The client's name for itself, or the first word of its program's name. */
function managerName(scope: Scope): string {
  const asked = scope.request.query.get("fieldManager");
  if (asked) return asked;
  const program = (scope.request.headers.get("user-agent") ?? "").split("/")[0] ?? "";
  const printable = program.replace(/[^\x21-\x7e]/g, "").slice(0, 128);
  return printable === "" ? "unknown" : printable;
}

export function shapeFor(scope: Scope): Shape {
  const { definition, services } = scope;
  return (
    definition.shape?.() ?? services.shapes?.root(definition.group, definition.version, definition.kind) ?? deduced
  );
}

export function trackCreate(scope: Scope, object: KubeObject): void {
  delete object.metadata.managedFields;
  const { definition, services, subresource } = scope;
  const { group, version, kind } = definition;
  const scaffold = definition.shape ? {} : (services.shapes?.scaffold(group, version, kind) ?? {});
  // A status is written through its own door, whoever made the object.
  const fieldsV1 = newFields(object, scaffold, shapeFor(scope), definition.hasStatus === true);
  if (!fieldsV1) return;
  object.metadata.managedFields = [
    {
      manager: managerName(scope),
      operation: "Update",
      apiVersion: groupVersion(definition),
      time: timestamp(services.clock.now()),
      fieldsType: "FieldsV1",
      fieldsV1,
      ...(subresource === "" ? {} : { subresource }),
    },
  ];
}

export function trackUpdate(scope: Scope, next: KubeObject, previous: KubeObject): void {
  const given = next.metadata.managedFields;
  // Clients may rewrite the entries themselves; a list of nothing but empty entries clears them.
  if (given?.length === 1 && Object.keys(given[0] ?? {}).length === 0) {
    delete next.metadata.managedFields;
    return;
  }
  const decoded = readManagers(given);
  const managers =
    decoded && decoded.size > 0
      ? decoded
      : (readManagers(previous.metadata.managedFields) ?? new Map<string, Manager>());
  const comparison = compare(ownable(previous), ownable(next), shapeFor(scope));
  record(scope, managers, comparison);
  writeManagers(next, managers);
}

/** The writer gets what it changed, everyone else loses it, and nobody owns what is gone. */
function record(scope: Scope, managers: Managers, { changed, removed }: Comparison): void {
  const writer: Manager = {
    name: managerName(scope),
    operation: "Update",
    apiVersion: groupVersion(scope.definition),
    subresource: scope.subresource,
    time: timestamp(scope.services.clock.now()),
    fields: new PathSet(),
  };
  const key = managerKey(writer);
  if (changed.isEmpty && removed.isEmpty) return;
  for (const [other, manager] of managers) {
    if (other === key) continue;
    if (!changed.isEmpty) manager.fields = manager.fields.minus(changed);
    if (!removed.isEmpty) manager.fields = manager.fields.minusBelow(removed);
  }
  const known = managers.get(key);
  const fields = (known?.fields ?? new PathSet()).minusBelow(removed).union(changed);
  if (known?.fields.equals(fields)) return;
  managers.set(key, { ...writer, fields });
}
