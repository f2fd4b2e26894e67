// GET of a collection: whole, in pages of one snapshot, as objects, metadata or a Table.

import { checkListOptions } from "../check-options.ts";
import type { KubeObject, ListMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { groupVersion, listKindOf, storageOf } from "../../resources/definition.ts";
import type { Entry } from "../../storage/entry.ts";
import { localKey } from "../../storage/keys.ts";
import { firstAtOrAfter, inNamespace } from "../../storage/resource-cache.ts";
import { type Answer, bytesAnswer } from "../../machinery/answer.ts";
import { isPretty, typeOf, valueAnswer } from "../forms.ts";
import { type Wanted, wantedForm } from "../media-type.ts";
import { objectOf, type Scope, shownEntries } from "../scope.ts";
import { selectionOf } from "../selection.ts";
import { type Snapshot, snapshotFor } from "../snapshots.ts";
import { badRequest } from "../../machinery/status.ts";
import { includedObject, partialMetadata, tableOf } from "../table.ts";
import { notOlderThan, scopeNamespace } from "./get.ts";
import { spliceList, spliceMetadata, spliceTable } from "./list-bytes.ts";

export interface Page {
  readonly entries: readonly Entry[];
  readonly metadata: ListMeta;
}

export async function listObjects(scope: Scope): Promise<Answer> {
  const wanted = wantedForm(scope.request.headers.get("accept"));
  const page = await pageOf(scope);
  const { definition } = scope;
  scope.reserve(page.entries.reduce((sum, { value }) => sum + value.length, 0));
  if (wanted.encoding === "json" && !definition.fromStored && !isPretty(scope)) {
    if (wanted.as === undefined) return bytesAnswer(spliceList(definition, page));
    if (wanted.as === "Table") return bytesAnswer(spliceTable(scope, wanted, page), 200, typeOf(wanted));
    return bytesAnswer(spliceMetadata(wanted, page), 200, typeOf(wanted));
  }
  const objects = page.entries.map((entry) => objectOf(definition, entry));
  return valueAnswer(scope, wanted, listInForm(scope, wanted, objects, page.metadata));
}

function listInForm(scope: Scope, wanted: Wanted, objects: KubeObject[], metadata: ListMeta): unknown {
  const { definition } = scope;
  if (wanted.as === "Table")
    return tableOf(definition, objects, metadata, {
      now: scope.services.clock.now(),
      include: includedObject(scope.request.query.get("includeObject")),
      version: wanted.version,
    });
  if (wanted.as !== undefined)
    return {
      kind: "PartialObjectMetadataList",
      apiVersion: `meta.k8s.io/${wanted.version}`,
      metadata,
      items: objects.map((object) => partialMetadata(object, wanted.version)),
    };
  const items = definition.isCustom ? objects : objects.map(({ kind: _kind, apiVersion: _version, ...item }) => item);
  return { kind: listKindOf(definition), apiVersion: groupVersion(definition), metadata, items };
}

/** The page that limit and continue ask for, or everything. */
export async function pageOf(scope: Scope): Promise<Page> {
  const { query } = scope.request;
  const limit = numberOf(query.get("limit"));
  const token = query.get("continue") ?? "";
  const snapshot = await snapshotOf(scope, token);
  const selection = selectionOf(scope);
  const { definition, call } = scope;
  const stored = candidates(scope, snapshot.entries, selection.name);
  // A selector must see what the client would see; without one, what is not on the page need not be converted.
  const all = selection.matches && definition.conversion ? await shownEntries(definition, stored, call) : stored;
  const from = snapshot.after === "" ? 0 : firstAtOrAfter(all, `${snapshot.after}\0`);
  const entries: Entry[] = [];
  let index = from;
  if (!selection.matches && limit === 0 && from === 0)
    return {
      entries: await shownEntries(definition, all, call),
      metadata: { resourceVersion: String(snapshot.revision) },
    };
  for (; index < all.length; index++) {
    const entry = all[index] as Entry;
    if (selection.matches && !selection.matches(entry)) continue;
    if (limit > 0 && entries.length === limit) break;
    entries.push(entry);
  }
  const metadata: ListMeta = { resourceVersion: String(snapshot.revision) };
  if (index < all.length) {
    const last = entries.at(-1) as Entry;
    metadata.continue = snapshot.tokenAfter(last.key);
    if (!selection.matches) metadata.remainingItemCount = all.length - index;
  }
  return { entries: all === stored ? await shownEntries(definition, entries, call) : entries, metadata };
}

/** The entries that may be selected: one, where its name is asked for. */
function candidates(scope: Scope, sorted: readonly Entry[], name: string | undefined): readonly Entry[] {
  const namespace = scopeNamespace(scope);
  if (name === undefined || (namespace === "" && scope.definition.namespaced)) return inNamespace(sorted, namespace);
  const found = sorted[firstAtOrAfter(sorted, localKey(namespace, name))];
  return found?.key === localKey(namespace, name) ? [found] : [];
}

async function snapshotOf(scope: Scope, token: string): Promise<Snapshot> {
  const { query } = scope.request;
  const asked = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  checkListOptions(query, false);
  numberOf(query.get("timeoutSeconds"));
  if (token !== "") {
    if (asked !== "" && asked !== "0")
      throw badRequest("specifying resource version is not allowed when using continue");
    return snapshotFor(scope, { token });
  }
  if (asked === "") await scope.services.cache.caughtUp(scope.call);
  if (asked !== "" && asked !== "0") {
    const revision = await notOlderThan(scope, asked);
    const isExact = match === "Exact" || (match === "" && query.get("limit") !== null && query.get("limit") !== "0");
    if (isExact) return snapshotFor(scope, { exact: revision });
  }
  return snapshotFor(scope, {});
}

export function numberOf(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^-?\d{1,15}$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 50))}: invalid syntax`);
  return Math.max(0, Number(text));
}

export function cacheOf(scope: Scope) {
  return scope.services.cache.cache(storageOf(scope.definition));
}
