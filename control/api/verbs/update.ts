// PUT and PATCH of an object or a part of it: the next state is made from the newest one, and made again when someone was quicker.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { Reservation, ResourceDefinition } from "../../resources/definition.ts";
import { storageOf } from "../../resources/definition.ts";
import type { Entry } from "../../storage/entry.ts";
import type { Change } from "../../storage/object-storage.ts";
import { mutate, validate } from "../admit.ts";
import type { Answer } from "../../machinery/answer.ts";
import { trackUpdate } from "../apply/track.ts";
import { asObject, decodeBody } from "../body.ts";
import { checkFields } from "../field-validation.ts";
import { objectAnswer } from "../forms.ts";
import {
  beginUpdate,
  checkLater,
  checkUpdate,
  claimKind,
  claimNamespace,
  countGeneration,
  finishUpdate,
  keepStatus,
} from "../lifecycle.ts";
import { claimName } from "../name.ts";
import { writeOptions } from "../options.ts";
import { requireCreate } from "../require-allowed.ts";
import { copyOf, isServed, objectOf, type Scope, shownEntry, toStored } from "../scope.ts";
import { notFound } from "../../machinery/status.ts";
import { storeNew } from "./create.ts";
import { isLarge, largeBodies } from "../large-bodies.ts";
import { scopeNamespace, writtenAnswer } from "./get.ts";
import { jsonBounds } from "../schema/json-bounds.ts";
import { parseJson } from "../../../plugins/kit/base/exact-json.ts";

export interface Update {
  /** Makes the next state; it owns neither `previous` nor anything in it. May be called more than once. */
  next(previous: KubeObject): KubeObject | Promise<KubeObject>;
  readonly options: KubeObject;
  /** Records who changed which fields; what a plain write does when absent. */
  track?(scope: Scope, next: KubeObject, previous: KubeObject): void;
}

export async function replaceObject(scope: Scope): Promise<Answer> {
  const options = writeOptions(scope, "UpdateOptions");
  const body = await scope.request.body(jsonBounds());
  const contentType = scope.request.headers.get("content-type");
  const decoded = decodeBody(body, contentType, scope.definition.kind);
  const first = asObject(decoded.value, scope.definition);
  claimKind(first, scope.definition, isServed(scope));
  if (isLarge(body)) await largeBodies.take();
  checkFields(scope, first, decoded);
  if (isLarge(body)) await largeBodies.take();
  claimNamespace(first, scope);
  claimName(first, scope.name);
  const text = JSON.stringify(first);
  const answer = await updateObject(scope, { options, next: () => parseJson(text) as KubeObject });
  if (answer) return answer;
  if (!scope.definition.createsOnUpdate || scope.subresource !== "") throw notFound(scope.definition, scope.name);
  return storeNew(scope, parseJson(text) as KubeObject, options, { authorize: requireCreate });
}

/** Undefined when there is no such object. */
export async function updateObject(scope: Scope, update: Update): Promise<Answer | undefined> {
  const { definition, services } = scope;
  let dryObject: KubeObject | undefined;
  /** The last state of an object that went with this update. */
  let removed: KubeObject | undefined;
  let reservation: Reservation | undefined;
  try {
    const result = await services.storage.update(
      storageOf(definition),
      scopeNamespace(scope),
      scope.name,
      async (stored) => {
        reservation?.release();
        reservation = undefined;
        const current = await shownEntry(definition, stored, scope.call);
        const made = await makeNext(scope, update, current);
        if (definition.reserve) await services.cache.caughtUp(scope.call);
        reservation = definition.reserve?.(made, objectOf(definition, current));
        const change = await changeTo(scope, made);
        removed = change.do === "delete" ? made : undefined;
        if (!scope.dryRun) return change;
        dryObject = made;
        return { do: "nothing" };
      },
      scope.call,
    );
    if (!result) return undefined;
    const last = dryObject ?? removed;
    if (last) return objectAnswer(scope, () => last, undefined, 200);
    return await writtenAnswer(scope, result.entry, 200);
  } finally {
    reservation?.release();
  }
}

/** An object that is being deleted goes when the last that holds it lets go. */
async function changeTo({ definition, call }: Scope, object: KubeObject): Promise<Change> {
  const { metadata } = object;
  if (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers?.length ?? 0) === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    !definition.isHeld?.(object)
  )
    return { do: "delete" };
  return { do: "put", object: await toStored(definition, object, call) };
}

async function makeNext(scope: Scope, update: Update, current: Entry): Promise<KubeObject> {
  const { definition, subresource } = scope;
  const previous = objectOf(definition, current);
  let next = await update.next(copyOf(definition, current));
  beginUpdate(scope, next, previous);
  definition.defaults?.(next);
  const context = { user: scope.user, now: scope.services.clock.now() };
  const part = subresource === "" || subresource === "status" ? undefined : definition.parts?.[subresource];
  if (part) next = part.prepare(next, copyOf(definition, current), context);
  else if (subresource === "status") {
    next = statusUpdate(definition, next, copyOf(definition, current));
    definition.prepareStatus?.(next, previous);
  } else keepStatus(definition, next, previous);
  (update.track ?? trackUpdate)(scope, next, previous);
  const admitted = { operation: "UPDATE" as const, object: next, oldObject: previous, options: update.options };
  await mutate(scope, admitted);
  if (part) {
    countGeneration(definition, next, previous);
    checkUpdate(scope, next, previous, () => part.validate?.(next, previous) ?? []);
  } else if (subresource === "status") {
    checkUpdate(scope, next, previous, () => definition.validateStatus?.(next, previous) ?? []);
  } else {
    finishUpdate(scope, next, previous);
    await checkLater(scope, next, previous);
  }
  await validate(scope, admitted);
  return next;
}

/** Of a status update only status counts, and for most kinds labels and annotations. */
function statusUpdate(definition: ResourceDefinition, next: KubeObject, previous: KubeObject): KubeObject {
  const metadata = { ...previous.metadata };
  if (!definition.statusOnly) {
    for (const field of ["labels", "annotations", "finalizers"] as const) {
      if (next.metadata[field] === undefined) delete metadata[field];
      else Object.assign(metadata, { [field]: next.metadata[field] });
    }
  }
  if (next.metadata.managedFields) metadata.managedFields = next.metadata.managedFields;
  const merged: KubeObject = { ...previous, metadata };
  if (next.status === undefined) delete merged.status;
  else merged.status = next.status;
  return merged;
}
