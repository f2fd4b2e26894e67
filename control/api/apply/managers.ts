// Managers are the entries of metadata.managedFields: who owns which fields, by what operation, since when.

import type { KubeObject, ManagedFieldsEntry } from "../../../plugins/kit/kube/objects/types.ts";
import { PathSet } from "./path-set.ts";

export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  time: string | undefined;
  fields: PathSet;
}

/** More managers that only updated than this are folded into one. */
const mostUpdaters = 10;
const ancient = "ancient-changes";

export function managerKey({
  name,
  operation,
  apiVersion,
  subresource,
}: Pick<Manager, "name" | "operation" | "apiVersion" | "subresource">): string {
  return `${operation}\0${name}\0${apiVersion}\0${subresource}`;
}

export type Managers = Map<string, Manager>;

/** Undefined when the entries cannot be read. */
export function readManagers(entries: readonly ManagedFieldsEntry[] | undefined): Managers | undefined {
  const managers: Managers = new Map();
  if (entries !== undefined && !Array.isArray(entries)) return undefined;
  for (const entry of entries ?? []) {
    if (entry.operation !== "Apply" && entry.operation !== "Update") return undefined;
    if (entry.fieldsType !== undefined && entry.fieldsType !== "FieldsV1") return undefined;
    const manager: Manager = {
      name: entry.manager ?? "",
      operation: entry.operation,
      apiVersion: entry.apiVersion ?? "",
      subresource: entry.subresource ?? "",
      time: entry.time,
      fields: PathSet.from(entry.fieldsV1 ?? {}),
    };
    managers.set(managerKey(manager), manager);
  }
  return managers;
}

export function writeManagers(object: KubeObject, managers: Managers): void {
  const kept = foldOld([...managers.values()].filter((manager) => !manager.fields.isEmpty));
  if (kept.length === 0) {
    delete object.metadata.managedFields;
    return;
  }
  object.metadata.managedFields = kept.sort(inOrder).map((manager) => ({
    manager: manager.name,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    ...(manager.time === undefined ? {} : { time: manager.time }),
    fieldsType: "FieldsV1",
    fieldsV1: manager.fields.toFields(),
    ...(manager.subresource === "" ? {} : { subresource: manager.subresource }),
  }));
}

/** Appliers first, then by time, then by name. */
function inOrder(a: Manager, b: Manager): number {
  if (a.operation !== b.operation) return a.operation === "Apply" ? -1 : 1;
  const [left, right] = [a.time ?? "", b.time ?? ""];
  if (left !== right) return left < right ? -1 : 1;
  return managerKey(a) < managerKey(b) ? -1 : 1;
}

function foldOld(all: Manager[]): Manager[] {
  const updaters = all.filter((manager) => manager.operation === "Update");
  if (updaters.length <= mostUpdaters) return all;
  const oldest = [...updaters].sort(inOrder).slice(0, updaters.length - mostUpdaters + 1);
  const folded = new Map<string, Manager>();
  for (const manager of oldest) {
    const into = folded.get(manager.apiVersion);
    if (into) into.fields = into.fields.union(manager.fields);
    else folded.set(manager.apiVersion, { ...manager, name: ancient, subresource: "" });
  }
  return [...all.filter((manager) => !oldest.includes(manager)), ...folded.values()];
}
