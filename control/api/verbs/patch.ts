// PATCH: JSON patch, merge patch, strategic merge patch and server-side apply.

import { forceErrors, invalidOptions } from "../check-options.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { applyJsonPatch } from "../../../plugins/kit/kube/patch/json-patch.ts";
import { applyMergePatch } from "../../../plugins/kit/kube/patch/merge-patch.ts";
import { applyStrategicPatch } from "../../../plugins/kit/kube/patch/strategic-patch.ts";
import { groupVersion } from "../../resources/definition.ts";
import { invalid } from "../../machinery/field-error.ts";
import type { Answer } from "../../machinery/answer.ts";
import { applyObject } from "../apply/apply.ts";
import { asObject, type Decoded, decodePatch } from "../body.ts";
import { checkPatched } from "../field-validation.ts";
import { claimKind, claimNamespace } from "../lifecycle.ts";
import { parseMediaType } from "../media-type.ts";
import { claimName } from "../name.ts";
import { writeOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { failure, invalidObject, notFound } from "../../machinery/status.ts";
import { updateObject } from "./update.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { jsonBounds } from "../schema/json-bounds.ts";

interface PatchType {
  readonly type: "json" | "merge" | "strategic";
  apply(document: KubeObject, patch: unknown, scope: Scope): unknown;
}

const patchTypes: Record<string, PatchType> = {
  "application/json-patch+json": { type: "json", apply: (document, patch) => applyJsonPatch(document, patch) },
  "application/merge-patch+json": { type: "merge", apply: (document, patch) => applyMergePatch(document, patch) },
  "application/strategic-merge-patch+json": {
    type: "strategic",
    apply: (document, patch, { definition }) =>
      applyStrategicPatch(document, patch, `${groupVersion(definition)}/${definition.kind}`),
  },
};

export async function patchObject(scope: Scope): Promise<Answer> {
  const type = parseMediaType(scope.request.headers.get("content-type") ?? "").type;
  if (type === "application/apply-patch+yaml" || type === "application/apply-patch+json") return applyObject(scope);
  const patchType = Object.hasOwn(patchTypes, type) ? patchTypes[type] : undefined;
  if (!patchType || (scope.definition.isCustom && type === "application/strategic-merge-patch+json"))
    throw new Fault("unsupported", "415: Unsupported Media Type", {
      details: failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {}),
    });
  const options = writeOptions(scope, "PatchOptions");
  const errors = forceErrors(scope.request.query);
  if (errors.length > 0) throw invalidOptions("PatchOptions", errors);
  const patch = decodePatch(await scope.request.body(jsonBounds()), patchType.type);
  const answer = await updateObject(scope, {
    options,
    next: (previous) => patched(scope, previous, patch, patchType),
  });
  if (!answer) throw notFound(scope.definition, scope.name);
  return answer;
}

function patched(scope: Scope, previous: KubeObject, patch: Decoded, { type, apply }: PatchType): KubeObject {
  let next: unknown;
  try {
    next = apply(previous, patch.value, scope);
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    // Which operation of a JSON patch failed, and why, upstream keeps to itself.
    const message = type === "json" ? "the server rejected our request due to an error in our request" : error.message;
    throw new Fault("invalid", error.message, { details: failure(422, "Invalid", message, {}) });
  }
  const object = asObject(next);
  claimKind(object, scope.definition);
  claimName(object, scope.name);
  claimNamespace(object, scope);
  const { uid } = object.metadata;
  if (uid && uid !== previous.metadata.uid)
    throw invalidObject(scope.definition, scope.name, [invalid("metadata.uid", uid, "field is immutable")]);
  checkPatched(scope, object, { ...patch, type, result: () => apply(previous, patch.value, scope) });
  return object;
}
