// The built-in resources of Kubernetes v1.32 that a cluster of ours serves: where each lives and what its objects are called.

export interface ResourceRef {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

type Row = readonly [plural: string, kind: string, scope: "namespaced" | "cluster"];

function inGroup<const R extends Record<string, Row>>(group: string, version: string, rows: R) {
  const entries = Object.entries<Row>(rows).map(([key, [plural, kind, scope]]) => [
    key,
    Object.freeze({ group, version, plural, kind, namespaced: scope === "namespaced" }),
  ]);
  return Object.fromEntries(entries) as { readonly [K in keyof R]: ResourceRef };
}

export const resources = {
  ...inGroup("", "v1", {
    pods: ["pods", "Pod", "namespaced"],
    services: ["services", "Service", "namespaced"],
    endpoints: ["endpoints", "Endpoints", "namespaced"],
    nodes: ["nodes", "Node", "cluster"],
    namespaces: ["namespaces", "Namespace", "cluster"],
    configmaps: ["configmaps", "ConfigMap", "namespaced"],
    secrets: ["secrets", "Secret", "namespaced"],
    serviceaccounts: ["serviceaccounts", "ServiceAccount", "namespaced"],
    events: ["events", "Event", "namespaced"],
    persistentvolumes: ["persistentvolumes", "PersistentVolume", "cluster"],
    persistentvolumeclaims: ["persistentvolumeclaims", "PersistentVolumeClaim", "namespaced"],
    replicationcontrollers: ["replicationcontrollers", "ReplicationController", "namespaced"],
    resourcequotas: ["resourcequotas", "ResourceQuota", "namespaced"],
    limitranges: ["limitranges", "LimitRange", "namespaced"],
    podtemplates: ["podtemplates", "PodTemplate", "namespaced"],
    bindings: ["bindings", "Binding", "namespaced"],
    componentstatuses: ["componentstatuses", "ComponentStatus", "cluster"],
  }),
  ...inGroup("apps", "v1", {
    deployments: ["deployments", "Deployment", "namespaced"],
    replicasets: ["replicasets", "ReplicaSet", "namespaced"],
    statefulsets: ["statefulsets", "StatefulSet", "namespaced"],
    daemonsets: ["daemonsets", "DaemonSet", "namespaced"],
    controllerrevisions: ["controllerrevisions", "ControllerRevision", "namespaced"],
  }),
  ...inGroup("batch", "v1", {
    jobs: ["jobs", "Job", "namespaced"],
    cronjobs: ["cronjobs", "CronJob", "namespaced"],
  }),
  ...inGroup("autoscaling", "v2", {
    horizontalpodautoscalers: ["horizontalpodautoscalers", "HorizontalPodAutoscaler", "namespaced"],
  }),
  ...inGroup("autoscaling", "v1", {
    horizontalpodautoscalersV1: ["horizontalpodautoscalers", "HorizontalPodAutoscaler", "namespaced"],
  }),
  ...inGroup("policy", "v1", {
    poddisruptionbudgets: ["poddisruptionbudgets", "PodDisruptionBudget", "namespaced"],
  }),
  ...inGroup("discovery.k8s.io", "v1", {
    endpointslices: ["endpointslices", "EndpointSlice", "namespaced"],
  }),
  ...inGroup("events.k8s.io", "v1", {
    eventsV1: ["events", "Event", "namespaced"],
  }),
  ...inGroup("coordination.k8s.io", "v1", {
    leases: ["leases", "Lease", "namespaced"],
  }),
  ...inGroup("networking.k8s.io", "v1", {
    networkpolicies: ["networkpolicies", "NetworkPolicy", "namespaced"],
    ingresses: ["ingresses", "Ingress", "namespaced"],
    ingressclasses: ["ingressclasses", "IngressClass", "cluster"],
  }),
  ...inGroup("node.k8s.io", "v1", {
    runtimeclasses: ["runtimeclasses", "RuntimeClass", "cluster"],
  }),
  ...inGroup("scheduling.k8s.io", "v1", {
    priorityclasses: ["priorityclasses", "PriorityClass", "cluster"],
  }),
  ...inGroup("storage.k8s.io", "v1", {
    storageclasses: ["storageclasses", "StorageClass", "cluster"],
    volumeattachments: ["volumeattachments", "VolumeAttachment", "cluster"],
    csinodes: ["csinodes", "CSINode", "cluster"],
    csidrivers: ["csidrivers", "CSIDriver", "cluster"],
    csistoragecapacities: ["csistoragecapacities", "CSIStorageCapacity", "namespaced"],
  }),
  ...inGroup("rbac.authorization.k8s.io", "v1", {
    roles: ["roles", "Role", "namespaced"],
    rolebindings: ["rolebindings", "RoleBinding", "namespaced"],
    clusterroles: ["clusterroles", "ClusterRole", "cluster"],
    clusterrolebindings: ["clusterrolebindings", "ClusterRoleBinding", "cluster"],
  }),
  ...inGroup("authentication.k8s.io", "v1", {
    tokenreviews: ["tokenreviews", "TokenReview", "cluster"],
    selfsubjectreviews: ["selfsubjectreviews", "SelfSubjectReview", "cluster"],
  }),
  ...inGroup("authorization.k8s.io", "v1", {
    subjectaccessreviews: ["subjectaccessreviews", "SubjectAccessReview", "cluster"],
    selfsubjectaccessreviews: ["selfsubjectaccessreviews", "SelfSubjectAccessReview", "cluster"],
    selfsubjectrulesreviews: ["selfsubjectrulesreviews", "SelfSubjectRulesReview", "cluster"],
    localsubjectaccessreviews: ["localsubjectaccessreviews", "LocalSubjectAccessReview", "namespaced"],
  }),
  ...inGroup("certificates.k8s.io", "v1", {
    certificatesigningrequests: ["certificatesigningrequests", "CertificateSigningRequest", "cluster"],
  }),
  ...inGroup("admissionregistration.k8s.io", "v1", {
    mutatingwebhookconfigurations: ["mutatingwebhookconfigurations", "MutatingWebhookConfiguration", "cluster"],
    validatingwebhookconfigurations: ["validatingwebhookconfigurations", "ValidatingWebhookConfiguration", "cluster"],
    validatingadmissionpolicies: ["validatingadmissionpolicies", "ValidatingAdmissionPolicy", "cluster"],
    validatingadmissionpolicybindings: [
      "validatingadmissionpolicybindings",
      "ValidatingAdmissionPolicyBinding",
      "cluster",
    ],
  }),
  ...inGroup("apiextensions.k8s.io", "v1", {
    customresourcedefinitions: ["customresourcedefinitions", "CustomResourceDefinition", "cluster"],
  }),
  ...inGroup("apiregistration.k8s.io", "v1", {
    apiservices: ["apiservices", "APIService", "cluster"],
  }),
  ...inGroup("flowcontrol.apiserver.k8s.io", "v1", {
    flowschemas: ["flowschemas", "FlowSchema", "cluster"],
    prioritylevelconfigurations: ["prioritylevelconfigurations", "PriorityLevelConfiguration", "cluster"],
  }),
  ...inGroup("metrics.k8s.io", "v1beta1", {
    nodemetrics: ["nodes", "NodeMetrics", "cluster"],
    podmetrics: ["pods", "PodMetrics", "namespaced"],
  }),
} as const;

/** `v1` for the core group, `group/version` for the others. */
export function apiVersionOf(ref: Pick<ResourceRef, "group" | "version">): string {
  return ref.group === "" ? ref.version : `${ref.group}/${ref.version}`;
}

/** The URL path of a collection, an object or a subresource. A namespaced resource without a namespace is that of all namespaces. */
export function resourcePath(
  ref: ResourceRef,
  at: { namespace?: string | undefined; name?: string | undefined; subresource?: string | undefined } = {},
): string {
  const root = ref.group === "" ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`;
  const scope = ref.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : "";
  const name = at.name === undefined ? "" : `/${encodeURIComponent(at.name)}`;
  const sub = at.subresource === undefined ? "" : `/${at.subresource}`;
  return `${root}${scope}/${ref.plural}${name}${sub}`;
}
