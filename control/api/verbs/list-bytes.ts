// Lists, tables and metadata of many objects, put together from the bytes that are kept of each rather than written anew.

import { groupVersion, listKindOf, type ResourceDefinition } from "../../resources/definition.ts";
import { revisionField } from "../../storage/encoding.ts";
import type { Entry } from "../../storage/entry.ts";
import { cellsText } from "../kept-row.ts";
import type { Wanted } from "../media-type.ts";
import { Pieces } from "../pieces.ts";
import type { Scope } from "../scope.ts";
import { includedObject, tableOf } from "../table.ts";
import type { Page } from "./list.ts";

/** One buffer, filled with the bytes that are kept anyway. The kind of the items is that of the list, but custom ones say it. */
export function spliceList(definition: ResourceDefinition, page: Page): Buffer {
  const { isCustom } = definition;
  const kind = listKindOf(definition);
  const apiVersion = groupVersion(definition);
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(page.metadata)},"items":[`;
  let length = Buffer.byteLength(head) + 3 + page.entries.length;
  for (const entry of page.entries) length += entry.wireLength;
  const target = Buffer.allocUnsafe(length);
  let at = target.write(head, 0);
  let isFirst = true;
  for (const entry of page.entries) {
    if (!isFirst) target[at++] = 0x2c;
    isFirst = false;
    at = isCustom ? entry.writeTo(target, at) : entry.writeItemTo(target, at);
  }
  at += target.write("]}\n", at, "latin1");
  return target.subarray(0, at);
}

/** What the rows carry is cut from the bytes that are kept, not written again. */
export function spliceTable(scope: Scope, wanted: Wanted, page: Page): Buffer[] {
  const { definition } = scope;
  const now = scope.services.clock.now();
  const include = includedObject(scope.request.query.get("includeObject"));
  const head = JSON.stringify(tableOf(definition, [], page.metadata, { now, include, version: wanted.version }));
  const pieces = new Pieces();
  // The head ends in `"rows":[]}`.
  pieces.text(head.slice(0, -2));
  let separator = "";
  for (const entry of page.entries) {
    pieces.text(`${separator}{"cells":${cellsText(definition, entry, now)}`);
    separator = ",";
    if (include !== "None") pieces.text(',"object":');
    if (include === "Metadata") writeMetadata(pieces, entry, wanted.version);
    else if (include === "Object") writeWhole(pieces, entry);
    pieces.text("}");
  }
  pieces.text("]}\n");
  return pieces.parts();
}

export function spliceMetadata({ version }: Wanted, page: Page): Buffer[] {
  const pieces = new Pieces();
  const metadata = JSON.stringify(page.metadata);
  pieces.text(
    `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/${version}","metadata":${metadata},"items":[`,
  );
  let isFirst = true;
  for (const entry of page.entries) {
    if (!isFirst) pieces.text(",");
    isFirst = false;
    writeMetadata(pieces, entry, version);
  }
  pieces.text("]}\n");
  return pieces.parts();
}

function writeMetadata(pieces: Pieces, entry: Entry, version: string): void {
  pieces.text(
    `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":{${revisionField(entry.revision)}`,
  );
  const { from, to } = entry.metadataRange();
  pieces.bytes(entry.value, from, to);
  pieces.text("}");
}

function writeWhole(pieces: Pieces, entry: Entry): void {
  const { from } = entry.metadataRange();
  pieces.bytes(entry.value, 0, from);
  pieces.text(revisionField(entry.revision));
  pieces.bytes(entry.value, from, entry.value.length);
}
