// How the fields of built-in objects take a strategic merge patch: which lists are merged and by which key, and which
// objects keep only the keys named. By type and field, so that `ports` means one thing in a container and another in a service.
// Fields not named here behave plainly: objects are merged, lists and scalars replaced.

export interface FieldRule {
  /** The type that describes the field, or the elements of it. */
  readonly type?: TypeName;
  /** For lists: `merge` joins them, of objects by `key`. For objects: `replace` takes the patch as it stands. */
  readonly strategy?: "merge" | "replace";
  readonly key?: string;
  /** The patch may list the keys to keep in `$retainKeys`. */
  readonly retainKeys?: true;
}

const list = (key: string, type?: TypeName): FieldRule => ({ strategy: "merge", key, ...(type ? { type } : {}) });
const retained = (key: string): FieldRule => ({ strategy: "merge", key, retainKeys: true });
const scalars: FieldRule = { strategy: "merge" };
const conditions = { conditions: list("type") };

type TypeName = string;

/** Rules by type, under the names that the published schemas give the types. */
export const mergeRules: Readonly<Record<TypeName, Readonly<Record<string, FieldRule>>>> = {
  ObjectMeta: { ownerReferences: list("uid"), finalizers: scalars },
  PodSpec: {
    volumes: retained("name"),
    initContainers: list("name", "Container"),
    containers: list("name", "Container"),
    ephemeralContainers: list("name", "EphemeralContainer"),
    imagePullSecrets: list("name"),
    hostAliases: list("ip"),
    topologySpreadConstraints: list("topologyKey"),
    resourceClaims: retained("name"),
    schedulingGates: list("name"),
  },
  Container: {
    ports: list("containerPort"),
    env: list("name"),
    volumeMounts: list("mountPath"),
    volumeDevices: list("devicePath"),
  },
  EphemeralContainer: {
    ports: list("containerPort"),
    env: list("name"),
    volumeMounts: list("mountPath"),
    volumeDevices: list("devicePath"),
  },
  ContainerStatus: { volumeMounts: list("mountPath"), allocatedResourcesStatus: list("name") },
  PodStatus: {
    ...conditions,
    podIPs: list("ip"),
    hostIPs: list("ip"),
    resourceClaimStatuses: retained("name"),
  },
  JSONSchemaProps: { "x-kubernetes-validations": list("rule") },
  PodTemplateSpec: { metadata: { type: "ObjectMeta" }, spec: { type: "PodSpec" } },
  NodeSpec: { podCIDRs: scalars },
  NodeStatus: { ...conditions, addresses: list("type") },
  NamespaceStatus: conditions,
  ServiceSpec: { ports: list("port") },
  ServiceStatus: conditions,
  PersistentVolumeClaimStatus: conditions,
  ReplicationControllerSpec: { template: { type: "PodTemplateSpec" } },
  ReplicationControllerStatus: conditions,
  DeploymentSpec: { template: { type: "PodTemplateSpec" }, strategy: { retainKeys: true } },
  DeploymentStatus: conditions,
  ReplicaSetSpec: { template: { type: "PodTemplateSpec" } },
  ReplicaSetStatus: conditions,
  StatefulSetSpec: { template: { type: "PodTemplateSpec" } },
  StatefulSetStatus: conditions,
  DaemonSetSpec: { template: { type: "PodTemplateSpec" } },
  DaemonSetStatus: conditions,
  JobSpec: { template: { type: "PodTemplateSpec" } },
  JobStatus: conditions,
  JobTemplateSpec: { metadata: { type: "ObjectMeta" }, spec: { type: "JobSpec" } },
  CronJobSpec: { jobTemplate: { type: "JobTemplateSpec" } },
  HorizontalPodAutoscalerStatus: conditions,
  PodDisruptionBudgetSpec: { selector: { strategy: "replace" } },
  PodDisruptionBudgetStatus: conditions,
  CSINodeSpec: { drivers: list("name") },
  MutatingWebhook: { matchConditions: list("name") },
  ValidatingWebhook: { matchConditions: list("name") },
  ValidatingAdmissionPolicySpec: { matchConditions: list("name"), variables: list("name") },
  FlowSchemaStatus: conditions,
  PriorityLevelConfigurationStatus: conditions,
  APIServiceStatus: conditions,
};

/** Rules of whole objects by `group/Kind` (`/Kind` for the core group); their metadata is understood. */
const kindRules: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  "/Pod": specAndStatus("PodSpec", "PodStatus"),
  "/PodTemplate": { template: { type: "PodTemplateSpec" } },
  "/Node": specAndStatus("NodeSpec", "NodeStatus"),
  "/Namespace": specAndStatus("NamespaceSpec", "NamespaceStatus"),
  "/Service": specAndStatus("ServiceSpec", "ServiceStatus"),
  "/ServiceAccount": { secrets: list("name") },
  "/ComponentStatus": conditions,
  "/PersistentVolumeClaim": specAndStatus("PersistentVolumeClaimSpec", "PersistentVolumeClaimStatus"),
  "/ReplicationController": specAndStatus("ReplicationControllerSpec", "ReplicationControllerStatus"),
  "apps/Deployment": specAndStatus("DeploymentSpec", "DeploymentStatus"),
  "apps/ReplicaSet": specAndStatus("ReplicaSetSpec", "ReplicaSetStatus"),
  "apps/StatefulSet": specAndStatus("StatefulSetSpec", "StatefulSetStatus"),
  "apps/DaemonSet": specAndStatus("DaemonSetSpec", "DaemonSetStatus"),
  "batch/Job": specAndStatus("JobSpec", "JobStatus"),
  "batch/CronJob": specAndStatus("CronJobSpec", "CronJobStatus"),
  "autoscaling/HorizontalPodAutoscaler": specAndStatus("HorizontalPodAutoscalerSpec", "HorizontalPodAutoscalerStatus"),
  "policy/PodDisruptionBudget": specAndStatus("PodDisruptionBudgetSpec", "PodDisruptionBudgetStatus"),
  "storage.k8s.io/CSINode": { spec: { type: "CSINodeSpec" } },
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": { webhooks: list("name", "MutatingWebhook") },
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": { webhooks: list("name", "ValidatingWebhook") },
  "admissionregistration.k8s.io/ValidatingAdmissionPolicy": { spec: { type: "ValidatingAdmissionPolicySpec" } },
  "flowcontrol.apiserver.k8s.io/FlowSchema": { status: { type: "FlowSchemaStatus" } },
  "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration": { status: { type: "PriorityLevelConfigurationStatus" } },
  "apiregistration.k8s.io/APIService": { status: { type: "APIServiceStatus" } },
};

function specAndStatus(spec: TypeName, status: TypeName): Record<string, FieldRule> {
  return { spec: { type: spec }, status: { type: status } };
}

/** Where in a type's rules a walk stands; undefined once outside of every rule. */
export type Rules = Readonly<Record<string, FieldRule>> | undefined;

/** The rules of an object by `group/version/Kind`, or `version/Kind` for the core group. */
export function rulesOfKind(kind: string): Rules {
  const parts = kind.split("/");
  const name = `${parts.length > 2 ? parts[0] : ""}/${parts.at(-1)}`;
  const own = Object.hasOwn(kindRules, name) ? kindRules[name] : {};
  return { metadata: { type: "ObjectMeta" }, ...own };
}

export function ruleOf(rules: Rules, field: string): FieldRule {
  return (rules && Object.hasOwn(rules, field) ? rules[field] : undefined) ?? {};
}

export function rulesBelow(rule: FieldRule): Rules {
  return rule.type !== undefined && Object.hasOwn(mergeRules, rule.type) ? mergeRules[rule.type] : undefined;
}
