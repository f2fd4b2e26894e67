// Takes a write through admission: what is asked of the steps, and how their refusals are told.

import type { AdmissionOperation, AdmissionRequest } from "../../plugins/kit/contracts/admission.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { runMutating, runValidating } from "../admission/run.ts";
import { equivalentsOf } from "./equivalents.ts";
import type { Scope } from "./scope.ts";
import { forbiddenResource } from "../machinery/status.ts";

export interface Admitted {
  operation: AdmissionOperation;
  object?: KubeObject;
  oldObject?: KubeObject;
  options?: KubeObject;
  /** The kind of the object where it is not the resource's own (scale, eviction, binding). */
  kind?: string;
}

function requestOf(scope: Scope, what: Admitted): AdmissionRequest {
  const { definition, services } = scope;
  const equivalents = equivalentsOf(services.registry, definition, what.kind === undefined);
  return {
    operation: what.operation,
    group: definition.group,
    version: definition.version,
    resource: definition.plural,
    subresource: scope.subresource,
    kind: what.kind ?? definition.kind,
    namespace: scope.namespace,
    ...(equivalents.length > 0 ? { equivalents } : {}),
    name: what.object?.metadata.name ?? what.oldObject?.metadata.name ?? scope.name,
    user: scope.user,
    dryRun: scope.dryRun,
    ...(what.object ? { object: what.object } : {}),
    ...(what.oldObject ? { oldObject: what.oldObject } : {}),
    ...(what.options ? { options: what.options } : {}),
    warn: (text) => scope.warnings.push(text),
    waited: (ms) => scope.timing.spentElsewhere(ms),
    annotate: (key, value) => scope.trail?.annotate(key, value),
  };
}

export async function mutate(scope: Scope, what: Admitted): Promise<void> {
  const request = requestOf(scope, what);
  const { definition } = scope;
  const complete = () => {
    if (!what.object || what.kind) return;
    definition.holdToSchema?.(what.object);
    definition.defaults?.(what.object);
  };
  await said(scope, request, () => runMutating(scope.services.admission, request, scope.call, complete));
}

export async function validate(scope: Scope, what: Admitted): Promise<void> {
  const request = requestOf(scope, what);
  await said(scope, request, () => runValidating(scope.services.admission, request, scope.call));
}

/** A step that says only why gets the sentence that upstream puts around it. */
async function said(scope: Scope, request: AdmissionRequest, steps: () => Promise<void>): Promise<void> {
  try {
    await steps();
  } catch (error) {
    if (isFault(error, "forbidden") && error.details === undefined)
      throw forbiddenResource(scope.definition, request.name, error.message);
    throw error;
  }
}
