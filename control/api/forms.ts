// Turns objects and lists into what the client asked for: the object, its metadata only, or a Table; JSON or YAML.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import { type Answer, bytesAnswer, jsonAnswer } from "../machinery/answer.ts";
import { type Wanted, wantedForm } from "./media-type.ts";
import type { Scope } from "./scope.ts";
import { notAcceptable } from "../machinery/status.ts";
import { includedObject, partialMetadata, tableOf } from "./table.ts";

/** The media type of an answer; that it is a Table or metadata only is told by its kind. */
export function typeOf(wanted: Wanted, extra = ""): string {
  const base = wanted.encoding === "json" ? "application/json" : "application/yaml";
  return base + extra;
}

/** One object. `wire` is its JSON as it is kept, when there is one. */
export function objectAnswer(
  scope: Scope,
  object: () => KubeObject,
  wire: Uint8Array | undefined,
  status = 200,
): Answer {
  const wanted = wantedForm(scope.request.headers.get("accept"));
  if (wanted.as === undefined && wanted.encoding === "json") {
    if (wire && !isPretty(scope)) return bytesAnswer(wire, status);
    return valueAnswer(scope, wanted, object(), status);
  }
  return valueAnswer(scope, wanted, inForm(scope, scope.definition, wanted, object()), status);
}

export function inForm(scope: Scope, definition: ResourceDefinition, wanted: Wanted, object: KubeObject): unknown {
  switch (wanted.as) {
    case undefined:
      return object;
    case "PartialObjectMetadata":
      return partialMetadata(object, wanted.version);
    case "Table": {
      const include = includedObject(scope.request.query.get("includeObject"));
      return tableOf(
        definition,
        [object],
        { resourceVersion: object.metadata.resourceVersion ?? "" },
        {
          now: scope.services.clock.now(),
          include,
          version: wanted.version,
        },
      );
    }
    case "PartialObjectMetadataList":
      throw notAcceptable(["application/json", "application/yaml"]);
  }
}

export function isPretty(scope: Scope): boolean {
  const pretty = scope.request.query.get("pretty");
  return pretty === "true" || pretty === "1";
}

export function valueAnswer(scope: Scope, wanted: Wanted, value: unknown, status = 200): Answer {
  if (wanted.encoding === "yaml") return bytesAnswer(writeYaml(value), status, typeOf(wanted));
  if (isPretty(scope)) return bytesAnswer(`${JSON.stringify(value, null, 2)}\n`, status, typeOf(wanted));
  return jsonAnswer(value, status, typeOf(wanted));
}
