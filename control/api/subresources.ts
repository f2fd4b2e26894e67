// Requests below an object: its status and other parts, its scale, and what others plugged in (bindings, evictions, logs …).

import type { ResourceDefinition } from "../resources/definition.ts";
import type { Answer } from "./answer.ts";
import type { ResourcePath } from "./path.ts";
import { answerScale } from "./scale.ts";
import type { Scope } from "./scope.ts";
import { methodNotAllowed, unknownPath } from "./status.ts";
import { getObject } from "./verbs/get.ts";
import { patchObject } from "./verbs/patch.ts";
import { replaceObject } from "./verbs/update.ts";

/** A subresource of its own kind. Verbs are those of the API, such as `create` or `get`; a method that is none of them is "". */
export interface SubresourceHandler {
  readonly verbs: readonly string[];
  /** As discovery shows it, where it is not the resource's own kind. */
  readonly shows?: { group: string; version: string; kind: string };
  answer(verb: string, path: ResourcePath, scope: Scope): Promise<Answer>;
}

export async function answerSubresource(verb: string, path: ResourcePath, scope: Scope): Promise<Answer> {
  const { definition, subresource } = scope;
  const own = scope.services.subresources.get(subresourceId(definition, subresource));
  if (own) {
    if (verb !== "" && !own.verbs.includes(verb)) throw methodNotAllowed();
    return own.answer(verb, path, scope);
  }
  if (path.rest !== "") throw unknownPath();
  if (subresource === "scale" && definition.scale) return answerScale(verb, scope);
  const part = definition.parts?.[subresource];
  const allowed = subresource === "status" && definition.hasStatus ? ["get", "update", "patch"] : part?.verbs;
  if (!allowed) throw unknownPath();
  if (!(allowed as readonly string[]).includes(verb)) throw methodNotAllowed();
  if (verb === "get") return getObject(scope);
  return verb === "update" ? replaceObject(scope) : patchObject(scope);
}

function subresourceId(definition: Pick<ResourceDefinition, "group" | "plural">, subresource: string): string {
  return `${definition.group}/${definition.plural}/${subresource}`;
}
