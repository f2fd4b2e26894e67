// GET of one object.

import { storageOf } from "../../resources/definition.ts";
import { localKey } from "../../storage/keys.ts";
import type { Entry } from "../../storage/entry.ts";
import type { Answer } from "../../machinery/answer.ts";
import { objectAnswer } from "../forms.ts";
import { objectOf, type Scope, shownEntry } from "../scope.ts";
import { badRequest, notFound, tooLargeVersion } from "../../machinery/status.ts";

/** How long a version that is not there yet is waited for. */
const patienceMs = 3000;

export async function getObject(scope: Scope): Promise<Answer> {
  const entry = await findEntry(scope);
  return entryAnswer(scope, entry, 200);
}

/** The entry that the request names, as its version shows it. Never older than a write that was answered before, unless that is asked for. */
export async function findEntry(scope: Scope): Promise<Entry> {
  const { definition, services } = scope;
  const asked = scope.request.method === "GET" ? scope.request.query.get("resourceVersion") : null;
  if (asked === null || asked === "") await services.cache.caughtUp(scope.call);
  else await notOlderThan(scope, asked);
  const entry = services.cache.cache(storageOf(definition)).get(localKey(scopeNamespace(scope), scope.name));
  if (!entry) throw notFound(definition, scope.name);
  return definition.conversion ? shownEntry(definition, entry, scope.call) : entry;
}

/** Where the object lives: cluster-wide ones have no namespace, whatever the path says. */
export function scopeNamespace(scope: Scope): string {
  return scope.definition.namespaced ? scope.namespace : "";
}

export async function notOlderThan(scope: Scope, resourceVersion: string): Promise<number> {
  if (!/^\d{1,15}$/.test(resourceVersion))
    throw badRequest(`Invalid value: ${JSON.stringify(resourceVersion)}: resource version must be a number`);
  const revision = Number(resourceVersion);
  const { cache } = scope.services;
  if (revision <= cache.revision) return revision;
  await cache.caughtUp(scope.call);
  if (revision <= cache.revision) return revision;
  // Another server may have told it to the client a moment before we hear of it.
  const over = new AbortController();
  const waiting = { signal: AbortSignal.any([scope.call.signal, over.signal]) };
  const isHere = await Promise.race([
    cache.reached(revision, waiting).then(() => true),
    scope.services.clock.sleep(patienceMs, waiting).then(() => false),
  ]);
  over.abort();
  if (!isHere) throw tooLargeVersion(revision, cache.revision);
  return revision;
}

/** For an entry that was just written. */
export async function writtenAnswer(scope: Scope, entry: Entry, status: number): Promise<Answer> {
  return entryAnswer(scope, await shownEntry(scope.definition, entry, scope.call), status);
}

function entryAnswer(scope: Scope, entry: Entry, status: number): Answer {
  const { definition } = scope;
  return objectAnswer(
    scope,
    () => objectOf(definition, entry),
    definition.fromStored ? undefined : entry.wire(),
    status,
  );
}
