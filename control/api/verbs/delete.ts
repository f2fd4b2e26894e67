// DELETE of one object: at once, after a grace period, or when its finalizers are done.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../../resources/definition.ts";
import { storageOf } from "../../resources/definition.ts";
import type { Entry } from "../../storage/entry.ts";
import type { Change } from "../../storage/object-storage.ts";
import { mutate, validate } from "../admit.ts";
import { type Answer, jsonAnswer } from "../../machinery/answer.ts";
import { objectAnswer } from "../forms.ts";
import { timestamp } from "../lifecycle.ts";
import { type DeleteOptions, deleteOptions } from "../options.ts";
import { copyOf, objectOf, type Scope, shownEntry, toStored } from "../scope.ts";
import { conflict, notFound } from "../../machinery/status.ts";
import { scopeNamespace, writtenAnswer } from "./get.ts";

export async function deleteObject(scope: Scope): Promise<Answer> {
  const options = await deleteOptions(scope.request);
  const dry = options.dryRun ? { ...scope, dryRun: true } : scope;
  return deleteByOptions(dry, options);
}

async function deleteByOptions(scope: Scope, options: DeleteOptions): Promise<Answer> {
  const { orphanWarning } = scope.definition;
  if (orphanWarning && options.propagationPolicy === undefined) scope.warnings.push(orphanWarning);
  const outcome = await removeEntry(scope, options);
  if (!outcome) throw notFound(scope.definition, scope.name);
  const { definition } = scope;
  if (outcome.isGone && !definition.answersDeleted) return jsonAnswer(successStatus(definition, outcome.entry));
  if (outcome.dryObject) {
    const object = outcome.dryObject;
    return objectAnswer(scope, () => object, undefined);
  }
  return writtenAnswer(scope, outcome.entry, 200);
}

function successStatus(definition: ResourceDefinition, entry: Entry): unknown {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: entry.name,
      ...(definition.group === "" ? {} : { group: definition.group }),
      kind: definition.plural,
      uid: entry.object.metadata.uid,
    },
  };
}

interface Outcome {
  entry: Entry;
  isGone: boolean;
  dryObject?: KubeObject;
}

/** Deletes what the scope names, or begins to; undefined when it is not there. */
export async function removeEntry(scope: Scope, options: DeleteOptions): Promise<Outcome | undefined> {
  const { definition, services } = scope;
  let dry: Change | undefined;
  const result = await services.storage.update(
    storageOf(definition),
    scopeNamespace(scope),
    scope.name,
    async (stored) => {
      const current = await shownEntry(definition, stored, scope.call);
      const previous = objectOf(definition, current);
      checkPreconditions(scope, previous, options);
      const admitted = { operation: "DELETE" as const, oldObject: previous, options: options.raw };
      await mutate(scope, admitted);
      await validate(scope, admitted);
      const change = await deletionOf(scope, copyOf(definition, current), options);
      if (!scope.dryRun) return change;
      dry = change;
      return { do: "nothing" };
    },
    scope.call,
  );
  if (!result) return undefined;
  if (dry)
    return { entry: result.entry, isGone: dry.do === "delete", ...(dry.do === "put" ? { dryObject: dry.object } : {}) };
  return { entry: result.entry, isGone: result.deleted };
}

/** Throws where the object is not the one, or not as, the caller asked to delete. */
export function checkPreconditions(scope: Scope, object: KubeObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions;
  const name = object.metadata.name ?? "";
  const { uid: own = "", resourceVersion: version = "" } = object.metadata;
  // Here, and only here, upstream names the kind and not the resource.
  const refuse = (why: string) => conflict({ ...scope.definition, plural: scope.definition.kind }, name, why);
  if (uid !== undefined && uid !== own)
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${own}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== version)
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${version}). The object might have been modified`,
    );
}

/** What a deletion makes of the object now. */
async function deletionOf(scope: Scope, object: KubeObject, options: DeleteOptions): Promise<Change> {
  const { definition } = scope;
  const { metadata } = object;
  setDependentsFinalizer(definition, object, options);
  const isHeld = (metadata.finalizers?.length ?? 0) > 0 || definition.isHeld?.(object) === true;
  const grace = definition.graceSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const now = scope.services.clock.now();
  if (metadata.deletionTimestamp === undefined) {
    if (!isHeld && grace === 0) return { do: "delete" };
    metadata.deletionTimestamp = timestamp(now + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    if (definition.hasGeneration && metadata.generation) metadata.generation++;
    definition.prepareDelete?.(object);
    return { do: "put", object: await toStored(definition, object, scope.call) };
  }
  // Deletion has begun: it may only be made to end sooner.
  const before = metadata.deletionGracePeriodSeconds ?? 0;
  if (grace === 0 && !isHeld) return { do: "delete" };
  if (options.gracePeriodSeconds === undefined || grace >= before)
    return { do: "put", object: await toStored(definition, object, scope.call) };
  const began = Date.parse(metadata.deletionTimestamp) - before * 1000;
  metadata.deletionTimestamp = timestamp(Math.max(now, began + grace * 1000));
  metadata.deletionGracePeriodSeconds = grace;
  return { do: "put", object: await toStored(definition, object, scope.call) };
}

const orphan = "orphan";
const foreground = "foregroundDeletion";

/** How dependents fare is told to the garbage collector by a finalizer. */
function setDependentsFinalizer(definition: ResourceDefinition, object: KubeObject, options: DeleteOptions): void {
  const before = object.metadata.finalizers ?? [];
  const policy =
    options.propagationPolicy ??
    (before.includes(orphan)
      ? "Orphan"
      : before.includes(foreground)
        ? "Foreground"
        : definition.orphansByDefault
          ? "Orphan"
          : "Background");
  const others = before.filter((finalizer) => finalizer !== orphan && finalizer !== foreground);
  const added = policy === "Orphan" ? [orphan] : policy === "Foreground" ? [foreground] : [];
  const next = [...others, ...added];
  if (next.length === 0) delete object.metadata.finalizers;
  else object.metadata.finalizers = next;
}
