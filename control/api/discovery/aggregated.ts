// Aggregated discovery (apidiscovery.k8s.io): every group, version and resource of a root in one answer.

import type { SubresourceHandler } from "../subresources.ts";
import type { CatalogGroup } from "./catalog.ts";
import { type ListedResource, listedOf } from "./resource-list.ts";

export function aggregated(
  groups: readonly CatalogGroup[],
  handlers: ReadonlyMap<string, SubresourceHandler>,
  root: "api" | "apis",
  version: string,
): unknown {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups
      .filter(({ name }) => (name === "") === (root === "api"))
      .map(({ name: group, versions }) => ({
        metadata: { ...(group === "" ? {} : { name: group }), creationTimestamp: null },
        versions: versions.map(({ version: groupVersion, definitions, remote }) => ({
          version: groupVersion,
          resources: remote
            ? described(remote.told?.resources ?? [])
            : definitions.flatMap((definition) => described(listedOf(definition, handlers))),
          freshness: remote && !remote.isAvailable ? "Stale" : "Current",
        })),
      })),
  };
}

/** Resources with their subresources below them. */
function described(listed: readonly ListedResource[]): unknown[] {
  // Those of the resource's own group and version are left open.
  const kindOf = ({ group = "", version = "", kind }: ListedResource) => ({ group, version, kind });
  return listed
    .filter(({ name }) => !name.includes("/"))
    .map((main) => {
      const below = listed.filter(({ name }) => name.startsWith(`${main.name}/`));
      return {
        resource: main.name,
        responseKind: kindOf(main),
        scope: main.namespaced ? "Namespaced" : "Cluster",
        singularResource: main.singularName,
        verbs: main.verbs,
        ...(main.shortNames ? { shortNames: main.shortNames } : {}),
        ...(main.categories ? { categories: main.categories } : {}),
        ...(below.length > 0
          ? {
              subresources: below.map((one) => ({
                subresource: one.name.slice(main.name.length + 1),
                responseKind: kindOf(one),
                verbs: one.verbs,
              })),
            }
          : {}),
      };
    });
}
