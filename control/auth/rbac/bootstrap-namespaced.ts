// Roles and bindings that every cluster starts with inside kube-system and kube-public, as Kubernetes v1.32 has them.

import { clusterNetworkMap } from "../../../plugins/kit/kube/cluster-network.ts";
import type { PolicyRule } from "./objects.ts";
import { eventsRule, rule } from "./rule.ts";

export interface NamespacedBootstrap {
  namespace: string;
  name: string;
  rules: PolicyRule[];
  /** `u:` a user, `g:` a group, `s:namespace/name` a service account. */
  boundTo: readonly string[];
  /** The name of the binding where it is not that of the role. */
  binding?: string;
}

/** The lock of a leader election is a config map of a known name, or a lease. */
const leaderLock = (name: string): PolicyRule[] => [
  rule("watch", "core", "configmaps"),
  rule("get,update", "core", "configmaps", name),
  rule("create,get,list,update,watch", "coordination.k8s.io", "leases"),
  rule("create,get,list,update,watch", "coordination.k8s.io", "leasecandidates"),
];

export function namespacedBootstrapRoles(): NamespacedBootstrap[] {
  return [
    {
      namespace: "kube-system",
      name: "extension-apiserver-authentication-reader",
      binding: "system::extension-apiserver-authentication-reader",
      rules: [rule("get,list,watch", "core", "configmaps", "extension-apiserver-authentication")],
      boundTo: ["u:system:kube-controller-manager", "u:system:kube-scheduler"],
    },
    {
      // As kubeadm lets nodes read its kubeadm-config.
      namespace: clusterNetworkMap.namespace,
      name: "skiff:nodes-cluster-network",
      rules: [rule("get", "core", "configmaps", clusterNetworkMap.name)],
      boundTo: ["g:system:nodes"],
    },
    {
      namespace: "kube-system",
      name: "system:controller:bootstrap-signer",
      rules: [rule("get,list,watch", "core", "secrets")],
      boundTo: ["s:kube-system/bootstrap-signer"],
    },
    {
      namespace: "kube-system",
      name: "system:controller:cloud-provider",
      rules: [rule("create,get,list,watch", "core", "configmaps")],
      boundTo: ["s:kube-system/cloud-provider"],
    },
    {
      namespace: "kube-system",
      name: "system:controller:token-cleaner",
      rules: [rule("delete,get,list,watch", "core", "secrets"), eventsRule()],
      boundTo: ["s:kube-system/token-cleaner"],
    },
    {
      // Not upstream's own: a join token is used up by the first node certificate.
      namespace: "kube-system",
      name: "skiff:controller:certificate-controller",
      rules: [rule("get,update", "core", "secrets")],
      boundTo: ["s:kube-system/certificate-controller"],
    },
    {
      namespace: "kube-system",
      name: "system::leader-locking-kube-controller-manager",
      rules: leaderLock("kube-controller-manager"),
      boundTo: [
        "u:system:kube-controller-manager",
        "s:kube-system/kube-controller-manager",
        "s:kube-system/leader-election-controller",
      ],
    },
    {
      namespace: "kube-system",
      name: "system::leader-locking-kube-scheduler",
      rules: leaderLock("kube-scheduler"),
      boundTo: ["u:system:kube-scheduler", "s:kube-system/kube-scheduler"],
    },
    {
      namespace: "kube-public",
      name: "system:controller:bootstrap-signer",
      rules: [
        rule("get,list,watch", "core", "configmaps"),
        rule("update", "core", "configmaps", "cluster-info"),
        eventsRule(),
      ],
      boundTo: ["s:kube-system/bootstrap-signer"],
    },
    {
      // As kubeadm has it: a box that wants to join reads where the cluster is before it is anyone.
      namespace: "kube-public",
      name: "kubeadm:bootstrap-signer-clusterinfo",
      rules: [rule("get", "core", "configmaps", "cluster-info")],
      boundTo: ["u:system:anonymous"],
    },
  ];
}
