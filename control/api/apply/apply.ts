// Server-side apply: the client says which fields it wants and owns; the server merges, and refuses what others own.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import type { Answer } from "../../machinery/answer.ts";
import { asObject, decodeYaml } from "../body.ts";
import { checkApplied, settle } from "../field-validation.ts";
import { claimKind, claimNamespace, timestamp } from "../lifecycle.ts";
import { writeOptions } from "../options.ts";
import { isTrue } from "../../../plugins/kit/base/query-flag.ts";
import { requireCreate } from "../require-allowed.ts";
import type { Scope } from "../scope.ts";
import { badRequest, conflict, failure, invalidObject, notFound } from "../../machinery/status.ts";
import { storeNew } from "../verbs/create.ts";
import { updateObject } from "../verbs/update.ts";
import { compare, fieldsIn } from "./compare.ts";
import { noteFor, notedFields, renewNote } from "./last-applied.ts";
import { type Manager, managerKey, type Managers, readManagers, writeManagers } from "./managers.ts";
import { merge } from "./merge.ts";
import { type PathSet, pathText } from "./path-set.ts";
import { prune } from "./prune.ts";
import { repeatedElements } from "./repeated-elements.ts";
import type { Shape } from "../../resources/shape.ts";
import { ownable } from "./ownable.ts";
import { shapeFor } from "./track.ts";
import { jsonBounds } from "../schema/json-bounds.ts";

export async function applyObject(scope: Scope): Promise<Answer> {
  const { definition, request } = scope;
  const name = request.query.get("fieldManager") ?? "";
  if (name === "")
    throw invalidObject({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      { type: "FieldValueRequired", field: "fieldManager", message: "Required value: is required for apply patch" },
    ]);
  const options = writeOptions(scope, "PatchOptions");
  const decoded = decodeYaml(await request.body(jsonBounds()));
  const applied = asObject(decoded.value);
  const note = noteFor(name, applied);
  const { apiVersion, kind } = applied;
  if (!apiVersion || !kind) {
    const version = apiVersion || "";
    throw badRequest(`invalid object type: ${version.includes("/") ? version : `/${version}`}, Kind=${kind || ""}`);
  }
  claimKind(applied, definition);
  if (applied.metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  if (applied.metadata.name && applied.metadata.name !== scope.name)
    throw badRequest(
      `the name of the object (${applied.metadata.name}) does not match the name on the URL (${scope.name})`,
    );
  checkApplied(scope, applied, decoded);
  refuseRepeated(scope, applied);
  claimNamespace(applied, scope);
  applied.metadata.name = scope.name;
  keepOwnPart(scope, applied);
  const force = isTrue(request.query.get("force"));
  const answer = await updateObject(scope, {
    options,
    next: (live) => {
      const next = applyTo(scope, live, applied, { name, force });
      renewNote(next, note);
      return next;
    },
    track: () => {},
  });
  if (answer) return answer;
  if (scope.subresource !== "") throw notFound(definition, scope.name);
  if (applied.metadata.uid)
    throw conflict(
      definition,
      scope.name,
      `uid mismatch: the provided object specified uid ${applied.metadata.uid}, and no existing object was found`,
    );
  const fresh = structuredClone(applied);
  delete fresh.metadata.resourceVersion;
  renewNote(fresh, note);
  settle(scope, fresh);
  const track = (_scope: Scope, object: KubeObject) => {
    const fields = fieldsIn(ownable(applied), shapeFor(scope));
    const manager = newManager(scope, name, fields);
    writeManagers(object, new Map([[managerKey(manager), manager]]));
  };
  return storeNew(scope, fresh, options, { track, authorize: requireCreate });
}

/** What this door does not write is not applied through it either. */
function keepOwnPart({ definition, subresource }: Scope, applied: KubeObject): void {
  if (subresource === "" && definition.hasStatus) delete applied.status;
  if (subresource !== "status") return;
  for (const field of Object.keys(applied))
    if (!["kind", "apiVersion", "metadata", "status"].includes(field)) delete applied[field];
}

function refuseRepeated(scope: Scope, applied: KubeObject): void {
  const errors = repeatedElements(ownable(applied), shapeFor(scope));
  if (errors.length === 0) return;
  const { group, version, kind } = scope.definition;
  const about = `${applied.metadata.namespace ?? ""}/${scope.name}; ${group}/${version}, Kind=${kind}`;
  const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join("\n  ")}`;
  throw badRequest(`failed to create typed patch object (${about}): ${text}`);
}

function newManager(scope: Scope, name: string, fields: PathSet): Manager {
  return {
    name,
    operation: "Apply",
    apiVersion: groupVersion(scope.definition),
    subresource: scope.subresource,
    time: timestamp(scope.services.clock.now()),
    fields,
  };
}

function applyTo(
  scope: Scope,
  live: KubeObject,
  applied: KubeObject,
  by: { name: string; force: boolean },
): KubeObject {
  const shape = shapeFor(scope);
  const { definition } = scope;
  if (applied.metadata.resourceVersion && applied.metadata.resourceVersion !== live.metadata.resourceVersion)
    live.metadata.resourceVersion = applied.metadata.resourceVersion; // refused as a conflict later on
  const { uid } = applied.metadata;
  if (uid && uid !== live.metadata.uid)
    throw invalidObject(definition, scope.name, [
      {
        type: "FieldValueInvalid",
        field: "metadata.uid",
        message: `Invalid value: ${JSON.stringify(uid)}: field is immutable`,
      },
    ]);
  const managers = managersOf(live, definition, shape);
  const mine = newManager(scope, by.name, fieldsIn(ownable(applied), shape));
  const key = managerKey(mine);
  const before = managers.get(key);
  const merged = merge(ownable(live), ownable(applied), shape) as Record<string, unknown>;
  const owned = [...managers].reduce((sum, [k, { fields }]) => (k === key ? sum : sum.union(fields)), mine.fields);
  const pruned = before ? prune(merged, before.fields, owned, shape) : merged;
  const { changed, removed } = compare(ownable(live), pruned, shape);
  const taken = changed.minus(notedFields(by.name, live, definition, shape));
  const conflicts = conflictsIn(managers, key, taken);
  if (conflicts.length > 0 && !by.force) throw conflictFault(conflicts);
  for (const [other, manager] of managers) {
    if (other !== key) manager.fields = manager.fields.minus(changed).minusBelow(removed);
  }
  if (before?.fields.equals(mine.fields)) mine.time = before.time;
  managers.set(key, mine);
  const { metadata, ...rest } = pruned as { metadata?: Record<string, unknown> };
  const next: KubeObject = {
    ...rest,
    kind: live.kind,
    apiVersion: live.apiVersion,
    metadata: { ...identity(live), ...metadata },
  };
  settle(scope, next);
  const isSame = deepEqual(ownable(next), ownable(live));
  if (!isSame && before) mine.time = timestamp(scope.services.clock.now());
  writeManagers(next, managers);
  return next;
}

function identity({ metadata }: KubeObject): KubeObject["metadata"] {
  const {
    labels: _labels,
    annotations: _annotations,
    finalizers: _finalizers,
    ownerReferences: _owners,
    ...rest
  } = metadata;
  return rest;
}

/** An object that was never tracked is owned by whoever wrote it before the first apply. */
function managersOf(live: KubeObject, definition: ResourceDefinition, shape: Shape): Managers {
  const managers: Managers = readManagers(live.metadata.managedFields) ?? new Map<string, Manager>();
  if (managers.size > 0) return managers;
  const first: Manager = {
    name: "before-first-apply",
    operation: "Update",
    apiVersion: groupVersion(definition),
    subresource: "",
    time: undefined,
    fields: compare(undefined, ownable(live), shape).changed,
  };
  return new Map([[managerKey(first), first]]);
}

interface Conflict {
  readonly manager: Manager;
  readonly path: string;
}

function conflictsIn(managers: Managers, key: string, changed: PathSet): Conflict[] {
  return [...managers]
    .filter(([other]) => other !== key)
    .flatMap(([, manager]) =>
      [...manager.fields.and(changed).paths()].map((path) => ({ manager, path: pathText(path) })),
    );
}

function describe({ name, operation, apiVersion, subresource, time }: Manager): string {
  const who = JSON.stringify(name) + (subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`);
  if (operation === "Apply") return who;
  return `${who} using ${apiVersion}${time === undefined ? "" : ` at ${time}`}`;
}

function conflictFault(conflicts: readonly Conflict[]): Fault {
  const [first] = conflicts;
  const message =
    conflicts.length === 1 && first
      ? `Apply failed with 1 conflict: conflict with ${describe(first.manager)}: ${first.path}`
      : `Apply failed with ${conflicts.length} conflicts: ${[
          ...Map.groupBy(conflicts, ({ manager }) => describe(manager)),
        ]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([manager, own]) => [`conflicts with ${manager}:`, ...own.map(({ path }) => `- ${path}`)].join("\n"))
          .join("\n")}`;
  return new Fault("conflict", message, {
    details: failure(409, "Conflict", message, {
      causes: conflicts.map(({ manager, path }) => ({
        reason: "FieldManagerConflict",
        message: `conflict with ${describe(manager)}`,
        field: path,
      })),
    }),
  });
}
