// Where the schema package is not v1.32: it is of a later version, and says less than Kubernetes' own documents do.
// Types go by their short names, or by group, version and short name where several share one.

import type { JsonSchema, Models } from "./read-models.ts";

/** Fields that came after v1.32. What we do of later versions (stopSignal, a pod's observedGeneration) is not among them. */
const laterFields: Readonly<Record<string, readonly string[]>> = {
  Container: ["restartPolicyRules"],
  EphemeralContainer: ["restartPolicyRules"],
  EnvVarSource: ["fileKeyRef"],
  NodeStatus: ["declaredFeatures"],
  NodeSystemInfo: ["swap"],
  PodSpec: ["hostnameOverride", "schedulingGroup"],
  PodStatus: ["allocatedResources", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses", "resources"],
  ResourceHealth: ["message"],
  VolumeMountStatus: ["volumeStatus"],
  VolumeProjection: ["podCertificate"],
  ListMeta: ["shardInfo"],
  CustomResourceDefinitionCondition: ["observedGeneration"],
  CustomResourceDefinitionStatus: ["observedGeneration"],
  DeploymentStatus: ["terminatingReplicas"],
  ReplicaSetStatus: ["terminatingReplicas"],
  HPAScalingRules: ["tolerance"],
  EndpointHints: ["forNodes"],
  CSIDriverSpec: [
    "nodeAllocatableUpdatePeriodSeconds",
    "preventPodSchedulingIfMissing",
    "serviceAccountTokenInSecrets",
  ],
  VolumeError: ["errorCode"],
};

/** What a type requires, where the package says otherwise. */
const requiredFields: Readonly<Record<string, readonly string[]>> = {
  ValidatingAdmissionPolicyBinding: [],
  ValidatingAdmissionPolicyBindingSpec: [],
  StatefulSetSpec: ["selector", "serviceName", "template"],
  TokenReviewSpec: [],
  HorizontalPodAutoscaler: [],
  CronJob: [],
  PodFailurePolicyOnPodConditionsPattern: ["status", "type"],
  EndpointSlice: ["addressType", "endpoints"],
  "flowcontrol.v1.Subject": ["kind"],
  NetworkPolicySpec: ["podSelector"],
  PodDisruptionBudgetStatus: ["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"],
  PriorityClass: ["value"],
  RoleRef: ["apiGroup", "kind", "name"],
  TokenRequest: ["spec"],
  TokenRequestSpec: ["audiences"],
  TokenRequestStatus: ["expirationTimestamp", "token"],
};

const double = { type: "number", format: "double" };
const long = { type: "integer", format: "int64" };

/** Numbers that the package does not tell the size of. */
const numbers: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  JSONSchemaProps: {
    maximum: double,
    minimum: double,
    multipleOf: double,
    maxItems: long,
    maxLength: long,
    maxProperties: long,
    minItems: long,
    minLength: long,
    minProperties: long,
  },
};

/** Which field goes with which value of the field that decides. */
const unions: Readonly<Record<string, JsonSchema["x-kubernetes-unions"]>> = {
  AppArmorProfile: [{ discriminator: "type", "fields-to-discriminateBy": { localhostProfile: "LocalhostProfile" } }],
  SeccompProfile: [{ discriminator: "type", "fields-to-discriminateBy": { localhostProfile: "LocalhostProfile" } }],
  LimitResponse: [{ discriminator: "type", "fields-to-discriminateBy": { queuing: "Queuing" } }],
  PriorityLevelConfigurationSpec: [
    { discriminator: "type", "fields-to-discriminateBy": { exempt: "Exempt", limited: "Limited" } },
  ],
  "flowcontrol.v1.Subject": [
    {
      discriminator: "kind",
      "fields-to-discriminateBy": { group: "Group", serviceAccount: "ServiceAccount", user: "User" },
    },
  ],
};

/** What a table says of a type, by its short name or its whole one: `Subject`, `rbac.v1.Subject`. */
export function ofType<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  const parts = name.split(".");
  return table[parts.slice(-3).join(".")] ?? table[parts.at(-1) ?? ""];
}

export function correct(models: Models): void {
  for (const [name, schema] of models) {
    const { properties = {} } = schema;
    for (const field of ofType(laterFields, name) ?? []) delete properties[field];
    for (const [field, type] of Object.entries(ofType(numbers, name) ?? {}))
      Object.assign(properties[field] ?? {}, type);
    const required = ofType(requiredFields, name);
    if (required?.length === 0) delete schema.required;
    else if (required) schema.required = [...required];
    const union = ofType(unions, name);
    if (union) schema["x-kubernetes-unions"] = union;
  }
}
