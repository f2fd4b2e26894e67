// DELETE of a collection: each selected object is deleted by itself, a few at a time.

import { type Answer, jsonAnswer } from "../../machinery/answer.ts";
import { groupVersion, listKindOf } from "../../resources/definition.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { deleteOptions } from "../options.ts";
import { objectOf, type Scope, shownEntry } from "../scope.ts";
import { methodNotAllowed } from "../../machinery/status.ts";
import { removeEntry } from "./delete.ts";
import { pageOf } from "./list.ts";

const atOnce = 32;

export async function deleteCollection(scope: Scope): Promise<Answer> {
  // Never of all namespaces at once.
  if (scope.definition.namespaced && scope.namespace === "") throw methodNotAllowed();
  const options = await deleteOptions(scope.request);
  const { entries, metadata } = await pageOf(scope);
  const { definition } = scope;
  const items: KubeObject[] = Array.from({ length: entries.length });
  let next = 0;
  const work = async () => {
    while (next < entries.length) {
      const index = next++;
      const entry = entries[index];
      if (!entry) return;
      const one: Scope = {
        ...scope,
        name: entry.name,
        namespace: entry.namespace,
        dryRun: options.dryRun,
      };
      try {
        const outcome = await removeEntry(one, options);
        items[index] = objectOf(definition, outcome ? await shownEntry(definition, outcome.entry, scope.call) : entry);
      } catch (error) {
        // Someone else deleted it first: that is what was wanted.
        if (!isFault(error, "not-found")) throw error;
        items[index] = objectOf(definition, entry);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, entries.length) }, work));
  return jsonAnswer({ kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata, items });
}
