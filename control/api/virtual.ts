// Resources that are never stored: a question is posted and answered at once (access reviews), or a list is made on the spot.

import { trackCreate } from "./apply/track.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { groupVersion, listKindOf } from "../resources/definition.ts";
import type { Answer } from "../machinery/answer.ts";
import { asObject, decodeBody } from "./body.ts";
import { checkFields } from "./field-validation.ts";
import { objectAnswer, valueAnswer } from "./forms.ts";
import { claimKind, claimNamespace } from "./lifecycle.ts";
import { wantedForm } from "./media-type.ts";
import type { Scope } from "./scope.ts";
import { methodNotAllowed, notAcceptable, notFound } from "../machinery/status.ts";
import { includedObject, tableOf } from "./table.ts";

export interface VirtualResource {
  /** Answers what was posted; gets an object of the right kind. */
  create?(object: KubeObject, scope: Scope): Promise<KubeObject>;
  list?(scope: Scope): Promise<KubeObject[]>;
}

export async function answerVirtual(virtual: VirtualResource, verb: string, scope: Scope): Promise<Answer> {
  if (verb === "create" && virtual.create) {
    const decoded = decodeBody(
      await scope.request.body(),
      scope.request.headers.get("content-type"),
      scope.definition.kind,
    );
    const object = asObject(decoded.value);
    claimKind(object, scope.definition);
    checkFields(scope, object, decoded);
    claimNamespace(object, scope);
    if (wantedForm(scope.request.headers.get("accept")).as)
      throw notAcceptable(["application/json", "application/yaml"]);
    if (!object.metadata.name) delete object.metadata.name;
    (object.metadata as { creationTimestamp?: string | null }).creationTimestamp ??= null;
    trackCreate(scope, object);
    const made = await virtual.create(object, scope);
    return objectAnswer(scope, () => made, undefined, 201);
  }
  if (!virtual.list) throw methodNotAllowed();
  const objects = await virtual.list(scope);
  if (verb === "get") {
    const found = objects.find((object) => object.metadata.name === scope.name);
    if (!found) throw notFound(scope.definition, scope.name);
    return objectAnswer(scope, () => found, undefined);
  }
  if (verb !== "list") throw methodNotAllowed();
  const wanted = wantedForm(scope.request.headers.get("accept"));
  const { definition } = scope;
  const metadata = { resourceVersion: String(scope.services.cache.revision) };
  if (wanted.as === "Table")
    return valueAnswer(
      scope,
      wanted,
      tableOf(definition, objects, metadata, {
        now: scope.services.clock.now(),
        include: includedObject(scope.request.query.get("includeObject")),
        version: wanted.version,
      }),
    );
  return valueAnswer(scope, wanted, {
    kind: listKindOf(definition),
    apiVersion: groupVersion(definition),
    metadata,
    items: objects,
  });
}
