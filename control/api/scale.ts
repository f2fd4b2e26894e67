// The scale subresource: an autoscaling/v1 Scale made from, and written back to, the object's own fields.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../plugins/kit/kube/selector.ts";
import type { ResourceDefinition, ScalePaths } from "../resources/definition.ts";
import { age, ageColumn, column, nameColumn } from "../resources/print.ts";
import { invalid } from "../machinery/field-error.ts";
import type { Answer } from "../machinery/answer.ts";
import { inForm, valueAnswer } from "./forms.ts";
import { wantedForm } from "./media-type.ts";
import { parseMediaType } from "./media-type.ts";
import { trackUpdate } from "./apply/track.ts";
import { asObject, decodeBody, decodePatch } from "./body.ts";
import { claimKind, claimNamespace } from "./lifecycle.ts";
import { claimName } from "./name.ts";
import { writeOptions } from "./options.ts";
import { objectOf, type Scope } from "./scope.ts";
import {
  conflict,
  invalidObject,
  methodNotAllowed,
  modifiedMeanwhile,
  notFound,
  unsupportedMediaType,
} from "../machinery/status.ts";
import { applyJsonPatch } from "../../plugins/kit/kube/patch/json-patch.ts";
import { applyMergePatch } from "../../plugins/kit/kube/patch/merge-patch.ts";
import { findEntry } from "./verbs/get.ts";
import { updateObject } from "./verbs/update.ts";
import { parseJson } from "../../plugins/kit/base/exact-json.ts";

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

export async function answerScale(verb: string, scope: Scope): Promise<Answer> {
  const paths = scope.definition.scale as ScalePaths;
  if (verb === "get") return scaleAnswer(scope, scaleOf(objectOf(scope.definition, await findEntry(scope)), paths));
  if (verb !== "update" && verb !== "patch") throw methodNotAllowed();
  const body = await scope.request.body();
  const options = writeOptions(scope, verb === "update" ? "UpdateOptions" : "PatchOptions");
  const nextScale = readScale(verb, body, scope);
  let made: KubeObject | undefined;
  const main: Scope = { ...scope, subresource: "" };
  const answer = await updateObject(main, {
    options,
    track: (_main, next, previous) => trackUpdate(scope, next, previous),
    next: (previous) => {
      const before = scaleOf(previous, paths);
      const next = nextScale(before);
      claimIdentity(next, scope);
      const { resourceVersion } = next.metadata;
      if (resourceVersion && resourceVersion !== previous.metadata.resourceVersion)
        throw conflict(scope.definition, scope.name, modifiedMeanwhile);
      const replicas = (next.spec as { replicas?: unknown } | undefined)?.replicas ?? 0;
      if (typeof replicas !== "number" || !Number.isInteger(replicas) || replicas < 0)
        throw invalidObject({ group: "autoscaling", kind: "Scale" }, scope.name, [
          invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
        ]);
      setPath(previous, paths.specReplicas, replicas);
      made = previous;
      return previous;
    },
  });
  if (!answer || !made) throw notFound(scope.definition, scope.name);
  const stored = scope.dryRun
    ? made
    : objectOf(
        scope.definition,
        await findEntry({ ...scope, request: { ...scope.request, method: "PUT" } as Scope["request"] }),
      );
  return scaleAnswer(scope, scaleOf(stored, paths));
}

function claimIdentity(scale: KubeObject, scope: Scope): void {
  claimKind(scale, scaleKind);
  claimNamespace(scale, scope);
  claimName(scale, scope.name);
}

function readScale(verb: string, body: Uint8Array, scope: Scope): (before: KubeObject) => KubeObject {
  const type = scope.request.headers.get("content-type");
  if (verb === "update") {
    const scale = asObject(decodeBody(body, type, "Scale").value);
    claimIdentity(scale, scope);
    const text = JSON.stringify(scale);
    return () => parseJson(text) as KubeObject;
  }
  const patchType = parseMediaType(type ?? "").type;
  const patch = decodePatch(body, patchType === "application/json-patch+json" ? "json" : "merge").value;
  switch (patchType) {
    case "application/json-patch+json":
      return (before) => asObject(applyJsonPatch(before, patch));
    case "application/merge-patch+json":
    case "application/strategic-merge-patch+json":
    case "application/apply-patch+yaml":
      return (before) => asObject(applyMergePatch(before, patch));
    default:
      throw unsupportedMediaType(["application/json-patch+json", "application/merge-patch+json"]);
  }
}

function scaleAnswer(scope: Scope, scale: KubeObject): Answer {
  const wanted = wantedForm(scope.request.headers.get("accept"));
  return valueAnswer(scope, wanted, inForm(scope, { ...scope.definition, ...printed }, wanted, scale));
}

/** How a Scale is shown, whatever it is the scale of. */
const printed: Pick<ResourceDefinition, "columns" | "cells"> = {
  columns: [
    nameColumn,
    column("Desired", "How many replicas are wanted.", "integer"),
    column("Available", "How many replicas there are.", "integer"),
    ageColumn,
  ],
  cells: (scale, now) => [
    scale.metadata.name,
    numberAt(scale, "spec.replicas"),
    numberAt(scale, "status.replicas"),
    age(scale.metadata.creationTimestamp, now),
  ],
};

function scaleOf(object: KubeObject, paths: ScalePaths): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(object, paths.selector);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as KubeObject["metadata"],
    spec: { replicas: numberAt(object, paths.specReplicas) },
    status: { replicas: numberAt(object, paths.statusReplicas), ...(selector === "" ? {} : { selector }) },
  };
}

function selectorText(object: KubeObject, selector: ScalePaths["selector"]): string {
  const value = selector && getPath(object, selector.path);
  if (!selector || value === undefined || value === null) return "";
  if (selector.as === "text") return typeof value === "string" ? value : "";
  if (selector.as === "labels") return labelSelectorOf({ matchLabels: value as Record<string, string> }).toString();
  return labelSelectorOf(value as Parameters<typeof labelSelectorOf>[0]).toString();
}

function numberAt(object: KubeObject, path: string): number {
  const value = getPath(object, path);
  return typeof value === "number" ? value : 0;
}

/** The value at a dotted path, with or without its leading dot. */
function getPath(object: unknown, path: string): unknown {
  let value = object;
  for (const part of path.split(".")) {
    if (part === "") continue;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

function setPath(object: KubeObject, path: string, value: unknown): void {
  const parts = path.split(".").filter((part) => part !== "");
  let target: Record<string, unknown> = object;
  for (const part of parts.slice(0, -1)) {
    const below = target[part];
    if (typeof below !== "object" || below === null) target[part] = {};
    target = target[part] as Record<string, unknown>;
  }
  target[parts.at(-1) ?? ""] = value;
}
