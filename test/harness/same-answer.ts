// Tells how two answers to the same question differ, apart from what no two servers have in common: uids, times, versions, chosen addresses.

import type { Json } from "../fixtures/objects/valid-object.ts";
import type { Answer } from "./peer-apis.ts";

/** What is compared of an answer; two of them are alike when their JSON is. */
export function essence({ status, headers, body }: Answer): Json {
  const warnings = warningsOf(headers);
  return {
    status,
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(body?.kind === "Status" ? refusal(body) : { body: neutral(body) }),
  };
}

function refusal(status: Json): Json {
  const { causes = [], ...details } = status.details ?? {};
  const told: string[] = causes.map(
    ({ field, reason, message }: Json) => `${field ?? ""}: ${reason ?? ""}: ${withoutStructs(message ?? "")}`,
  );
  return {
    reason: status.reason,
    // The message of an invalid object lists its causes, in an order that may change from one answer to the next.
    message:
      told.length > 0 ? status.message?.replace(/(is invalid:|following fields:).*/s, "$1") : plain(status.message),
    details: { ...details, uid: undefined },
    // Of updates upstream tells some causes twice or three times: once for all kinds, and again for its own.
    causes: [...new Set(told)].sort(),
  };
}

/** Objects as Go's printer shows them, field by field with the names of its own code, and as JSON shows them. */
const withoutStructs = (message: string): string =>
  message.replace(/^(\w+ value: )(?:\{.*\}|\[[{].*\]|\[?\]?\*?&?(?:\[\])*[a-z]\w*\.\w+[({].*[})])(: .*|)$/s, "$1…$2");

const unlike = new Set([
  "uid",
  "creationTimestamp",
  "resourceVersion",
  "time",
  "deletionTimestamp",
  "lastTransitionTime",
  "lastPhaseTransitionTime",
]);
const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Go's names of types are in its own code only, and no client reads them. */
const plain = (message = ""): string => message.replace(/(into Go struct field \S+) of type .*/, "$1");

/** Keys in order, without what differs between any two servers. */
function neutral(value: Json): Json {
  if (Array.isArray(value)) return value.map(neutral);
  if (typeof value === "string" && uuid.test(value)) return "a uid";
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, below]) => !(unlike.has(name) && typeof below === "string"))
      .map(([name, below]): [string, Json] => [name, neutral(below)])
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  );
}

/** The texts of `Warning` headers. */
function warningsOf(headers: Headers): string[] {
  return [...(headers.get("warning") ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)]
    .map((found) => found[1] ?? "")
    .sort();
}

/** Lines `path: ours / theirs` for every place where they differ. */
export function differences(ours: Json, theirs: Json, path = ""): string[] {
  if (JSON.stringify(ours) === JSON.stringify(theirs)) return [];
  const bothAre = (test: (value: unknown) => boolean) => test(ours) && test(theirs);
  if (
    bothAre(Array.isArray) &&
    (ours.length === theirs.length || ours.every((item: unknown) => typeof item === "object"))
  )
    return Array.from({ length: Math.max(ours.length, theirs.length) }, (_, i) =>
      differences(ours[i], theirs[i], `${path}[${i}]`),
    ).flat();
  if (bothAre((value) => typeof value === "object" && value !== null && !Array.isArray(value)))
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].flatMap((name) =>
      differences(ours[name], theirs[name], `${path}.${name}`),
    );
  return [`${path}: ${JSON.stringify(ours)} / ${JSON.stringify(theirs)}`];
}
