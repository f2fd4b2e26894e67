// What `kubectl apply` noted in an annotation before it began to apply on the server: as long as the note is there, kubectl may
// change what it wrote that way, and the note follows what it applies. Other appliers are not concerned.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import { compare, fieldsIn, isObject } from "./compare.ts";
import { PathSet } from "./path-set.ts";
import type { Shape } from "../../resources/shape.ts";
import { ownable } from "./ownable.ts";
import { parseJson } from "../../../plugins/kit/base/exact-json.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";
/** The name under which kubectl applies on the server, unless it is told another. */
const kubectl = "kubectl";
/** The most that all annotations of an object may hold. */
const mostBytes = 256 * 1024;

/** The fields that are still as kubectl noted them, and that it may therefore change whoever owns them. */
export function notedFields(manager: string, live: KubeObject, definition: ResourceDefinition, shape: Shape): PathSet {
  const noted = manager === kubectl ? readNote(live.metadata.annotations?.[annotation]) : undefined;
  if (noted?.apiVersion !== groupVersion(definition)) return new PathSet();
  const { changed, removed } = compare(ownable(noted), ownable(live), shape);
  return fieldsIn(ownable(noted), shape).minus(changed).minus(removed);
}

/** What the note is to say when kubectl applies this object: to be asked before anything is filled in. */
export function noteFor(manager: string, applied: KubeObject): string | undefined {
  return manager === kubectl ? noteOf(applied) : undefined;
}

/** Renews the note of an object that has one; a note that would not fit is left out. */
export function renewNote({ metadata: { annotations } }: KubeObject, note: string | undefined): void {
  if (note === undefined || !annotations?.[annotation]) return;
  annotations[annotation] = note;
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + key.length + Buffer.byteLength(value),
    0,
  );
  if (bytes > mostBytes) delete annotations[annotation];
}

function readNote(text: string | undefined): KubeObject | undefined {
  if (!text) return undefined;
  try {
    const value: unknown = parseJson(text);
    return isObject(value) && isObject(value["metadata"]) ? (value as unknown as KubeObject) : undefined;
  } catch {
    return undefined; // anyone may write the annotation; one that cannot be read says nothing
  }
}

/** As kubectl writes it itself: keys in order, `<`, `>` and `&` escaped, a line end after it. */
function noteOf(applied: KubeObject): string {
  const { annotations } = applied.metadata;
  const { [annotation]: _note, ...rest } = annotations ?? {};
  const metadata = annotations ? { ...applied.metadata, annotations: rest } : applied.metadata;
  const text = JSON.stringify(inOrder({ ...applied, metadata }));
  return `${text.replace(/[<>&\u2028\u2029]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inOrder(value[key])]),
  );
}
