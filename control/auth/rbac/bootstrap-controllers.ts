// Roles of the controllers, each bound to its service account in kube-system: names and powers as Kubernetes v1.32 has them.

import type { PolicyRule } from "./objects.ts";
import { eventsRule, read, rule } from "./rule.ts";

const certificates = "certificates.k8s.io";
const storage = "storage.k8s.io";
const appsAndOld = "apps,extensions";
const discovery = "discovery.k8s.io";
const kubernetesSigners =
  "kubernetes.io/kube-apiserver-client,kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown";

/** Service account name in kube-system to its rules; the role is `system:controller:<name>`. */
export function controllerRoles(): Record<string, PolicyRule[]> {
  const events = eventsRule();
  return {
    "attachdetach-controller": [
      rule("list,watch", "core", "persistentvolumeclaims,persistentvolumes"),
      rule(read, "core", "nodes"),
      rule("patch,update", "core", "nodes/status"),
      rule("list,watch", "core", "pods"),
      events,
      rule("create,delete,get,list,watch", storage, "volumeattachments"),
      rule(read, storage, "csidrivers"),
      rule(read, storage, "csinodes"),
    ],
    "certificate-controller": [
      rule("delete,get,list,watch", certificates, "certificatesigningrequests"),
      rule("update", certificates, "certificatesigningrequests/approval,certificatesigningrequests/status"),
      rule("approve", certificates, "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
      rule("sign", certificates, "signers", kubernetesSigners),
      rule("create", "authorization.k8s.io", "subjectaccessreviews"),
      events,
    ],
    "clusterrole-aggregation-controller": [
      rule("escalate,get,list,patch,update,watch", "rbac.authorization.k8s.io", "clusterroles"),
    ],
    "cronjob-controller": [
      rule("get,list,update,watch", "batch", "cronjobs"),
      rule("create,delete,get,list,patch,update,watch", "batch", "jobs"),
      rule("update", "batch", "cronjobs/status"),
      rule("update", "batch", "cronjobs/finalizers"),
      rule("delete,list", "core", "pods"),
      events,
    ],
    "daemon-set-controller": [
      rule(read, appsAndOld, "daemonsets"),
      rule("update", appsAndOld, "daemonsets/status"),
      rule("update", appsAndOld, "daemonsets/finalizers"),
      rule("list,watch", "core", "nodes"),
      rule("create,delete,list,patch,watch", "core", "pods"),
      rule("create", "core", "pods/binding"),
      rule("create,delete,get,list,patch,update,watch", "apps", "controllerrevisions"),
      events,
    ],
    "deployment-controller": [
      rule("get,list,update,watch", appsAndOld, "deployments"),
      rule("update", appsAndOld, "deployments/status"),
      rule("update", appsAndOld, "deployments/finalizers"),
      rule("create,delete,get,list,patch,update,watch", appsAndOld, "replicasets"),
      rule("get,list,update,watch", "core", "pods"),
      events,
    ],
    "disruption-controller": [
      rule(read, appsAndOld, "deployments"),
      rule(read, appsAndOld, "replicasets"),
      rule(read, "core", "replicationcontrollers"),
      rule(read, "policy", "poddisruptionbudgets"),
      rule(read, "apps", "statefulsets"),
      rule("update", "policy", "poddisruptionbudgets/status"),
      rule("patch,update", "core", "pods/status"),
      rule("get", "*", "*/scale"),
      events,
    ],
    "endpoint-controller": [
      rule(read, "core", "pods,services"),
      rule("create,delete,get,list,update", "core", "endpoints"),
      rule("create", "core", "endpoints/restricted"),
      events,
    ],
    "endpointslice-controller": [
      rule(read, "core", "nodes,pods,services"),
      rule("update", "core", "services/finalizers"),
      rule("create,delete,get,list,update", discovery, "endpointslices"),
      events,
    ],
    "endpointslicemirroring-controller": [
      rule(read, "core", "endpoints,services"),
      rule("update", "core", "services/finalizers"),
      rule("update", "core", "endpoints/finalizers"),
      rule("create,delete,get,list,update", discovery, "endpointslices"),
      events,
    ],
    "ephemeral-volume-controller": [
      rule(read, "core", "pods"),
      rule("update", "core", "pods/finalizers"),
      rule("create,get,list,watch", "core", "persistentvolumeclaims"),
      events,
    ],
    "expand-controller": [
      rule("get,list,patch,update,watch", "core", "persistentvolumes"),
      rule("patch,update", "core", "persistentvolumeclaims/status"),
      rule(read, "core", "persistentvolumeclaims"),
      rule("get", "core", "services"),
      events,
    ],
    "generic-garbage-collector": [rule("delete,get,list,patch,update,watch", "*", "*"), events],
    "horizontal-pod-autoscaler": [
      rule(read, "autoscaling", "horizontalpodautoscalers"),
      rule("update", "autoscaling", "horizontalpodautoscalers/status"),
      rule("get,update", "*", "*/scale"),
      rule("list", "core", "pods"),
      rule("list", "metrics.k8s.io", "pods"),
      rule("get,list", "custom.metrics.k8s.io", "*"),
      rule("get,list", "external.metrics.k8s.io", "*"),
      events,
    ],
    "job-controller": [
      rule("get,list,patch,update,watch", "batch", "jobs"),
      rule("update", "batch", "jobs/status"),
      rule("update", "batch", "jobs/finalizers"),
      rule("create,delete,list,patch,watch", "core", "pods"),
      events,
    ],
    "legacy-service-account-token-cleaner": [
      rule("get", "core", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
      rule("delete,patch", "core", "secrets"),
    ],
    // Our own: it asks nodes to remove and resize directories by an annotation on their objects.
    "local-path-provisioner": [
      rule("create,delete,get,list,update,watch", "core", "persistentvolumes"),
      rule("get,list,update,watch", "core", "persistentvolumeclaims"),
      rule("update", "core", "persistentvolumeclaims/status"),
      rule("get,list,patch,watch", "core", "nodes"),
      rule(read, storage, "storageclasses"),
      events,
    ],
    "namespace-controller": [
      rule("delete,get,list,watch", "core", "namespaces"),
      rule("update", "core", "namespaces/finalize,namespaces/status"),
      rule("delete,deletecollection,get,list", "*", "*"),
    ],
    "node-controller": [
      rule("delete,get,list,patch,update", "core", "nodes"),
      rule("patch,update", "core", "nodes/status"),
      rule("patch,update", "core", "pods/status"),
      rule("delete,get,list", "core", "pods"),
      events,
    ],
    "persistent-volume-binder": [
      rule("create,delete,get,list,update,watch", "core", "persistentvolumes"),
      rule("update", "core", "persistentvolumes/status"),
      rule("get,list,update,watch", "core", "persistentvolumeclaims"),
      rule("update", "core", "persistentvolumeclaims/status"),
      rule("create,delete,get,list,watch", "core", "pods"),
      rule(read, storage, "storageclasses"),
      rule("list,watch", "core", "nodes"),
      rule("watch", "core", "events"),
      rule("get", "core", "services"),
      events,
    ],
    "pod-garbage-collector": [
      rule("delete,list,watch", "core", "pods"),
      rule("get,list", "core", "nodes"),
      rule("patch", "core", "pods/status"),
    ],
    "pv-protection-controller": [rule("get,list,update,watch", "core", "persistentvolumes"), events],
    "pvc-protection-controller": [
      rule("get,list,update,watch", "core", "persistentvolumeclaims"),
      rule(read, "core", "pods"),
      events,
    ],
    "replicaset-controller": [
      rule("get,list,update,watch", appsAndOld, "replicasets"),
      rule("update", appsAndOld, "replicasets/status"),
      rule("update", appsAndOld, "replicasets/finalizers"),
      rule("create,delete,list,patch,watch", "core", "pods"),
      events,
    ],
    "replication-controller": [
      rule("get,list,update,watch", "core", "replicationcontrollers"),
      rule("update", "core", "replicationcontrollers/status"),
      rule("update", "core", "replicationcontrollers/finalizers"),
      rule("create,delete,list,patch,watch", "core", "pods"),
      events,
    ],
    "resourcequota-controller": [rule("list,watch", "*", "*"), rule("update", "core", "resourcequotas/status"), events],
    "root-ca-cert-publisher": [rule("create,update", "core", "configmaps"), events],
    "route-controller": [rule("list,watch", "core", "nodes"), rule("patch", "core", "nodes/status"), events],
    "service-account-controller": [rule("create", "core", "serviceaccounts"), events],
    // Upstream's acts as kube-controller-manager; ours has a name of its own.
    "service-account-token-controller": [
      rule("delete,update", "core", "secrets"),
      rule("get", "core", "serviceaccounts"),
    ],
    "service-controller": [
      rule(read, "core", "services"),
      rule("patch,update", "core", "services/status"),
      rule("list,watch", "core", "nodes"),
      rule("list,watch", discovery, "endpointslices"),
      events,
    ],
    "statefulset-controller": [
      rule("list,watch", "core", "pods"),
      rule(read, "apps", "statefulsets"),
      rule("update", "apps", "statefulsets/status"),
      rule("update", "apps", "statefulsets/finalizers"),
      rule("create,delete,get,patch,update", "core", "pods"),
      rule("create,delete,get,list,patch,update,watch", "apps", "controllerrevisions"),
      rule("create,get,list,watch", "core", "persistentvolumeclaims"),
      rule("delete,update", "core", "persistentvolumeclaims"),
      rule("update", "core", "pods/finalizers"),
      events,
    ],
    "ttl-after-finished-controller": [rule("delete,get,list,watch", "batch", "jobs"), events],
    "ttl-controller": [rule("list,patch,update,watch", "core", "nodes"), events],
    "validatingadmissionpolicy-status-controller": [
      rule(read, "admissionregistration.k8s.io", "validatingadmissionpolicies"),
      rule("get,patch,update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
      events,
    ],
  };
}
