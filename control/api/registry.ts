// Registry holds the definitions being served, by group and version: built-ins from the start, custom ones as they come and go.

import { groupVersion, type ResourceDefinition } from "../resources/definition.ts";

export class Registry {
  readonly #byGroupVersion = new Map<string, Map<string, ResourceDefinition>>();
  readonly #groups = new Map<string, string[]>();
  readonly #preferredOrder: (a: string, b: string) => number;
  #generation = 0;
  /** Told after a group or version came or went. */
  onVersions: () => void = () => {};

  constructor(definitions: Iterable<ResourceDefinition>, preferredOrder: (a: string, b: string) => number) {
    this.#preferredOrder = preferredOrder;
    for (const definition of definitions) this.add(definition);
  }

  /** Rises with every change: whoever keeps something made from the definitions compares it. */
  get generation(): number {
    return this.#generation;
  }

  add(definition: ResourceDefinition): void {
    this.#generation++;
    const key = groupVersion(definition);
    let resources = this.#byGroupVersion.get(key);
    if (!resources) {
      resources = new Map();
      this.#byGroupVersion.set(key, resources);
      const versions = [...(this.#groups.get(definition.group) ?? []), definition.version];
      this.#groups.set(definition.group, versions.sort(this.#preferredOrder));
      this.onVersions();
    }
    resources.set(definition.plural, definition);
  }

  remove(definition: { group: string; version: string; plural: string }): void {
    const key = groupVersion(definition);
    const resources = this.#byGroupVersion.get(key);
    if (!resources?.delete(definition.plural)) return;
    this.#generation++;
    if (resources.size > 0) return;
    this.#byGroupVersion.delete(key);
    const versions = (this.#groups.get(definition.group) ?? []).filter((version) => version !== definition.version);
    if (versions.length > 0) this.#groups.set(definition.group, versions);
    else this.#groups.delete(definition.group);
    this.onVersions();
  }

  find(group: string, version: string, plural: string): ResourceDefinition | undefined {
    return this.#byGroupVersion.get(group === "" ? version : `${group}/${version}`)?.get(plural);
  }

  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    for (const definition of this.#byGroupVersion.get(apiVersion)?.values() ?? [])
      if (definition.kind === kind) return definition;
    return undefined;
  }

  /** Group names, core first, in the order they were added. */
  groups(): string[] {
    return [...this.#groups.keys()];
  }

  /** The preferred version stands first. */
  versions(group: string): readonly string[] {
    return this.#groups.get(group) ?? [];
  }

  resources(group: string, version: string): readonly ResourceDefinition[] {
    return [...(this.#byGroupVersion.get(group === "" ? version : `${group}/${version}`)?.values() ?? [])];
  }

  *all(): Iterable<ResourceDefinition> {
    for (const resources of this.#byGroupVersion.values()) yield* resources.values();
  }
}
