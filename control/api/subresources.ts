// Requests below an object: its status and other parts, its scale, and what others plugged in (bindings, evictions, logs …).

import type { ResourceDefinition } from "../resources/definition.ts";
import type { Answer } from "../machinery/answer.ts";
import type { ResourcePath } from "./path.ts";
import { nameProblem } from "./request-attributes.ts";
import { answerScale } from "./scale.ts";
import type { Scope } from "./scope.ts";
import { badRequest, methodNotAllowed, unknownPath } from "../machinery/status.ts";
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
  // Only a proxy has paths below it.
  if (subresource !== "proxy" && !/^\/*$/.test(path.rest)) throw unknownPath();
  const own = scope.services.subresources.get(subresourceId(definition, subresource));
  const isScale = subresource === "scale" && definition.scale !== undefined;
  const allowed = own?.verbs ?? (isScale ? written : partVerbs(definition, subresource));
  if (!allowed) throw unknownPath();
  // What stands behind a proxy may be asked with any method. Without a name the verb is that of a collection.
  const isServed = scope.request.method !== "HEAD" && allowed.includes(collectionVerbs[verb] ?? verb);
  if (subresource !== "proxy" && !isServed) throw methodNotAllowed();
  requireNames(path, scope);
  if (own) return own.answer(verb, path, scope);
  if (isScale) return answerScale(verb, scope);
  if (verb === "get") return getObject(scope);
  return verb === "update" ? replaceObject(scope) : patchObject(scope);
}

const collectionVerbs: Readonly<Record<string, string>> = { list: "get", watch: "get", deletecollection: "delete" };
const written: readonly string[] = ["get", "update", "patch"];

function partVerbs(definition: ResourceDefinition, subresource: string): readonly string[] | undefined {
  return subresource === "status" && definition.hasStatus ? written : definition.parts?.[subresource]?.verbs;
}

/** 400 for a path that has the form of a route and leaves out, or misuses, a name in it. */
export function requireNames({ inNamespace }: ResourcePath, scope: Scope): void {
  const { definition, namespace, name, subresource, request } = scope;
  if (subresource !== "" && name === "") throw badRequest("name must be provided");
  const problem = nameProblem(name);
  if (problem !== undefined) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problem}`);
  const isOfAll = definition.namespaced && inNamespace && namespace === "";
  if (isOfAll && (name !== "" || request.method !== "GET")) throw badRequest("Namespace parameter required.");
}

function subresourceId(definition: Pick<ResourceDefinition, "group" | "plural">, subresource: string): string {
  return `${definition.group}/${definition.plural}/${subresource}`;
}
