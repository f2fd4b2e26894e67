// Every built-in resource, in the order discovery shows their groups.

import { mutatingWebhooks, validatingWebhooks } from "./admission-registration/webhook-configuration.ts";
import { admissionPolicies, admissionPolicyBindings } from "./admission-registration/validating-admission-policy.ts";
import { controllerRevisions } from "./apps/controller-revision.ts";
import { daemonSets } from "./apps/daemon-set.ts";
import { deployments } from "./apps/deployment.ts";
import { replicaSets, replicationControllers } from "./apps/replica-set.ts";
import { statefulSets } from "./apps/stateful-set.ts";
import { autoscalersV1, autoscalersV2 } from "./autoscaling/horizontal-pod-autoscaler.ts";
import { cronJobs } from "./batch/cron-job.ts";
import { jobs } from "./batch/job.ts";
import { certificateSigningRequests } from "./certificates/certificate-signing-request.ts";
import { nodeMetrics, podMetrics } from "./metrics/usage.ts";
import { leases } from "./coordination/lease.ts";
import { configMaps } from "./core/config-map.ts";
import { endpoints } from "./core/endpoints.ts";
import { coreEvents, newEvents } from "./core/event.ts";
import { namespaces } from "./core/namespace.ts";
import { nodes } from "./core/node.ts";
import { persistentVolumeClaims, persistentVolumes } from "./core/persistent-volume.ts";
import { pods } from "./core/pod.ts";
import { podTemplates } from "./core/pod-template-object.ts";
import { limitRanges, resourceQuotas } from "./core/quota.ts";
import { secrets } from "./core/secret.ts";
import { serviceAccounts } from "./core/service-account.ts";
import { bindings, componentStatuses } from "./core/unstored.ts";
import { customResourceDefinitions } from "./crd/custom-resource-definition.ts";
import type { ResourceDefinition } from "./definition.ts";
import { endpointSlices } from "./discovery/endpoint-slice.ts";
import { flowSchemas, priorityLevels } from "./flow-control/flow-control.ts";
import { ingressClasses, ingresses } from "./networking/ingress.ts";
import { networkPolicies } from "./networking/network-policy.ts";
import { runtimeClasses } from "./node/runtime-class.ts";
import { podDisruptionBudgets } from "./policy/pod-disruption-budget.ts";
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from "./rbac/rbac.ts";
import { apiServices } from "./registration/api-service.ts";
import { reviews } from "./reviews/reviews.ts";
import { priorityClasses } from "./scheduling/priority-class.ts";
import type { ServiceAllocator } from "./service/allocator.ts";
import { servicesWith } from "./service/service.ts";
import { csiDrivers, csiNodes, csiStorageCapacities, storageClasses, volumeAttachments } from "./storage/storage.ts";

export interface BuiltinContext {
  readonly serviceAllocator: ServiceAllocator;
}

export function builtinResources(context: BuiltinContext): readonly ResourceDefinition[] {
  return [
    bindings,
    componentStatuses,
    configMaps,
    endpoints,
    coreEvents,
    limitRanges,
    namespaces,
    nodes,
    persistentVolumeClaims,
    persistentVolumes,
    pods,
    podTemplates,
    replicationControllers,
    resourceQuotas,
    secrets,
    serviceAccounts,
    servicesWith(context.serviceAllocator),
    apiServices,
    controllerRevisions,
    daemonSets,
    deployments,
    replicaSets,
    statefulSets,
    newEvents,
    ...reviews,
    autoscalersV1,
    autoscalersV2,
    cronJobs,
    jobs,
    certificateSigningRequests,
    ingressClasses,
    ingresses,
    networkPolicies,
    podDisruptionBudgets,
    clusterRoleBindings,
    clusterRoles,
    roleBindings,
    roles,
    csiDrivers,
    csiNodes,
    csiStorageCapacities,
    storageClasses,
    volumeAttachments,
    mutatingWebhooks,
    admissionPolicies,
    admissionPolicyBindings,
    validatingWebhooks,
    customResourceDefinitions,
    priorityClasses,
    leases,
    runtimeClasses,
    endpointSlices,
    flowSchemas,
    priorityLevels,
    nodeMetrics,
    podMetrics,
  ];
}
