// Content negotiation: which form of an answer a client wants, and which form a body has.

import { notAcceptable, notAcceptableType } from "../machinery/status.ts";

export interface MediaType {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads one media type with its parameters; order and spaces do not matter. */
export function parseMediaType(text: string): MediaType {
  const [type = "", ...rest] = text.split(";");
  const parameters: Record<string, string> = Object.create(null);
  for (const part of rest) {
    const equals = part.indexOf("=");
    if (equals > 0) parameters[part.slice(0, equals).trim().toLowerCase()] = part.slice(equals + 1).trim();
  }
  return { type: type.trim().toLowerCase(), parameters };
}

export interface Wanted {
  readonly encoding: "json" | "yaml";
  /** Undefined for the object itself. */
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  readonly version: string;
}

const plainJson: Wanted = { encoding: "json", as: undefined, version: "" };
const knownForms = new Set(["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]);
const seen = new Map<string, Wanted>();

/** The acceptable form that the client prefers: by quality, then in its order. */
export function wantedForm(accept: string | null): Wanted {
  if (!accept || accept === "application/json" || accept === "*/*") return plainJson;
  const known = seen.get(accept);
  if (known) return known;
  const wanted = negotiate(accept);
  // Clients send few different headers; a hostile one must not fill the memory.
  if (seen.size < 100) seen.set(accept, wanted);
  return wanted;
}

/** Of what is accepted, the preferred first. A quality that is no number counts as none, as upstream reads it. */
function preferred(accept: string): MediaType[] {
  const qualityOf = ({ parameters: { q = "1" } }: MediaType) => Number(q) || 0;
  return accept
    .split(",")
    .map(parseMediaType)
    .sort((a, b) => qualityOf(b) - qualityOf(a));
}

function negotiate(accept: string): Wanted {
  for (const { type, parameters } of preferred(accept)) {
    const encoding = encodingOf(type);
    if (!encoding) continue;
    const as = parameters.as;
    if (as === undefined) return { encoding, as: undefined, version: "" };
    const version = parameters.v ?? "";
    if (parameters.g === "meta.k8s.io" && (version === "v1" || version === "v1beta1") && knownForms.has(as))
      return { encoding, as: as as "Table", version };
  }
  // Of a form that is not known it is told in other words than of a type that is not.
  const isKnownType = accept.split(",").some((clause) => encodingOf(parseMediaType(clause).type) !== undefined);
  throw isKnownType ? notAcceptable(representations) : notAcceptableType(representations);
}

/** Protobuf is read here, but not written. */
const representations = ["application/json", "application/yaml"];

function encodingOf(type: string): "json" | "yaml" | undefined {
  if (type === "application/json" || type === "*/*" || type === "application/*") return "json";
  if (type === "application/yaml") return "yaml";
  return undefined;
}
