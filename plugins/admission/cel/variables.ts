// The variables that admission expressions see: the objects, the request, the namespace and the authorizer.

import type { AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { Cel } from "../../kit/kube/cel.ts";
import type { ClusterView } from "../../kit/kube/cluster-view.ts";
import { namespaceOf } from "../matching.ts";
import { AccessSession, CelAuthorizer } from "./authorizer.ts";

/** Names for compiling; the values come from `admissionValues`. */
const admissionVariables = [
  "object",
  "oldObject",
  "request",
  "namespaceObject",
  "authorizer",
  "params",
  "variables",
] as const;

export const declarations = Object.fromEntries(admissionVariables.map((name) => [name, undefined]));

export interface AdmissionValues {
  readonly values: Record<string, unknown>;
  readonly session: AccessSession;
}

export async function admissionValues(
  cel: Cel,
  request: AdmissionRequest,
  view: ClusterView,
  call: Call,
): Promise<AdmissionValues> {
  const session = new AccessSession(request.user, view);
  const resource = {
    group: request.group,
    version: request.version,
    plural: request.resource,
    subresource: request.subresource,
    namespace: request.namespace,
    name: request.name,
  };
  return {
    session,
    values: {
      object: request.object ? cel.toCel(request.object) : null,
      oldObject: request.oldObject ? cel.toCel(request.oldObject) : null,
      request: cel.toCel(requestFacts(request)),
      namespaceObject: cel.toCel(await namespaceOf(request, view, call)) ?? null,
      authorizer: new CelAuthorizer(session, request.user, resource),
      params: null,
      variables: null,
    },
  };
}

/** The request as admission.k8s.io/v1 shows it, to expressions and to webhooks alike. */
export function requestFacts(request: AdmissionRequest): Record<string, unknown> {
  const { group, version } = request;
  const kind = { group, version, kind: request.kind };
  const resource = { group, version, resource: request.resource };
  const asked = request.asked ?? request;
  const { user } = request;
  return {
    kind,
    resource,
    ...(request.subresource ? { subResource: request.subresource, requestSubResource: request.subresource } : {}),
    requestKind: { group: asked.group, version: asked.version, kind: asked.kind },
    requestResource: { group: asked.group, version: asked.version, resource: asked.resource },
    ...(request.name ? { name: request.name } : {}),
    ...(request.namespace ? { namespace: request.namespace } : {}),
    operation: request.operation,
    userInfo: {
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      groups: user.groups,
      ...(user.extra ? { extra: user.extra } : {}),
    },
    dryRun: request.dryRun,
    options: request.options ?? null,
  };
}
