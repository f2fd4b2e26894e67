// POST: a new object.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { storageOf } from "../../resources/definition.ts";
import { localKey } from "../../storage/keys.ts";
import { mutate, validate } from "../admit.ts";
import type { Answer } from "../../machinery/answer.ts";
import { trackCreate } from "../apply/track.ts";
import { asObject, decodeBody } from "../body.ts";
import { checkFields } from "../field-validation.ts";
import { objectAnswer } from "../forms.ts";
import { homeOf, requireHome } from "../home.ts";
import { isLarge, largeBodies } from "../large-bodies.ts";
import { beginCreate, checkLater, claimKind, claimNamespace, finishCreate } from "../lifecycle.ts";
import { writeOptions } from "../options.ts";
import { isServed, type Scope, toStored } from "../scope.ts";
import { alreadyExists, badRequest, invalidObject, methodNotAllowed } from "../../machinery/status.ts";
import { writtenAnswer } from "./get.ts";
import { invalid } from "../../machinery/field-error.ts";
import { generateName } from "../name.ts";
import { jsonBounds } from "../schema/json-bounds.ts";

/** A generated name that is taken is tried again with another, so often. */
const nameAttempts = 8;

export async function createObject(scope: Scope): Promise<Answer> {
  if (scope.definition.namespaced && scope.namespace === "") throw methodNotAllowed();
  const options = writeOptions(scope, "CreateOptions");
  const body = await scope.request.body(jsonBounds());
  const decoded = decodeBody(body, scope.request.headers.get("content-type"), scope.definition.kind);
  const object = asObject(decoded.value, scope.definition);
  claimKind(object, scope.definition, isServed(scope));
  if (isLarge(body)) await largeBodies.take();
  checkFields(scope, object, decoded);
  if (isLarge(body)) await largeBodies.take();
  return storeNew(scope, object, options);
}

export interface Creation {
  /** Records who owns which fields; what a plain write does when absent. */
  readonly track?: (scope: Scope, object: KubeObject) => void;
  /** Asked before the validating admission, where the request was not authorized to create: throws to refuse. */
  readonly authorize?: (scope: Scope) => Promise<void>;
}

/** Takes a decoded object of the right kind through defaults, admission and checks into the store. */
export async function storeNew(
  scope: Scope,
  object: KubeObject,
  options: KubeObject,
  { track = trackCreate, authorize }: Creation = {},
): Promise<Answer> {
  const { definition, services } = scope;
  claimNamespace(object, scope);
  const homeBefore = homeOf(scope);
  definition.defaults?.(object);
  beginCreate(scope, object);
  track(scope, object);
  const admitted = { operation: "CREATE" as const, object, options };
  await mutate(scope, admitted);
  finishCreate(scope, object);
  await checkLater(scope, object);
  await authorize?.(scope);
  await validate(scope, admitted);
  // Last: who may not create such an object is told that first.
  if (object.metadata.resourceVersion && !scope.dryRun)
    throw badRequest("resourceVersion should not be set on objects to be created");
  const ref = storageOf(definition);
  // What is given out once must not have been given out by another server already.
  if (definition.reserve) await services.cache.caughtUp(scope.call);
  const isGenerated =
    Boolean(object.metadata.generateName) && object.metadata.name?.startsWith(object.metadata.generateName ?? "");
  for (let attempt = 1; ; attempt++) {
    const name = object.metadata.name ?? "";
    const reservation = definition.reserve?.(object, undefined);
    let lostTo: "name" | "claim" | "namespace";
    try {
      if (scope.dryRun) {
        reservation?.release();
        if (services.cache.cache(ref).get(localKey(object.metadata.namespace ?? "", name)))
          throw alreadyExists(definition, name);
        return objectAnswer(scope, () => object, undefined, 201);
      }
      const stored = await toStored(definition, object, scope.call);
      const home = requireHome(scope, object, homeBefore);
      const namespace = object.metadata.namespace ?? "";
      const result = await services.storage.create(ref, namespace, name, stored, scope.call, home);
      if (result.ok) {
        reservation?.release();
        return await writtenAnswer(scope, result.entry, 201);
      }
      ({ lostTo } = result);
    } catch (error) {
      reservation?.undo();
      throw error;
    }
    reservation?.undo();
    if (lostTo !== "name") {
      // What another server did in the same instant shows here now: it is tried with what is left, or refused.
      await services.cache.caughtUp(scope.call);
      continue;
    }
    if (!isGenerated || attempt === nameAttempts) throw alreadyExists(definition, name);
    object.metadata.name = generateName(object.metadata.generateName ?? "");
  }
}

/** The body of a subresource that is created on an object must name it, or no one. */
export function requireSameName(scope: Scope, object: KubeObject): void {
  if (object.metadata.name && object.metadata.name !== scope.name)
    throw invalidObject(scope.definition, scope.name, [
      invalid("metadata.name", object.metadata.name, "name must match the one on the URL"),
    ]);
}
