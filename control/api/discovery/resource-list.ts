// Discovery, per group and version: which resources there are and what can be done with them.

import { createHash } from "node:crypto";
import { allVerbs, groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import type { SubresourceHandler } from "../subresources.ts";

export interface ListedResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string;
  version?: string;
  kind: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  storageVersionHash?: string;
}

type Handlers = ReadonlyMap<string, SubresourceHandler>;

/** The resource itself, then its subresources. */
export function listedOf(definition: ResourceDefinition, handlers: Handlers): ListedResource[] {
  const { group, plural, singular, namespaced, kind } = definition;
  const main: ListedResource = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...(definition.verbs ?? allVerbs)].sort(),
    ...(definition.shortNames ? { shortNames: [...definition.shortNames] } : {}),
    ...(definition.categories ? { categories: [...definition.categories] } : {}),
    ...(isStored(definition) ? { storageVersionHash: storageVersionHash(definition) } : {}),
  };
  const below: ListedResource[] = [];
  const add = (name: string, verbs: readonly string[], shows?: SubresourceHandler["shows"]) => {
    if (verbs.length === 0) return;
    below.push({
      name: `${plural}/${name}`,
      singularName: "",
      namespaced,
      ...(shows && (shows.group !== group || shows.version !== definition.version)
        ? { group: shows.group, version: shows.version }
        : {}),
      kind: shows?.kind ?? kind,
      verbs: [...verbs].sort(),
    });
  };
  if (definition.hasStatus) add("status", ["get", "patch", "update"]);
  if (definition.scale)
    add("scale", ["get", "patch", "update"], { group: "autoscaling", version: "v1", kind: "Scale" });
  for (const [name, part] of Object.entries(definition.parts ?? {})) add(name, part.verbs);
  const prefix = `${group}/${plural}/`;
  for (const [id, handler] of handlers) {
    if (!id.startsWith(prefix)) continue;
    add(id.slice(prefix.length), handler.verbs, handler.shows);
  }
  return [main, ...below.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

/** What is only answered can be posted or listed, not both. */
function isStored({ verbs = allVerbs }: ResourceDefinition): boolean {
  return verbs.includes("list") && verbs.includes("delete");
}

/** Two that have the same are stored in the same form. */
function storageVersionHash({ group, version, kind, storedAs }: ResourceDefinition): string {
  const stored = storedAs ?? { group, version };
  const text = `${stored.group}/${stored.version}/${kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}

export function resourceList(definitions: readonly ResourceDefinition[], handlers: Handlers): unknown {
  const first = definitions[0];
  return {
    kind: "APIResourceList",
    // Of the oldest group upstream leaves it out.
    ...(first?.group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: first ? groupVersion(first) : "",
    resources: definitions.flatMap((definition) => listedOf(definition, handlers)),
  };
}
