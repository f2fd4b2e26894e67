// What expressions of a policy know of the request, the namespace and the authorizer, whatever kind is matched: the fields that
// Kubernetes v1.32 declares.

import { type CelType, dyn, bool, text, typeOf } from "../../../plugins/kit/kube/cel/types.ts";

/** An object of named fields. */
export function objectType(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  const declared = Object.entries(fields).map(
    ([field, type]) => [field, { type, maxElements: 0, minSize: 0 }] as const,
  );
  return { kind: "object", name, fields: new Map(declared) };
}

const int = typeOf("int");
const time = typeOf("timestamp");
const texts = typeOf("list", text);
const textByText = typeOf("map", text, text);

const kind = objectType("kubernetes.GroupVersionKind", { group: text, version: text, kind: text });
const resource = objectType("kubernetes.GroupVersionResource", { group: text, version: text, resource: text });
const userInfo = objectType("kubernetes.UserInfo", {
  username: text,
  uid: text,
  groups: texts,
  extra: typeOf("map", text, texts),
});

const request = objectType("kubernetes.AdmissionRequest", {
  kind,
  resource,
  subResource: text,
  requestKind: kind,
  requestResource: resource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo,
  dryRun: bool,
  options: dyn,
});

const condition = objectType("kubernetes.NamespaceCondition", {
  status: text,
  type: text,
  lastTransitionTime: time,
  message: text,
  reason: text,
});

const namespaceObject = objectType("kubernetes.Namespace", {
  metadata: objectType("kubernetes.NamespaceMetadata", {
    name: text,
    generateName: text,
    namespace: text,
    labels: textByText,
    annotations: textByText,
    UID: text,
    creationTimestamp: time,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: time,
    generation: int,
    resourceVersion: text,
    finalizers: texts,
  }),
  spec: objectType("kubernetes.NamespaceSpec", { finalizers: texts }),
  status: objectType("kubernetes.NamespaceStatus", { conditions: typeOf("list", condition), phase: text }),
});

export const admissionTypes: Readonly<Record<string, CelType>> = {
  request,
  namespaceObject,
  authorizer: typeOf("kubernetes.authorization.Authorizer"),
};
