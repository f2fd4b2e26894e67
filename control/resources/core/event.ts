// Event: what happened to an object. One stored form, two faces: core/v1 and events.k8s.io/v1.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { Column, ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, invalid, required } from "../../machinery/field-error.ts";
import { pathSegment, qualifiedName } from "../names.ts";
import { age, column, wideColumn } from "../print.ts";

interface Reference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

interface CoreEvent extends KubeObject {
  involvedObject?: Reference;
  reason?: string;
  message?: string;
  type?: string;
  action?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  series?: { count?: number; lastObservedTime?: string };
  related?: Reference;
  reportingComponent?: string;
  reportingInstance?: string;
}

const asEvent = (object: KubeObject): CoreEvent => object as CoreEvent;

const columns: Column[] = [
  column("Last Seen", "How long ago it last happened."),
  column("Type", "Normal or Warning."),
  column("Reason", "Why, in one word."),
  column("Object", "What it happened to."),
  wideColumn("Subobject", "Which part of the object."),
  wideColumn("Source", "Who reports it."),
  column("Message", "What happened."),
  wideColumn("First Seen", "How long ago it first happened."),
  wideColumn("Count", "How often it happened."),
  { ...wideColumn("Name", "The event's own name."), format: "name" },
];

function since(time: string | null | undefined, now: number): string {
  return time ? age(time, now) : "<unknown>";
}

function cells(object: KubeObject, now: number): unknown[] {
  const event = asEvent(object);
  let first = since(event.firstTimestamp, now);
  if (!event.firstTimestamp && event.eventTime) first = since(event.eventTime, now);
  let last = since(event.lastTimestamp, now);
  if (event.series) last = since(event.series.lastObservedTime, now);
  else if (!event.lastTimestamp) last = first;
  const about = event.involvedObject ?? {};
  const target = about.name ? `${(about.kind ?? "").toLowerCase()}/${about.name}` : (about.kind ?? "").toLowerCase();
  const component = event.source?.component || event.reportingComponent || "";
  const host = event.source?.host || event.reportingInstance || "";
  return [
    last,
    event.type ?? "",
    event.reason ?? "",
    target,
    about.fieldPath ?? "",
    host ? `${component}, ${host}` : component,
    (event.message ?? "").trim(),
    first,
    event.series?.count ?? event.count ?? 0,
    event.metadata.name,
  ];
}

const about =
  (field: keyof Reference) =>
  (object: KubeObject): string =>
    asEvent(object).involvedObject?.[field] ?? "";

const longest = { reportingInstance: 128, action: 128, reason: 128, message: 1024 } as const;

/** In the words of the stored form; `reporter` is what the asked form calls who reports. */
function validate(object: KubeObject, reporter: string): FieldErrors {
  const event = asEvent(object);
  const errors: FieldErrors = [];
  const namespace = event.involvedObject?.namespace ?? "";
  const { namespace: own = "" } = event.metadata;
  const mismatch = invalid("involvedObject.namespace", namespace, "does not match event.namespace");
  if (!event.eventTime) {
    if (namespace === "" ? own !== "default" : own !== namespace) errors.push(mismatch);
    return errors;
  }
  if (namespace === "" && own !== "default" && own !== "kube-system") errors.push(mismatch);
  if (!event.reportingComponent) errors.push(required(reporter));
  for (const problem of qualifiedName(event.reportingComponent ?? ""))
    errors.push(invalid(reporter, event.reportingComponent ?? "", problem));
  for (const [field, most] of Object.entries(longest) as [keyof typeof longest, number][]) {
    const text = event[field] ?? "";
    if (text === "" && field !== "message") errors.push(required(field));
    if (Buffer.byteLength(text) > most) errors.push(invalid(field, "", `can have at most ${most} characters`));
  }
  return errors;
}

/** What the newer form asks for beside that. */
function validateNew(object: KubeObject): FieldErrors {
  const event = asEvent(rename(object, "v1", 1));
  const errors = validate(event, "reportingController");
  const { series, type = "" } = event;
  if (series && (series.count ?? 0) < 2) errors.push(invalid("series.count", "", "should be at least 2"));
  if (series && !series.lastObservedTime) errors.push(required("series.lastObservedTime"));
  if (!event.eventTime) errors.push(required("eventTime"));
  if (type !== "Normal" && type !== "Warning") errors.push(invalid("type", "", `has invalid value: ${type}`));
  const isSet = {
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    count: event.count,
    source: event.source?.component || event.source?.host,
  };
  for (const [field, value] of Object.entries(isSet)) if (value) errors.push(invalid(field, "", "needs to be unset"));
  return errors;
}

const keptFields = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const;

/** Of an event of the newer form only the series changes. */
function validateNewUpdate(object: KubeObject, previous: KubeObject): FieldErrors {
  const [next, before] = [object, previous].map((one) => asEvent(rename(one, "v1", 1))) as [CoreEvent, CoreEvent];
  const errors = validate(next, "reportingController");
  const { series } = next;
  if (series && !deepEqual(series, before.series)) {
    if ((series.count ?? 0) < 2) errors.push(invalid("series.count", "", "should be at least 2"));
    if (!series.lastObservedTime) errors.push(required("series.lastObservedTime"));
  }
  for (const field of keptFields)
    if (!deepEqual(next[field] ?? null, before[field] ?? null))
      errors.push(
        invalid(field === "reportingComponent" ? "reportingController" : field, next[field], "field is immutable"),
      );
  return errors;
}

/** Events have always shown these, said or not. */
function fillStored(object: KubeObject): void {
  const event = asEvent(object);
  event.eventTime ??= null;
  event.firstTimestamp ??= null;
  event.lastTimestamp ??= null;
  event.source ??= {};
  event.involvedObject ??= {};
  event.reportingComponent ??= "";
  event.reportingInstance ??= "";
}

const shared = {
  plural: "events",
  singular: "event",
  kind: "Event",
  namespaced: true,
  shortNames: ["ev"],
  createsOnUpdate: true,
} as const;

export const coreEvents: ResourceDefinition = {
  ...shared,
  group: "",
  version: "v1",
  columns,
  cells,
  prepareCreate: fillStored,
  prepareUpdate: fillStored,
  validate: (object) => validate(object, "reportingComponent"),
  validateName: pathSegment,
  takesAnyFinalizer: true,
  selectable: {
    "involvedObject.kind": about("kind"),
    "involvedObject.namespace": about("namespace"),
    "involvedObject.name": about("name"),
    "involvedObject.uid": about("uid"),
    "involvedObject.apiVersion": about("apiVersion"),
    "involvedObject.resourceVersion": about("resourceVersion"),
    "involvedObject.fieldPath": about("fieldPath"),
    reason: (object) => asEvent(object).reason ?? "",
    reportingComponent: (object) => asEvent(object).reportingComponent ?? "",
    source: (object) => asEvent(object).source?.component || asEvent(object).reportingComponent || "",
    type: (object) => asEvent(object).type ?? "",
  },
};

interface NewEvent extends KubeObject {
  regarding?: Reference;
  note?: string;
  deprecatedSource?: unknown;
  deprecatedFirstTimestamp?: unknown;
  deprecatedLastTimestamp?: unknown;
  deprecatedCount?: unknown;
  reportingController?: string;
}

const renamed: readonly (readonly [stored: string, shown: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

function rename(object: KubeObject, apiVersion: string, from: 0 | 1): KubeObject {
  const names = new Map(renamed.map((pair) => [pair[from], pair[1 - from]] as [string, string]));
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(object)) result[names.get(key) ?? key] = value;
  result.apiVersion = apiVersion;
  return result as KubeObject;
}

function fillShown(object: KubeObject): void {
  const event = object as NewEvent;
  event.deprecatedFirstTimestamp ??= null;
  event.deprecatedLastTimestamp ??= null;
  event.deprecatedSource ??= {};
  event.regarding ??= {};
}

export const newEvents: ResourceDefinition = {
  ...shared,
  group: "events.k8s.io",
  version: "v1",
  storage: { group: "", plural: "events" },
  storedAs: { group: "", version: "v1" },
  toStored: (object) => rename(object, "v1", 1),
  fromStored: (object) => rename(object, "events.k8s.io/v1", 0),
  columns,
  cells: (object, now) => cells(rename(object, "v1", 1), now),
  prepareCreate: fillShown,
  prepareUpdate: fillShown,
  selectable: {
    reason: (object) => asEvent(object).reason ?? "",
    type: (object) => asEvent(object).type ?? "",
    reportingController: (object) => (object as NewEvent).reportingController ?? "",
    "regarding.kind": (object) => (object as NewEvent).regarding?.kind ?? "",
    "regarding.namespace": (object) => (object as NewEvent).regarding?.namespace ?? "",
    "regarding.name": (object) => (object as NewEvent).regarding?.name ?? "",
    "regarding.uid": (object) => (object as NewEvent).regarding?.uid ?? "",
    "regarding.apiVersion": (object) => (object as NewEvent).regarding?.apiVersion ?? "",
    "regarding.resourceVersion": (object) => (object as NewEvent).regarding?.resourceVersion ?? "",
    "regarding.fieldPath": (object) => (object as NewEvent).regarding?.fieldPath ?? "",
  },
  validate: (object, previous) => (previous ? validateNewUpdate(object, previous) : validateNew(object)),
};
