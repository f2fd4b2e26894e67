// Scope is one request on one resource while it is being answered; Services is what the server gives to all of them.

import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { AuditTrail } from "../auth/audit/contract.ts";
import type { Decision } from "../auth/contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Entry } from "../storage/entry.ts";
import type { ObjectStorage } from "../storage/object-storage.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import type { FlowControl } from "./flow/flow-control.ts";
import type { ApiMetrics } from "./metrics.ts";
import type { Registry } from "./registry.ts";
import type { Shapes } from "./apply/shape.ts";
import type { Schemas } from "./schema/schemas.ts";
import type { ApiRequest } from "../machinery/request.ts";
import type { Snapshots } from "./snapshots.ts";
import type { SubresourceHandler } from "./subresources.ts";
import type { Timing } from "./timing.ts";
import type { VirtualResource } from "./virtual.ts";
import type { Watches } from "./watches.ts";

export interface Services {
  readonly registry: Registry;
  readonly store: Store;
  readonly cache: WatchCache;
  readonly snapshots: Snapshots;
  readonly watches: Watches;
  readonly flows: FlowControl;
  readonly metrics: ApiMetrics;
  readonly storage: ObjectStorage;
  readonly clock: Clock;
  /** The longest that a request may take, watches and connections excepted. */
  readonly deadlineMs: number;
  readonly log: Log;
  /** Absent when the set-up has not made them. */
  readonly schemas: Schemas | undefined;
  readonly shapes: Shapes | undefined;
  readonly admission: readonly AdmissionPlugin[];
  /** Resources that are answered instead of stored, by `group/plural`. */
  readonly virtuals: ReadonlyMap<string, VirtualResource>;
  readonly subresources: ReadonlyMap<string, SubresourceHandler>;
  authorize(attributes: Attributes, call: Call): Promise<Decision>;
}

export interface Scope {
  readonly services: Services;
  readonly request: ApiRequest;
  readonly user: UserInfo;
  readonly definition: ResourceDefinition;
  /** Empty for cluster-wide resources and for requests on all namespaces. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly call: Call;
  /** Shown to the client as `Warning` headers. */
  readonly warnings: string[];
  readonly timing: Timing;
  readonly dryRun: boolean;
  /** Before a large answer is made: counts its bytes against the user's budget. Throws 429 where they do not fit. */
  reserve(bytes: number): void;
  /** Where the request is audited. */
  readonly trail?: AuditTrail;
}

/** Entries as the version that the request speaks shows them; to be called once for what comes from the store. */
export function shownEntries(
  { conversion }: ResourceDefinition,
  entries: readonly Entry[],
  call: Call,
): readonly Entry[] | Promise<readonly Entry[]> {
  return conversion ? conversion.shown(entries, call) : entries;
}

export async function shownEntry(definition: ResourceDefinition, entry: Entry, call: Call): Promise<Entry> {
  const [shown = entry] = await shownEntries(definition, [entry], call);
  return shown;
}

/** The object of a shown entry. Shared unless a conversion made it: never change it. */
export function objectOf(definition: ResourceDefinition, entry: Entry): KubeObject {
  return definition.fromStored ? definition.fromStored(entry.copy()) : entry.glance;
}

/** The same, as a copy that the caller owns. */
export function copyOf(definition: ResourceDefinition, entry: Entry): KubeObject {
  const copy = entry.copy();
  return definition.fromStored ? definition.fromStored(copy) : copy;
}

/** Whether some definition is of the kind. */
export const isServed =
  ({ services }: Scope) =>
  (apiVersion: string, kind: string): boolean =>
    services.registry.findKind(apiVersion, kind) !== undefined;

export async function toStored(definition: ResourceDefinition, object: KubeObject, call: Call): Promise<KubeObject> {
  if (definition.conversion) return definition.conversion.stored(object, call);
  return definition.toStored ? definition.toStored(object) : object;
}
