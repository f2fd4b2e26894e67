// What there is to discover: the groups and versions of this server and those of others, in the order clients prefer them.

import type { ResourceDefinition } from "../../resources/definition.ts";
import { groupPriorityOf } from "../aggregation/local-services.ts";
import type { Remote } from "../aggregation/remote.ts";
import { compareVersions } from "../../resources/version-order.ts";
import type { Registry } from "../registry.ts";

interface CatalogVersion {
  readonly version: string;
  /** What this server has of it; of no meaning where another answers. */
  readonly definitions: readonly ResourceDefinition[];
  readonly remote: Remote | undefined;
}

export interface CatalogGroup {
  readonly name: string;
  readonly versions: readonly CatalogVersion[];
}

const localVersionPriority = 100;

export function catalogOf(registry: Registry, remotes: readonly Remote[]): CatalogGroup[] {
  const groups = registry.groups().map((name) => groupOf(registry, name, remotes));
  const known = new Set(groups.map(({ name }) => name));
  const added = Map.groupBy(
    remotes.filter(({ group }) => !known.has(group)),
    ({ group }) => group,
  );
  const byPriority = [...added].sort(([, a], [, b]) => priorityOf(b) - priorityOf(a));
  for (const [name, own] of byPriority) {
    const at = groups.findIndex((other) => other.name !== "" && groupPriorityOf(other.name) < priorityOf(own));
    groups.splice(at < 0 ? groups.length : at, 0, groupOf(registry, name, own));
  }
  return groups;
}

function priorityOf(remotes: readonly Remote[]): number {
  return Math.max(...remotes.map(({ service }) => service.spec.groupPriorityMinimum));
}

function groupOf(registry: Registry, name: string, remotes: readonly Remote[]): CatalogGroup {
  const own = remotes.filter(({ group }) => group === name);
  const local = registry.versions(name);
  const versions = [...new Set([...local, ...own.map(({ version }) => version)])].map((version) => ({
    version,
    definitions: registry.resources(name, version),
    remote: own.find((one) => one.version === version),
  }));
  if (own.length > 0) {
    const priority = ({ remote }: CatalogVersion) => remote?.service.spec.versionPriority ?? localVersionPriority;
    versions.sort((a, b) => priority(b) - priority(a) || compareVersions(a.version, b.version));
  }
  return { name, versions };
}
