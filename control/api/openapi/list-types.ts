// How the lists and objects of built-in types are owned by server-side apply: lists by keys or as sets, objects that are
// owned as a whole. By type and field, under the types' short names, or with group and version where several share one; what is not
// named is an atomic list or a granular object.

import { ofType } from "./corrections.ts";

/** The fields that identify an element. */
type Keys = readonly string[];

export type ListRule = Keys | "set";

const byType: Keys = ["type"];
const byName: Keys = ["name"];
const container: Readonly<Record<string, ListRule>> = {
  ports: ["containerPort", "protocol"],
  env: byName,
  volumeMounts: ["mountPath"],
  volumeDevices: ["devicePath"],
};

export const listRules: Readonly<Record<string, Readonly<Record<string, ListRule>>>> = {
  ObjectMeta: { ownerReferences: ["uid"], finalizers: "set" },
  PodSpec: {
    containers: byName,
    initContainers: byName,
    ephemeralContainers: byName,
    volumes: byName,
    imagePullSecrets: byName,
    hostAliases: ["ip"],
    topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
    resourceClaims: byName,
    schedulingGates: byName,
  },
  Container: container,
  EphemeralContainer: container,
  ContainerStatus: { allocatedResourcesStatus: byName, volumeMounts: ["mountPath"] },
  ResourceStatus: { resources: ["resourceID"] },
  ResourceRequirements: { claims: byName },
  PodStatus: { conditions: byType, podIPs: ["ip"], resourceClaimStatuses: byName },
  ServiceSpec: { ports: ["port", "protocol"] },
  ServiceStatus: { conditions: byType },
  ServiceAccount: { secrets: byName },
  NodeSpec: { podCIDRs: "set" },
  NodeStatus: { addresses: byType, conditions: byType },
  NamespaceStatus: { conditions: byType },
  ComponentStatus: { conditions: byType },
  PersistentVolumeClaimStatus: { conditions: byType },
  ReplicationControllerStatus: { conditions: byType },
  DeploymentStatus: { conditions: byType },
  ReplicaSetStatus: { conditions: byType },
  StatefulSetStatus: { conditions: byType },
  DaemonSetStatus: { conditions: byType },
  HorizontalPodAutoscalerStatus: { conditions: byType },
  PodDisruptionBudgetStatus: { conditions: byType },
  CertificateSigningRequestStatus: { conditions: byType },
  CSINodeSpec: { drivers: byName },
  MutatingWebhookConfiguration: { webhooks: byName },
  ValidatingWebhookConfiguration: { webhooks: byName },
  MutatingWebhook: { matchConditions: byName },
  ValidatingWebhook: { matchConditions: byName },
  ValidatingAdmissionPolicySpec: { matchConditions: byName, variables: byName },
  ValidatingAdmissionPolicyBindingSpec: { validationActions: "set" },
  ValidatingAdmissionPolicyStatus: { conditions: byType },
  CustomResourceDefinitionStatus: { conditions: byType },
  FlowSchemaStatus: { conditions: byType },
  PriorityLevelConfigurationStatus: { conditions: byType },
  APIServiceStatus: { conditions: byType },
  PodFailurePolicyOnExitCodesRequirement: { values: "set" },
  UncountedTerminatedPods: { failed: "set", succeeded: "set" },
  Endpoint: { addresses: "set" },
  NonResourcePolicyRule: { nonResourceURLs: "set", verbs: "set" },
  ResourcePolicyRule: { apiGroups: "set", namespaces: "set", resources: "set", verbs: "set" },
  CSIDriverSpec: { volumeLifecycleModes: "set" },
  JSONSchemaProps: { "x-kubernetes-validations": ["rule"] },
};

/** Objects that one manager owns as a whole. */
const atomicTypes: ReadonlySet<string> = new Set([
  "LabelSelector",
  "NodeSelector",
  "NodeSelectorTerm",
  "TopologySelectorTerm",
  "ScopeSelector",
  "ObjectReference",
  "LocalObjectReference",
  "TypedLocalObjectReference",
  "SecretReference",
  "ConfigMapKeySelector",
  "SecretKeySelector",
  "ObjectFieldSelector",
  "ResourceFieldSelector",
  "OwnerReference",
  "EndpointAddress",
  "EndpointPort",
  "rbac.v1.Subject",
  "RoleRef",
  "ParamRef",
  "ParamKind",
  "MatchResources",
  "NamedRuleWithOperations",
  "Variable",
  "autoscaling.v1.CrossVersionObjectReference",
  "ServiceBackendPort",
]);

/** By the whole name of the type. */
export function isAtomic(name: string): boolean {
  const parts = name.split(".");
  return atomicTypes.has(parts.at(-1) ?? "") || atomicTypes.has(parts.slice(-3).join("."));
}

/** Fields that are owned part by part although their type is owned whole elsewhere. */
const granularFields: Readonly<Record<string, readonly string[]>> = {
  PersistentVolumeSpec: ["claimRef"],
  PersistentVolumeClaimStatus: ["allocatedResourceStatuses"],
};

export const isGranular = (type: string, field: string): boolean =>
  ofType(granularFields, type)?.includes(field) === true;

/** Maps (by type and field) that one manager owns as a whole. */
export const atomicMaps: Readonly<Record<string, readonly string[]>> = {
  ServiceSpec: ["selector"],
  PodSpec: ["nodeSelector"],
  ReplicationControllerSpec: ["selector"],
  Scheduling: ["nodeSelector"],
};
