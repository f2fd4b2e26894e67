// OpenAPI of custom resources, made when asked for: a v3 document for each group and version, and what they add to v2.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { customDefinition } from "../../resources/crd/custom-definition.ts";
import type { StructuralSchema } from "../../resources/crd/structural-schema.ts";
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
      const schemas: Json = machinerySchemas(folder);
      const paths: Json = {};
      for (const { crd, version, path } of servedVersions(served())) {
        if (path !== asked) continue;
        const names = namesOf(crd, version);
        const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
        const metadata = { description: metadataText, allOf: [reference(`${metaV1}.ObjectMeta`)] };
        const schema = version.schema?.openAPIV3Schema ?? { type: "object" };
        Object.assign(schemas, kindSchemas(crd, version, schema as Json, metadata, reference));
        Object.assign(paths, pathItems(customDefinition(crd, version, undefined), names));
      }
      return {
        openapi: "3.0.0",
        info: { title: "Kubernetes CRD Swagger", version: versionInfo.gitVersion },
        paths,
        components: { schemas },
      };
    },
    addedToV2() {
      const definitions: Json = {};
      const paths: Json = {};
      for (const { crd, version } of servedVersions(served())) {
        const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
        const metadata = { description: metadataText, ...reference(`${metaV1}.ObjectMeta`) };
        const schema = schemaV2(version.schema?.openAPIV3Schema ?? { type: "object" });
        Object.assign(definitions, kindSchemas(crd, version, schema, metadata, reference));
        const items = pathItems(customDefinition(crd, version, undefined), namesOf(crd, version));
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

function kindSchemas(
  crd: Crd,
  version: CrdVersion,
  schema: Json,
  metadata: Json,
  reference: (name: string) => Json,
): Json {
  const { group, names } = crd.spec;
  const { object, list } = namesOf(crd, version);
  const kind = (name: string) => [{ group, version: version.name, kind: name }];
  return {
    [object]: { ...publishable(schema, metadata), "x-kubernetes-group-version-kind": kind(names.kind) },
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

function publishable(schema: Json, metadata: Json): Json {
  const own = Object.entries((schema.properties as Record<string, StructuralSchema> | undefined) ?? {});
  return {
    ...schema,
    properties: {
      apiVersion: { type: "string", description: "The group and version that this object is written in." },
      kind: { type: "string", description: "The kind of this object." },
      metadata,
      ...Object.fromEntries(own.filter(([name]) => !["apiVersion", "kind", "metadata"].includes(name))),
    },
  };
}

function machinerySchemas(folder: string): Json {
  const file = join(folder, "v3-apis_coordination.k8s.io_v1.json.gz");
  if (!existsSync(file)) return {};
  const document = JSON.parse(gunzipSync(readFileSync(file)).toString("utf8")) as { components: { schemas: Json } };
  return Object.fromEntries(Object.entries(document.components.schemas).filter(([name]) => name.startsWith(machinery)));
}
