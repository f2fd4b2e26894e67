// The life of an object on its way into the store: stamped at creation, held to its past on update, never resurrected.

import { randomUUID } from "node:crypto";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { type CheckContext, groupVersion, type ResourceDefinition } from "../resources/definition.ts";
import { deepEqual } from "../machinery/equal.ts";
import { boundedErrors, type FieldErrors } from "../machinery/field-error.ts";
import { validateMeta } from "../resources/object-meta.ts";
import { localKey } from "../storage/keys.ts";
import { generateName, validateObjectName } from "./name.ts";
import type { Scope } from "./scope.ts";
import { badRequest, conflict, invalidObject, modifiedMeanwhile } from "../machinery/status.ts";

let lastSecond = Number.NaN;
let lastText = "";

/** RFC 3339 in whole seconds, as metav1.Time is written. Many objects are written within one second: its text is made once. */
export function timestamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = `${new Date(ms).toISOString().slice(0, 19)}Z`;
  }
  return lastText;
}

/** Fills kind and apiVersion, and refuses those of another resource; `isKnown` tells whether anybody serves such a kind. */
export function claimKind(
  object: KubeObject,
  definition: { group: string; version: string; kind: string; isCustom?: boolean },
  isKnown: (apiVersion: string, kind: string) => boolean = () => true,
): void {
  const expected = groupVersion(definition);
  // Nothing but the object itself says what a custom resource is.
  if (definition.isCustom && !object.kind) throw kindMissing(object, definition.kind);
  const apiVersion = object.apiVersion || expected;
  const kind = object.kind || definition.kind;
  const refuse = (version: string, why = "") =>
    badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${definition.kind}${why}`);
  if (!definition.isCustom && !isKnown(apiVersion, kind))
    throw refuse(
      definition.version,
      `: no kind "${kind}" is registered for version "${apiVersion}" in scheme "${schemes[definition.group] ?? ownScheme}"`,
    );
  if (apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  if (kind !== definition.kind) throw refuse(apiVersion);
  object.kind = definition.kind;
  object.apiVersion = expected;
}

function kindMissing(object: KubeObject, wanted: string) {
  const text = JSON.stringify(object);
  const start = text.length > 30 ? `${text.slice(0, 30)} ...` : text;
  return badRequest(
    `the object provided is unrecognized (must be of type ${wanted}): Object 'Kind' is missing in '${text}' (${start})`,
  );
}

// Where upstream registers the kinds that it was built with.
const ownScheme = "pkg/api/legacyscheme/scheme.go:30";
const schemes: Readonly<Record<string, string>> = {
  "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:53",
  "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
};

export function claimNamespace(object: KubeObject, scope: Scope): void {
  const { metadata } = object;
  if (!scope.definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace && metadata.namespace !== scope.namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  metadata.namespace = scope.namespace;
}

/** Before admission: what the client may not say about a new object is cleared. */
export function beginCreate(scope: Scope, object: KubeObject): void {
  const { metadata } = object;
  if (scope.definition.hasStatus && !scope.definition.keepsStatusOnCreate) delete object.status;
  // One that says something is refused once admission has had its say.
  if (!metadata.resourceVersion || metadata.resourceVersion === "0") delete metadata.resourceVersion;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(scope.services.clock.now());
}

/** After the mutating admission: the name is made, the kind has its say, and all is checked. */
export function finishCreate(scope: Scope, object: KubeObject): void {
  const { definition } = scope;
  const { metadata } = object;
  if (!metadata.name && metadata.generateName) metadata.name = generateName(metadata.generateName);
  definition.prepareCreate?.(object, { user: scope.user, now: scope.services.clock.now() });
  // Typed clients take it for granted that a status is there, and that its numbers are.
  if (definition.hasStatus && !definition.statusOnly) object.status ??= structuredClone(definition.newStatus ?? {});
  if (definition.hasGeneration) metadata.generation = 1;
  const errors = boundedErrors(() => [
    ...validateObjectName(definition, metadata.name ?? "", metadata.generateName),
    ...validateMeta(object, definition),
    ...(definition.validate?.(object) ?? []),
  ]);
  if (errors.length > 0) throw invalidObject(definition, metadata.name ?? "", errors);
  for (const warning of definition.warnings?.(object) ?? []) scope.warnings.push(warning);
}

/** Holds the next state to what may not change, or only the server may change. */
export function beginUpdate(scope: Scope, next: KubeObject, previous: KubeObject): void {
  const { definition } = scope;
  const name = previous.metadata.name ?? "";
  const meta = next.metadata;
  const before = previous.metadata;
  if (meta.name && meta.name !== name)
    throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`);
  if (meta.uid && meta.uid !== before.uid)
    throw conflict(
      definition,
      name,
      `Precondition failed: UID in precondition: ${meta.uid}, UID in object meta: ${before.uid ?? ""}`,
    );
  if (meta.resourceVersion && meta.resourceVersion !== "0" && meta.resourceVersion !== before.resourceVersion)
    throw conflict(definition, name, modifiedMeanwhile);
  if ((!meta.resourceVersion || meta.resourceVersion === "0") && definition.needsResourceVersion)
    throw invalidObject({ group: definition.group, kind: definition.plural }, name, [
      {
        type: "FieldValueInvalid",
        field: "metadata.resourceVersion",
        message: "Invalid value: 0: must be specified for an update",
      },
    ]);
  meta.name = name;
  keep(meta, before, "namespace");
  keep(meta, before, "uid");
  keep(meta, before, "creationTimestamp");
  keep(meta, before, "deletionTimestamp");
  keep(meta, before, "deletionGracePeriodSeconds");
  keep(meta, before, "generation");
  keep(meta, before, "generateName");
  delete meta.selfLink;
  meta.resourceVersion = before.resourceVersion ?? "";
}

function keep<K extends string>(target: { [key in K]?: unknown }, source: { [key in K]?: unknown }, key: K): void {
  if (source[key] === undefined) delete target[key];
  else target[key] = source[key];
}

/** Status is only changed through its own door. */
export function keepStatus(definition: ResourceDefinition, next: KubeObject, previous: KubeObject): void {
  if (!definition.hasStatus) return;
  if (previous.status === undefined) delete next.status;
  else next.status = previous.status;
}

/** After the mutating admission of an update of the main resource. */
export function finishUpdate(scope: Scope, next: KubeObject, previous: KubeObject): void {
  const { definition } = scope;
  keepStatus(definition, next, previous);
  definition.prepareUpdate?.(next, previous, { user: scope.user, now: scope.services.clock.now() });
  countGeneration(definition, next, previous);
  checkUpdate(scope, next, previous, () => definition.validate?.(next, previous) ?? []);
  for (const warning of definition.warnings?.(next, previous) ?? []) scope.warnings.push(warning);
}

export function checkUpdate(scope: Scope, next: KubeObject, previous: KubeObject, own: () => FieldErrors): void {
  const errors = boundedErrors(() => [...validateMeta(next, scope.definition, previous), ...own()]);
  if (errors.length > 0) throw invalidObject(scope.definition, next.metadata.name ?? "", errors);
}

export function countGeneration(definition: ResourceDefinition, next: KubeObject, previous: KubeObject): void {
  if (!definition.hasGeneration) return;
  const isSame =
    sameSpec(next, previous) &&
    (!definition.labelsCount || deepEqual(next.metadata.labels ?? {}, previous.metadata.labels ?? {}));
  if (!isSame) next.metadata.generation = (previous.metadata.generation ?? 0) + 1;
}

function sameSpec(next: KubeObject, previous: KubeObject): boolean {
  const fields = new Set([...Object.keys(next), ...Object.keys(previous)]);
  for (const field of ["metadata", "status", "kind", "apiVersion"]) fields.delete(field);
  return [...fields].every((field) => deepEqual(next[field], previous[field]));
}

/** The checks that must wait, after those that need not. */
export async function checkLater(scope: Scope, object: KubeObject, previous?: KubeObject): Promise<void> {
  const { definition } = scope;
  const errors = (await definition.validateLater?.(object, previous, checkContextOf(scope))) ?? [];
  if (errors.length > 0) throw invalidObject(definition, object.metadata.name ?? "", errors);
}

function checkContextOf({ services, user, call }: Scope): CheckContext {
  return {
    user,
    async mayGet(resource) {
      return (await services.authorize({ user, verb: "get", resource }, call)).answer === "allow";
    },
    pluralOf: (apiVersion, kind) => services.registry.findKind(apiVersion, kind)?.plural,
    stored: (ref, name) => services.cache.cache(ref).get(localKey("", name))?.object,
  };
}
