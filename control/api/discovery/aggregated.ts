// Aggregated discovery (apidiscovery.k8s.io): every group, version and resource of a root in one answer.

import type { Registry } from "../registry.ts";
import type { SubresourceHandler } from "../subresources.ts";
import { listedOf } from "./resource-list.ts";

export function aggregated(
  registry: Registry,
  handlers: ReadonlyMap<string, SubresourceHandler>,
  root: "api" | "apis",
  version: string,
): unknown {
  const groups = registry.groups().filter((group) => (group === "") === (root === "api"));
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: { name: group === "" ? "" : group, creationTimestamp: null },
      versions: registry.versions(group).map((groupVersion) => ({
        version: groupVersion,
        resources: registry.resources(group, groupVersion).map((definition) => {
          const [main, ...below] = listedOf(definition, handlers);
          return {
            resource: definition.plural,
            responseKind: { group, version: groupVersion, kind: definition.kind },
            scope: definition.namespaced ? "Namespaced" : "Cluster",
            singularResource: definition.singular,
            verbs: main?.verbs ?? [],
            ...(definition.shortNames ? { shortNames: definition.shortNames } : {}),
            ...(definition.categories ? { categories: definition.categories } : {}),
            ...(below.length > 0
              ? {
                  subresources: below.map((one) => ({
                    subresource: one.name.slice(definition.plural.length + 1),
                    responseKind: { group: one.group ?? group, version: one.version ?? groupVersion, kind: one.kind },
                    verbs: one.verbs,
                  })),
                }
              : {}),
          };
        }),
        freshness: "Current",
      })),
    })),
  };
}
