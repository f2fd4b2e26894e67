// Every controller, one line each. The name is the service account in kube-system that it acts as; the bootstrap policy knows them.

import type { CertificateAndKey } from "../../plugins/kit/os/x509.ts";
import type { ReservedNames } from "../auth/certificates/reserved-names.ts";
import type { SigningKey } from "../auth/tokens/jwt.ts";
import type { ControllerFactory } from "../manager/contract.ts";
import { admissionPolicyStatusController } from "./admission-policy-status/reconciler.ts";
import { attachDetachController } from "./attach-detach/reconciler.ts";
import { bootstrapSigner } from "./bootstrap-signer/reconciler.ts";
import { certificateController } from "./certificates/reconciler.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation/reconciler.ts";
import { cronJobController } from "./cron-job/reconciler.ts";
import { daemonSetController } from "./daemon-set/reconciler.ts";
import { deploymentController } from "./deployment/reconciler.ts";
import { disruptionController } from "./disruption/reconciler.ts";
import { staleDisruptionController } from "./disruption/stale.ts";
import { endpointSliceController } from "./endpoint-slice/reconciler.ts";
import { endpointSliceMirroringController } from "./endpoint-slice-mirroring/reconciler.ts";
import { endpointsController } from "./endpoints/reconciler.ts";
import { garbageCollector } from "./garbage-collector/reconciler.ts";
import { horizontalAutoscalerController } from "./horizontal-autoscaler/reconciler.ts";
import { jobController } from "./job/reconciler.ts";
import { leaseGarbageCollector } from "./lease-gc/reconciler.ts";
import { namespaceController } from "./namespace/reconciler.ts";
import { nodeIpamController } from "./node-ipam/reconciler.ts";
import { nodeLifecycleController } from "./node-lifecycle/reconciler.ts";
import { nodeLoadBalancerController } from "./node-load-balancer/reconciler.ts";
import { nodeTaintsController } from "./node-taints/reconciler.ts";
import { persistentVolumeBinder } from "./persistent-volumes/binder.ts";
import { ephemeralVolumes } from "./persistent-volumes/ephemeral.ts";
import { expansionController } from "./persistent-volumes/expansion.ts";
import { localPathController } from "./persistent-volumes/local-path.ts";
import { localPathResizer } from "./persistent-volumes/local-path-resize.ts";
import { claimProtection, volumeProtection } from "./persistent-volumes/protection.ts";
import { podGarbageCollector } from "./pod-gc/reconciler.ts";
import { replicaSetController, replicationController } from "./replica-set/reconciler.ts";
import { resourceQuotaController } from "./resource-quota/reconciler.ts";
import { rootCaController } from "./root-ca/reconciler.ts";
import { serviceAccountController } from "./service-account/reconciler.ts";
import { statefulSetController } from "./stateful-set/reconciler.ts";
import { serviceAccountTokenController } from "./service-account-token/reconciler.ts";
import { taintEvictionController } from "./taint-eviction/reconciler.ts";
import { tokenCleaner } from "./token-cleaner/reconciler.ts";
import { ttlAfterFinishedController } from "./ttl-after-finished/reconciler.ts";

export interface ControllerSettings {
  readonly clusterCidrs: readonly string[];
  readonly nodeGraceMs?: number;
  readonly caCertificate: string;
  /** Signs the tokens of service accounts. */
  readonly serviceAccountKey: SigningKey;
  /** Signs certificate requests. */
  readonly ca: CertificateAndKey;
  /** What no node gets a certificate for. */
  readonly reserved: ReservedNames;
}

/** How they sign their events, where that is not how they are called. */
const eventSources: Readonly<Record<string, string>> = {
  "kube-scheduler": "default-scheduler",
  "daemon-set-controller": "daemonset-controller",
  "disruption-controller": "controllermanager",
  "endpointslice-controller": "endpoint-slice-controller",
  "endpointslicemirroring-controller": "endpoint-slice-mirroring-controller",
  "ephemeral-volume-controller": "ephemeral_volume",
  "expand-controller": "volume_expand",
  "generic-garbage-collector": "garbage-collector-controller",
  "persistent-volume-binder": "persistentvolume-controller",
};

export const eventSourceOf = (name: string): string => eventSources[name] ?? name;

export function controllers(settings: ControllerSettings): { name: string; create: ControllerFactory }[] {
  return [
    { name: "service-account-controller", create: serviceAccountController },
    {
      name: "service-account-token-controller",
      create: serviceAccountTokenController(settings.serviceAccountKey, settings.caCertificate),
    },
    { name: "certificate-controller", create: certificateController(settings) },
    { name: "clusterrole-aggregation-controller", create: clusterRoleAggregationController },
    { name: "validatingadmissionpolicy-status-controller", create: admissionPolicyStatusController },
    { name: "bootstrap-signer", create: bootstrapSigner },
    { name: "token-cleaner", create: tokenCleaner },
    { name: "root-ca-cert-publisher", create: rootCaController(settings.caCertificate) },
    { name: "node-controller", create: nodeIpamController(settings.clusterCidrs) },
    { name: "node-controller", create: nodeTaintsController },
    { name: "node-controller", create: nodeLifecycleController(settings.nodeGraceMs) },
    { name: "node-controller", create: taintEvictionController },
    {
      name: "service-controller",
      create: nodeLoadBalancerController((address) => settings.reserved.networkProblem(address) !== undefined),
    },
    { name: "pod-garbage-collector", create: podGarbageCollector },
    { name: "replicaset-controller", create: replicaSetController },
    { name: "replication-controller", create: replicationController },
    { name: "deployment-controller", create: deploymentController },
    { name: "statefulset-controller", create: statefulSetController },
    { name: "daemon-set-controller", create: daemonSetController },
    { name: "job-controller", create: jobController },
    { name: "cronjob-controller", create: cronJobController },
    { name: "ttl-after-finished-controller", create: ttlAfterFinishedController },
    { name: "endpointslice-controller", create: endpointSliceController },
    { name: "resourcequota-controller", create: resourceQuotaController },
    { name: "endpoint-controller", create: endpointsController },
    { name: "endpointslicemirroring-controller", create: endpointSliceMirroringController },
    { name: "namespace-controller", create: namespaceController },
    { name: "horizontal-pod-autoscaler", create: horizontalAutoscalerController },
    { name: "disruption-controller", create: disruptionController },
    { name: "disruption-controller", create: staleDisruptionController },
    { name: "persistent-volume-binder", create: persistentVolumeBinder },
    { name: "pvc-protection-controller", create: claimProtection },
    { name: "pv-protection-controller", create: volumeProtection },
    { name: "attachdetach-controller", create: attachDetachController },
    { name: "ephemeral-volume-controller", create: ephemeralVolumes },
    { name: "local-path-provisioner", create: localPathController },
    { name: "local-path-provisioner", create: localPathResizer },
    { name: "expand-controller", create: expansionController },
    { name: "generic-garbage-collector", create: garbageCollector },
    { name: "generic-garbage-collector", create: leaseGarbageCollector },
  ];
}
