// OpenAPI of custom resources, made when asked for: a v3 document for each group and version, and what they add to v2.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { customDefinition } from "../../resources/crd/custom-definition.ts";
import { isObject, type StructuralSchema } from "../../resources/crd/structural-schema.ts";
import type { Crd, CrdVersion } from "../../resources/crd/types.ts";
import { versionInfo } from "../health.ts";
import { pathItems } from "../openapi/path-items.ts";
import type { CustomDocuments } from "../openapi/serve.ts";
import { itemV2, schemaV2 } from "../openapi/version-2.ts";

type Json = Record<string, unknown>;

const machinery = "io.k8s.apimachinery.";
const metaV1 = `${machinery}pkg.apis.meta.v1`;

/** `folder` holds the built-in documents, whose shared types are borrowed. */
export function customDocuments(served: () => Iterable<Crd>, folder: string): CustomDocuments {
  return {
    paths() {
      const states = new Map<string, string>();
      for (const { crd, path } of servedVersions(served())) {
        const { uid, generation } = crd.metadata;
        states.set(path, `${states.get(path) ?? ""}${uid}/${generation};`);
      }
      return states;
    },
    document(asked) {
      const { schemas, texts } = borrowed(folder);
      const paths: Json = {};
      for (const { crd, version, path } of servedVersions(served())) {
        if (path !== asked) continue;
        const names = namesOf(crd, version);
        const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
        const metadata = { description: metadataText, allOf: [reference(`${metaV1}.ObjectMeta`)] };
        const schema = version.schema?.openAPIV3Schema ?? { type: "object" };
        Object.assign(schemas, kindSchemas(crd, version, schema as Json, { metadata, texts, reference, isV2: false }));
        Object.assign(paths, pathItems(customDefinition(crd, version), names));
      }
      return {
        openapi: "3.0.0",
        info: { title: "Kubernetes CRD Swagger", version: versionInfo.gitVersion },
        paths,
        components: { schemas },
      };
    },
    addedToV2() {
      const { texts } = borrowed(folder);
      const definitions: Json = {};
      const paths: Json = {};
      for (const { crd, version } of servedVersions(served())) {
        const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
        const metadata = { description: metadataText, ...reference(`${metaV1}.ObjectMeta`) };
        const schema = schemaV2(version.schema?.openAPIV3Schema ?? { type: "object" });
        Object.assign(definitions, kindSchemas(crd, version, schema, { metadata, texts, reference, isV2: true }));
        const items = pathItems(customDefinition(crd, version), namesOf(crd, version));
        for (const [path, item] of Object.entries(items)) paths[path] = itemV2(item as Json);
      }
      return { paths, definitions };
    },
  };
}

function* servedVersions(crds: Iterable<Crd>): Generator<{ crd: Crd; version: CrdVersion; path: string }> {
  for (const crd of crds)
    for (const version of crd.spec.versions)
      if (version.served) yield { crd, version, path: `apis/${crd.spec.group}/${version.name}` };
}

/** What the kind and its list are called among the schemas. */
function namesOf({ spec: { group, names } }: Crd, version: CrdVersion): { object: string; list: string } {
  const prefix = `${group.split(".").reverse().join(".")}.${version.name}`;
  return { object: `${prefix}.${names.kind}`, list: `${prefix}.${listKindOf(names)}` };
}

function listKindOf(names: Crd["spec"]["names"]): string {
  return names.listKind ?? `${names.kind}List`;
}

const metadataText = "Standard object's metadata.";

function kindSchemas(crd: Crd, version: CrdVersion, schema: Json, shared: Shared): Json {
  const { reference } = shared;
  const { group, names } = crd.spec;
  const { object, list } = namesOf(crd, version);
  const kind = (name: string) => [{ group, version: version.name, kind: name }];
  return {
    [object]: { ...publishable(schema, shared), "x-kubernetes-group-version-kind": kind(names.kind) },
    [list]: {
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { type: "string" },
        kind: { type: "string" },
        metadata: reference(`${metaV1}.ListMeta`),
        items: { type: "array", items: reference(object) },
      },
      "x-kubernetes-group-version-kind": kind(listKindOf(names)),
    },
  };
}

function publishable(schema: Json, shared: Shared): Json {
  const { metadata, texts, isV2 } = shared;
  if (isV2 && schema["x-kubernetes-preserve-unknown-fields"] === true) return { type: "object" };
  const whole = withEmbedded(schema, shared);
  const own = Object.entries((whole.properties as Record<string, StructuralSchema> | undefined) ?? {});
  return {
    ...whole,
    properties: {
      apiVersion: { type: "string", description: texts.apiVersion },
      kind: { type: "string", description: texts.kind },
      metadata,
      ...Object.fromEntries(own.filter(([name]) => !["apiVersion", "kind", "metadata"].includes(name))),
    },
  };
}

/** Objects within the object have kind, version and metadata too. */
function withEmbedded(schema: Json, shared: Shared): Json {
  const { properties, items, additionalProperties, ...result } = schema;
  if (isObject(properties))
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => [name, withEmbedded(one as Json, shared)]),
    );
  if (isObject(items)) result.items = withEmbedded(items, shared);
  else if (items !== undefined) result.items = items;
  if (isObject(additionalProperties)) result.additionalProperties = withEmbedded(additionalProperties, shared);
  else if (additionalProperties !== undefined) result.additionalProperties = additionalProperties;
  const isOpen = shared.isV2 && result["x-kubernetes-preserve-unknown-fields"] === true;
  if (result["x-kubernetes-embedded-resource"] !== true || isOpen) return result;
  const { metadata, texts } = shared;
  const described = (description: string) => ({ type: "string", description });
  return {
    ...result,
    properties: {
      ...(result.properties as Json | undefined),
      apiVersion: described(texts.apiVersion),
      kind: described(texts.kind),
      metadata,
    },
    required: [...new Set([...((result.required as string[] | undefined) ?? []), "kind", "apiVersion"])],
  };
}

/** What all kinds share, in the form of the document at hand. */
interface Shared {
  readonly metadata: Json;
  readonly texts: Texts;
  readonly reference: (name: string) => Json;
  readonly isV2: boolean;
}

interface Texts {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Types that all kinds share, and how every kind describes its kind and version. */
function borrowed(folder: string): { schemas: Json; texts: Texts } {
  const file = join(folder, "v3-apis_coordination.k8s.io_v1.json.gz");
  if (!existsSync(file)) return { schemas: {}, texts: { apiVersion: "", kind: "" } };
  const document = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as {
    components: { schemas: Record<string, { properties?: Record<string, { description?: string }> }> };
  };
  const all = document.components.schemas;
  const lease = all["io.k8s.api.coordination.v1.Lease"]?.properties;
  return {
    schemas: Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith(machinery))),
    texts: { apiVersion: lease?.apiVersion?.description ?? "", kind: lease?.kind?.description ?? "" },
  };
}
