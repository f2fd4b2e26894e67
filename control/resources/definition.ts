// ResourceDefinition is all that the generic API path needs to know about one version of one resource.
// Adding a resource is one file that exports one, and one line in index.ts.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Attributes } from "../machinery/attributes.ts";
import type { Entry } from "../storage/entry.ts";
import type { StorageRef } from "../storage/keys.ts";
import type { Shape } from "./shape.ts";
import type { FieldErrors } from "../machinery/field-error.ts";

export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";

export const allVerbs: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly description: string;
  readonly format?: string;
  /** 0 is always shown, 1 only in wide output. */
  readonly priority?: number;
}

interface PrepareContext {
  readonly user: UserInfo;
  readonly now: number;
}

/** What checks may ask that depend on more than the object. */
export interface CheckContext {
  readonly user: UserInfo;
  /** Whether the user may `get` it: asked of the authorizers. */
  mayGet(resource: NonNullable<Attributes["resource"]>): Promise<boolean>;
  /** The resource that serves the kind, if any does. */
  pluralOf(apiVersion: string, kind: string): string | undefined;
  /** What is stored under a name that is in no namespace. */
  stored(ref: StorageRef, name: string): KubeObject | undefined;
}

export interface ScalePaths {
  /** Dotted paths: `spec.replicas`. */
  readonly specReplicas: string;
  readonly statusReplicas: string;
  /** Where the selector stands, and how: an object with matchLabels, a plain label map, or a ready-made string. */
  readonly selector?: { path: string; as: "labelSelector" | "labels" | "text" };
}

/** A subresource whose object replaces part of the main one: how the two are merged before the usual update. */
interface PartSubresource {
  readonly verbs: readonly Verb[];
  /** Keeps of `next` only what this subresource may change, on top of `previous`. */
  prepare(next: KubeObject, previous: KubeObject, context: PrepareContext): KubeObject;
  validate?(next: KubeObject, previous: KubeObject): FieldErrors;
}

export interface Reservation {
  /** The object as it was written, or shown by a trial, speaks for itself from now on. */
  release(): void;
  /** It was not written: it is again as it was before the reservation. */
  undo(): void;
}

export interface Conversion {
  /** Stored entries as this version shows them, in the same order; many at once cost one question to who converts. */
  shown(entries: readonly Entry[], call: Call): readonly Entry[] | Promise<readonly Entry[]>;
  /** An object of this version as it is to be stored; owns what it is given. */
  stored(object: KubeObject, call: Call): Promise<KubeObject>;
  /** An object of this version as another of the same resource shows it; owns what it is given. */
  inVersion(object: KubeObject, version: string, call: Call): Promise<KubeObject>;
}

export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly Verb[];

  /** Where it is stored when another group's or version's definition owns the stored form. */
  readonly storage?: StorageRef;
  /** The group and version of the stored form, where they are not its own. */
  readonly storedAs?: { readonly group: string; readonly version: string };
  /** To and from the stored form; both or none. They own what they are given. */
  toStored?(object: KubeObject): KubeObject;
  fromStored?(object: KubeObject): KubeObject;
  /** In place of these two where it needs more than the object, or must wait. */
  readonly conversion?: Conversion;

  /** Names: what may be called so. DNS subdomain when absent. */
  validateName?(name: string): string[];
  /** Finalizers need no domain. */
  readonly takesAnyFinalizer?: boolean;
  /** Fills what the client left out. Runs on everything that is decoded, before admission. */
  defaults?(object: KubeObject): void;
  /** Clears or sets what a client may not choose. */
  prepareCreate?(object: KubeObject, context: PrepareContext): void;
  prepareUpdate?(object: KubeObject, previous: KubeObject, context: PrepareContext): void;
  validate?(object: KubeObject, previous?: KubeObject): FieldErrors;
  /** Checks that must wait for something; run after all others found nothing wrong. */
  validateLater?(object: KubeObject, previous: KubeObject | undefined, context: CheckContext): Promise<FieldErrors>;
  warnings?(object: KubeObject, previous?: KubeObject): string[];
  /** Said with every answer: that nobody should use this version any more, and what instead. */
  readonly deprecation?: string;

  /** Counts changes of everything but metadata and status in metadata.generation. */
  readonly hasGeneration?: boolean;
  /** Changed labels count, too. */
  readonly labelsCount?: boolean;
  /** Has a status subresource: status is only changed there, all else only elsewhere. */
  readonly hasStatus?: boolean;
  /** What stands in the status of an object that nobody has spoken of yet; `{}` when absent. Custom resources begin without any. */
  readonly newStatus?: Readonly<Record<string, unknown>>;
  /** Status given at creation is kept (nodes report themselves so). */
  readonly keepsStatusOnCreate?: boolean;
  /** Puts back what a status update left out and may not remove. */
  prepareStatus?(object: KubeObject, previous: KubeObject): void;
  validateStatus?(object: KubeObject, previous: KubeObject): FieldErrors;
  /** Only status itself is taken from a status update (custom resources), not labels and annotations. */
  readonly statusOnly?: boolean;
  readonly scale?: ScalePaths;
  readonly parts?: Readonly<Record<string, PartSubresource>>;

  readonly columns?: readonly Column[];
  /** One cell per column. */
  cells?(object: KubeObject, now: number): unknown[];
  /** Fields that fieldSelector may name, besides metadata.name and metadata.namespace. */
  readonly selectable?: Readonly<Record<string, (object: KubeObject) => string>>;

  /** Takes what only one object may have (an address, a port) before the write; undone when the write did not happen. */
  reserve?(object: KubeObject, previous: KubeObject | undefined): Reservation | undefined;

  /**
   * Drops and tells what its own schema does not have, and where it holds metadata of other objects; for kinds whose schema is not
   * among the built-in ones.
   */
  holdToSchema?(object: KubeObject): { dropped: string[]; metadata: ReadonlyMap<string, Record<string, unknown>> };

  /** How its fields are owned, for kinds whose schema is not among the built-in ones. */
  shape?(): Shape;

  /** Made by a CustomResourceDefinition. */
  readonly isCustom?: boolean;
  /** PUT on a name that is not there creates it. */
  readonly createsOnUpdate?: boolean;
  /** An update must carry a resourceVersion. */
  readonly needsResourceVersion?: boolean;
  /** Deletion answers with the object instead of a Status. */
  readonly answersDeleted?: boolean;
  /** What happens to dependents when the client does not say. */
  readonly orphansByDefault?: boolean;
  /** Said of a deletion that does not say what becomes of dependents. */
  readonly orphanWarning?: string;
  /** The grace period in seconds that a deletion gets; absent for kinds that go at once. */
  graceSeconds?(object: KubeObject, asked: number | undefined): number;
  /** The object stays although nothing in its metadata holds it (namespaces until they are emptied). */
  isHeld?(object: KubeObject): boolean;
  /** Told when deletion begins and the object stays for now. */
  prepareDelete?(object: KubeObject): void;
}

export function groupVersion(definition: { group: string; version: string }): string {
  return definition.group === "" ? definition.version : `${definition.group}/${definition.version}`;
}

export function storageOf(definition: ResourceDefinition): StorageRef {
  return definition.storage ?? definition;
}

export function listKindOf(definition: ResourceDefinition): string {
  return definition.listKind ?? `${definition.kind}List`;
}
