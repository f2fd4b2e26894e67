// What happens to fields that the kind does not have: refused, warned of or dropped, as fieldValidation asks.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { groupVersion, type ResourceDefinition } from "../resources/definition.ts";
import type { Decoded } from "./body.ts";
import { type Decoding, holdToSchema, mostStrictErrors } from "./schema/decode.ts";
import { duplicateKeys } from "./schema/duplicates.ts";
import { inexactProblem } from "./schema/exact-integers.ts";
import { goText, unrestored } from "./schema/go-words.ts";
import type { Scope } from "./scope.ts";
import { badRequest, invalidObject } from "../machinery/status.ts";

const objectMeta = "#io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

type FieldValidation = "Ignore" | "Warn" | "Strict";

function fieldValidation(query: URLSearchParams): FieldValidation {
  const asked = query.get("fieldValidation") ?? "";
  if (asked === "") return "Warn";
  if (asked === "Ignore" || asked === "Warn" || asked === "Strict") return asked;
  throw badRequest(
    `fieldValidation: Unsupported value: ${JSON.stringify(asked)}: supported values: "Ignore", "Strict", "Warn"`,
  );
}

/** Holds what a client sent to its schema; changes the object in place. */
export function checkFields(scope: Scope, object: KubeObject, decoded: Decoded): void {
  const mode = fieldValidation(scope.request.query);
  const problem = inexactProblem(decoded, rootOf(scope), scope.services.schemas);
  if (problem !== undefined) throw cannotHandle(scope.definition, problem);
  // Before the object, which is the decoded value itself, is changed.
  const duplicates = duplicatesIn(decoded, mode);
  report(scope, mode, held(scope, object), duplicates);
}

/** A patch, as it was sent. */
interface Patch extends Decoded {
  readonly type: "json" | "merge" | "strategic";
  /** What the patch makes of the object, before it is held to anything. */
  readonly result: () => unknown;
}

/** The same for what a patch made of an object: it is the patch that is at fault, not an object of that kind and name. */
export function checkPatched(scope: Scope, object: KubeObject, patch: Patch): void {
  const mode = fieldValidation(scope.request.query);
  // Of a JSON patch the object that it makes is held to its schema below.
  const root = patch.type === "json" ? undefined : rootOf(scope);
  const inexact = inexactProblem(patch, root, scope.services.schemas);
  if (inexact !== undefined) throw badPatch(patch, inexact);
  const { problem, mismatch, unknown } = held(scope, object);
  if (problem !== undefined) {
    const restored = mismatch && patch.type === "strategic" ? unrestored(mismatch.value, mismatch.wanted) : undefined;
    throw badPatch(patch, restored ?? problem);
  }
  if (mode === "Ignore") return;
  const about = patch.type === "json" ? "json patch " : "";
  const duplicates = duplicatesIn(patch, mode).map((each) => about + each);
  const problems = [...duplicates, ...unknown.map(unknownField)].slice(0, mostStrictErrors);
  if (problems.length === 0) return;
  if (mode === "Strict") throw badPatch(patch, strictProblem(problems));
  scope.warnings.push(...problems);
}

function badPatch({ type, value, result }: Patch, why: string) {
  const shown = type === "strategic" ? goText(value) : JSON.stringify(result());
  const message = `Invalid value: ${JSON.stringify(shown)}: ${why}`;
  return invalidObject({ group: "", kind: "" }, "", [{ type: "FieldValueInvalid", field: "patch", message }]);
}

/** Applied objects say what a manager wants to own: a field that nobody has is refused, whatever was asked for. */
export function checkApplied(scope: Scope, object: KubeObject, decoded: Decoded): void {
  const mode = fieldValidation(scope.request.query);
  const { kind } = scope.definition;
  const problem = inexactProblem(decoded, rootOf(scope), scope.services.schemas);
  if (problem !== undefined) throw cannotHandle(scope.definition, problem);
  const duplicates = duplicatesIn(decoded, mode);
  const decoding = held(scope, object, true);
  if (decoding.unknown.length > 0) {
    const errors = decoding.unknown.map((path) => `.${path}: field not declared in schema`);
    const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join("\n  ")}`;
    const { group, version } = scope.definition;
    const about = `${object.metadata.namespace ?? ""}/${scope.name}; ${group}/${version}, Kind=${kind}`;
    throw badRequest(`failed to create typed patch object (${about}): ${text}`);
  }
  if (mode === "Strict" && decoded.duplicate !== undefined)
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${decoded.duplicate}`,
    );
  report(scope, mode, decoding, duplicates);
}

function duplicatesIn(decoded: Decoded, mode: FieldValidation): string[] {
  if (mode === "Ignore") return [];
  if (decoded.isYaml) return decoded.duplicate === undefined ? [] : [decoded.duplicate];
  return duplicateKeys(decoded.text, decoded.value, mostStrictErrors).map(
    (path) => `duplicate field ${JSON.stringify(path)}`,
  );
}

/** What was put together here from good parts, as it is written: without what says nothing. */
export function settle(scope: Scope, object: KubeObject): void {
  held(scope, object);
}

function held(scope: Scope, object: KubeObject, isAsSaid = false): Decoding {
  const { definition, services } = scope;
  const { schemas } = services;
  if (definition.holdToSchema) {
    const own = definition.holdToSchema(object);
    if (!schemas) return { unknown: own.dropped.slice(0, mostStrictErrors), problem: undefined };
    // Its metadata is everybody's, and so is that of objects within it, which nobody has created.
    const hold = (path: string, metadata: Record<string, unknown>) =>
      holdToSchema(metadata, objectMeta, { schemas, path, isAsSaid });
    const outer = hold("metadata", object.metadata as Record<string, unknown>);
    const inner = [...own.metadata].map(([path, metadata]) => {
      const decoding = hold(path, metadata);
      if (metadata["creationTimestamp"] === null) delete metadata["creationTimestamp"];
      return decoding;
    });
    return {
      unknown: [...outer.unknown, ...own.dropped, ...inner.flatMap(({ unknown }) => unknown)].slice(
        0,
        mostStrictErrors,
      ),
      problem: outer.problem ?? inner.find(({ problem }) => problem)?.problem,
    };
  }
  const root = rootOf(scope);
  return schemas && root ? holdToSchema(object, root, { schemas, isAsSaid }) : { unknown: [], problem: undefined };
}

/** The schema of a built-in kind; that of a custom resource is its own. */
function rootOf({ definition, services }: Scope) {
  return definition.holdToSchema
    ? undefined
    : services.schemas?.root(definition.group, definition.version, definition.kind);
}

function report(scope: Scope, mode: FieldValidation, decoding: Decoding, duplicates: readonly string[]): void {
  if (decoding.problem) throw cannotHandle(scope.definition, decoding.problem);
  if (mode === "Ignore") return;
  const problems = [...decoding.unknown.map(unknownField), ...duplicates].slice(0, mostStrictErrors);
  if (problems.length === 0) return;
  if (mode === "Strict") throw cannotHandle(scope.definition, strictProblem(problems));
  scope.warnings.push(...problems);
}

const unknownField = (path: string) => `unknown field ${JSON.stringify(path)}`;
const strictProblem = (problems: readonly string[]) => `strict decoding error: ${problems.join(", ")}`;

function cannotHandle(definition: ResourceDefinition, why: string) {
  const { kind } = definition;
  const version = definition.group === "" ? definition.version : groupVersion(definition);
  return badRequest(
    `${kind} in version ${JSON.stringify(version.split("/").at(-1))} cannot be handled as a ${kind}: ${why}`,
  );
}
