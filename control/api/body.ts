// Decodes request bodies: JSON, YAML and, for built-in kinds, protobuf; bounded in size, depth and aliases.

import { isFault } from "../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { decodeProtobuf, protobufType } from "./protobuf/decode.ts";
import { parseMediaType } from "./media-type.ts";
import { beginsAsJson, boundJson } from "./schema/json-bounds.ts";
import { jsonProblem } from "./schema/json-syntax.ts";
import { badRequest, tooLarge, unsupportedMediaType } from "../machinery/status.ts";
import { mostOperations } from "../../plugins/kit/kube/patch/json-patch.ts";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import { parseJson } from "../../plugins/kit/base/exact-json.ts";

const shownBytes = 30;
const acceptedTypes = ["application/json", "application/yaml", protobufType];

export interface Decoded {
  readonly value: unknown;
  /** Keys that stood twice in one object, as paths; only searched for on demand. */
  readonly text: string;
  readonly isYaml: boolean;
  /** The first key of a YAML document that stands twice in one mapping. */
  readonly duplicate?: string;
}

/** The kind is that of the objects that are taken here: what cannot be read is told not to be one. */
export function decodeBody(body: Uint8Array, contentType: string | null, kind: string): Decoded {
  const type = contentType === null || contentType === "" ? "application/json" : parseMediaType(contentType).type;
  if (type === protobufType) return readProtobuf(body);
  const isYaml = type === "application/yaml" || type === "application/x-yaml" || type === "text/yaml";
  if (!isYaml && type !== "application/json") throw unsupportedMediaType(acceptedTypes);
  const decoded = isYaml ? readYamlOf(body) : readJson(body);
  if ("problem" in decoded)
    throw unrecognized(
      kind,
      isYaml ? decoded.problem : `couldn't get version/kind; json parse error: ${decoded.problem}`,
      body,
    );
  const { value } = decoded;
  const unread = unreadType(value);
  if (unread !== undefined && !isYaml)
    throw unrecognized(kind, `couldn't get version/kind; json parse error: json: cannot unmarshal ${unread}`, body);
  return decoded;
}

/** What Go says of a document in which it cannot find a kind and a version. */
function unreadType(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value))
    return `${jsonKind(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
  const { apiVersion, kind } = value as Record<string, unknown>;
  for (const [name, said] of Object.entries({ apiVersion, kind }))
    if (said !== undefined && said !== null && typeof said !== "string")
      return `${jsonKind(said)} into Go struct field .${name} of type string`;
  return undefined;
}

function readProtobuf(body: Uint8Array): Decoded {
  try {
    return { value: decodeProtobuf(body), text: "", isYaml: false };
  } catch (error) {
    if (isFault(error, "unsupported")) throw unsupportedMediaType(acceptedTypes);
    if (isFault(error, "invalid")) throw badRequest(error.message);
    throw error;
  }
}

/** What stands in a patch. */
export function decodePatch(body: Uint8Array, type: "json" | "merge" | "strategic"): Decoded {
  const decoded = readJson(body);
  const before = type === "strategic" ? "" : "error decoding patch: ";
  if ("problem" in decoded) throw badRequest(`${before}${decoded.problem}`);
  const { value } = decoded;
  if (Array.isArray(value) !== (type === "json") || typeof value !== "object" || value === null) {
    const wanted = type === "json" ? "[]handlers.jsonPatchOp" : "map[string]interface {}";
    throw badRequest(`${before}json: cannot unmarshal ${jsonKind(value)} into Go value of type ${wanted}`);
  }
  if (Array.isArray(value) && value.length > mostOperations)
    throw tooLarge(
      `Request entity too large: The allowed maximum operations in a JSON patch is ${mostOperations}, got ${value.length}`,
    );
  return decoded;
}

const jsonKind = (value: unknown): string =>
  Array.isArray(value)
    ? "array"
    : typeof value === "boolean"
      ? "bool"
      : typeof value === "bigint"
        ? "number"
        : typeof value;

export function decodeYaml(body: Uint8Array): Decoded {
  const decoded = readYamlOf(body);
  if ("problem" in decoded) throw badRequest(decoded.problem);
  const { value } = decoded;
  if (typeof value !== "object" || Array.isArray(value))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`,
    );
  return decoded;
}

/** `problem`: why it cannot be read. */
type Read = Decoded | { readonly problem: string };

function readJson(body: Uint8Array): Read {
  boundJson(body);
  const text = textOf(body);
  try {
    return { value: parseJson(text), text, isYaml: false };
  } catch {
    return { problem: `${jsonProblem(text)}` };
  }
}

function readYamlOf(body: Uint8Array): Read {
  // JSON is YAML, and is much quicker read as what it is.
  const json = beginsAsJson(body) ? readJson(body) : undefined;
  if (json && !("problem" in json)) return json;
  const text = textOf(body);
  try {
    let duplicate: string | undefined;
    const value = readYaml(text, "the request body", (what) => {
      duplicate = what;
    });
    return { value, text, isYaml: true, ...(duplicate === undefined ? {} : { duplicate }) };
  } catch (error) {
    if (isFault(error, "invalid")) return { problem: `error converting YAML to JSON: ${error.message}` };
    throw error;
  }
}

/** Shows how the body begins: as text where it looks like JSON, else in hexadecimal digits. */
function unrecognized(kind: string, why: string, body: Uint8Array) {
  const start = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, shownBytes));
  const more = body.byteLength > shownBytes ? " ..." : "";
  const shown = body.byteLength === 0 ? "<empty>" : start.toString(start[0] === 0x7b ? "utf8" : "hex") + more;
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${shown})`);
}

/** Checks that the value is an object with string kind and apiVersion where they are given, and metadata that is an object. */
export function asObject(value: unknown, definition?: { kind: string; version: string }): KubeObject {
  // Nothing at all is an object that says nothing.
  if (value === null && definition) return { metadata: {} } as KubeObject;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("the object provided is unrecognized (must be of type object with a kind and an apiVersion)");
  const object = value as KubeObject;
  for (const field of ["kind", "apiVersion"] as const)
    if (object[field] !== undefined && typeof object[field] !== "string")
      throw badRequest(`json: cannot unmarshal ${typeof object[field]} into field ${field} of type string`);
  const { metadata } = object as { metadata?: unknown };
  if (metadata === undefined || metadata === null) object.metadata = {};
  else if (typeof metadata !== "object" || Array.isArray(metadata))
    throw badRequest(unreadMetadata(object, metadata, definition));
  return object;
}

function unreadMetadata(
  object: { kind?: string; apiVersion?: string },
  metadata: unknown,
  definition: { kind: string; version: string } | undefined,
): string {
  const { kind = definition?.kind ?? "", apiVersion = definition?.version ?? "" } = object;
  const found = jsonKind(metadata);
  const version = JSON.stringify(apiVersion.split("/").at(-1));
  return `${kind} in version ${version} cannot be handled as a ${kind}: json: cannot unmarshal ${found} into Go struct field ${kind}.metadata of type v1.ObjectMeta`;
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}
