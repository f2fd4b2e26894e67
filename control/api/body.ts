// Decodes request bodies: JSON, YAML and, for built-in kinds, protobuf; bounded in size, depth and aliases.

import { isFault } from "../../plugins/kit/fault.ts";
import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { decodeProtobuf, protobufType } from "./protobuf/decode.ts";
import { parseMediaType } from "./media-type.ts";
import { badRequest, unsupportedMediaType } from "./status.ts";
import { readYaml } from "../../plugins/kit/yaml.ts";

const maximumDepth = 1000;
const acceptedTypes = ["application/json", "application/yaml", protobufType];

export interface Decoded {
  readonly value: unknown;
  /** Keys that stood twice in one object, as paths; only searched for on demand. */
  readonly text: string;
  readonly isYaml: boolean;
  /** The first key of a YAML document that stands twice in one mapping. */
  readonly duplicate?: string;
}

export function decodeBody(body: Uint8Array, contentType: string | null): Decoded {
  const type = contentType === null || contentType === "" ? "application/json" : parseMediaType(contentType).type;
  if (type === "application/json") return decodeJson(body);
  if (type === "application/yaml" || type === "application/x-yaml" || type === "text/yaml") return decodeYaml(body);
  if (type === protobufType) return readProtobuf(body);
  throw unsupportedMediaType(acceptedTypes);
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

export function decodeJson(body: Uint8Array): Decoded {
  const text = textOf(body);
  boundDepth(text);
  try {
    return { value: JSON.parse(text), text, isYaml: false };
  } catch (error) {
    throw badRequest(`couldn't parse the body as JSON: ${(error as Error).message}`);
  }
}

export function decodeYaml(body: Uint8Array): Decoded {
  const text = textOf(body);
  // JSON is YAML, and is much quicker read as what it is.
  if (/^\s*[{[]/.test(text)) {
    try {
      return decodeJson(body);
    } catch (error) {
      if (!isFault(error) || !error.message.startsWith("couldn't parse")) throw error;
    }
  }
  try {
    let duplicate: string | undefined;
    const value = readYaml(text, "the request body", (what) => {
      duplicate = what;
    });
    return { value, text, isYaml: true, ...(duplicate === undefined ? {} : { duplicate }) };
  } catch (error) {
    if (isFault(error, "invalid")) throw badRequest(`error converting YAML to JSON: ${error.message}`);
    throw error;
  }
}

/** Checks that the value is an object with string kind and apiVersion where they are given, and metadata that is an object. */
export function asObject(value: unknown): KubeObject {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest("the object provided is unrecognized (must be of type object with a kind and an apiVersion)");
  const object = value as KubeObject;
  for (const field of ["kind", "apiVersion"] as const)
    if (object[field] !== undefined && typeof object[field] !== "string")
      throw badRequest(`json: cannot unmarshal ${typeof object[field]} into field ${field} of type string`);
  const { metadata } = object as { metadata?: unknown };
  if (metadata === undefined || metadata === null) object.metadata = {};
  else if (typeof metadata !== "object" || Array.isArray(metadata)) throw badRequest(unreadMetadata(object, metadata));
  return object;
}

function unreadMetadata(object: { kind?: string; apiVersion?: string }, metadata: unknown): string {
  const { kind = "", apiVersion = "" } = object;
  const found = Array.isArray(metadata) ? "array" : typeof metadata === "boolean" ? "bool" : typeof metadata;
  const version = JSON.stringify(apiVersion.split("/").at(-1));
  return `${kind} in version ${version} cannot be handled as a ${kind}: json: cannot unmarshal ${found} into Go struct field ${kind}.metadata of type v1.ObjectMeta`;
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
}

/** Deeply nested documents would overflow the stack of whoever walks them later. */
function boundDepth(text: string): void {
  if (text.length <= maximumDepth) return;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfText(text, at);
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maximumDepth) throw badRequest(`the body is nested deeper than ${maximumDepth} levels`);
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
}

/** The place of the quote that ends the text beginning here, or the end of everything. */
function endOfText(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end > 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
