// How stored custom objects are shown in a version, and how what is written in it is stored: filled in and pruned by the
// schemas of today, and converted where the versions differ. What was made of an entry is kept for as long as the entry.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { encodeObject } from "../../storage/encoding.ts";
import { Entry } from "../../storage/entry.ts";
import type { Conversion } from "../definition.ts";
import { applyDefaults, prune } from "./prune.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import type { Crd, CrdVersion } from "./types.ts";

/** Makes objects of one definition, all of other versions, into ones of the version named; owns what it is given. */
export type Convert = (
  objects: KubeObject[],
  apiVersion: string,
  call: Call,
) => readonly KubeObject[] | Promise<readonly KubeObject[]>;

/** Versions that differ in name only. */
export const renamed: Convert = (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion }));

export function conversionOf(crd: Crd, version: CrdVersion, convert: Convert): Conversion {
  const { group, versions } = crd.spec;
  const own = `${group}/${version.name}`;
  const stored = `${group}/${versions.find((one) => one.storage)?.name ?? version.name}`;
  const isAlone = versions.length === 1 && (crd.status?.storedVersions ?? []).every((name) => name === version.name);
  const definedAt = Number(crd.metadata.resourceVersion ?? 0);
  const shownByEntry = new WeakMap<Entry, Entry>();

  /** What was written since under this very definition is as it should be. */
  const isCurrent = (entry: Entry) => isAlone && entry.revision > definedAt;

  const refreshed = (object: KubeObject): KubeObject => {
    fill(object, schemaOf(versions.find((one) => `${group}/${one.name}` === object.apiVersion)));
    return object;
  };
  const finish = (entry: Entry, object: KubeObject): void => {
    const schema = schemaOf(version);
    if (schema) prune(object, schema);
    const value = encodeObject(object);
    const { key, revision, createRevision } = entry;
    const isSame = value.equals(entry.value);
    shownByEntry.set(entry, isSame ? entry : new Entry(key, value, { revision, createRevision }));
  };

  const converted = async (object: KubeObject, apiVersion: string, call: Call): Promise<KubeObject> => {
    if (object.apiVersion === apiVersion) return object;
    const [made = object] = await convert([object], apiVersion, call);
    return made;
  };

  return {
    shown(entries, call) {
      const unknown = entries.filter((entry) => !isCurrent(entry) && !shownByEntry.has(entry));
      const others: { entry: Entry; object: KubeObject }[] = [];
      for (const entry of unknown) {
        const object = refreshed(entry.copy());
        if (object.apiVersion === own) finish(entry, object);
        else others.push({ entry, object });
      }
      const all = () => entries.map((entry) => shownByEntry.get(entry) ?? entry);
      if (others.length === 0) return all();
      const keep = (objects: readonly KubeObject[]) => {
        others.forEach(({ entry }, index) => finish(entry, objects[index] as KubeObject));
        return all();
      };
      const made = convert(
        others.map(({ object }) => object),
        own,
        call,
      );
      return made instanceof Promise ? made.then(keep) : keep(made);
    },
    stored: (object, call) => converted(object, stored, call),
    inVersion: (object, name, call) => converted(object, `${group}/${name}`, call),
  };
}

function schemaOf(version: CrdVersion | undefined): StructuralSchema | undefined {
  return version?.schema?.openAPIV3Schema;
}

/** Fills in what the schema gives by default, but nothing in the metadata. */
export function fill(object: KubeObject, schema: StructuralSchema | undefined): void {
  if (!schema) return;
  const { metadata: _metadata, ...properties } = schema.properties ?? {};
  applyDefaults(object, { ...schema, properties });
}
