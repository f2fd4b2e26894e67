// The cluster roles every cluster starts with, controllers' roles excepted: names and powers as Kubernetes v1.32 has them.

import { daemonGroup, nodeDaemonSigner } from "../../../plugins/kit/kube/node-daemon.ts";
import type { PolicyRule } from "./objects.ts";
import { eventsRule, everyVerb, read, rule, urlRule, write } from "./rule.ts";

const authentication = "authentication.k8s.io";
const authorization = "authorization.k8s.io";
const certificates = "certificates.k8s.io";
const coordination = "coordination.k8s.io";
const discovery = "discovery.k8s.io";
const networking = "networking.k8s.io";
const rbac = "rbac.authorization.k8s.io";
const storage = "storage.k8s.io";

const viewRules = (): PolicyRule[] => [
  rule(
    read,
    "core",
    "configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
  ),
  rule(
    read,
    "core",
    "bindings,events,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status",
  ),
  rule(read, "core", "namespaces"),
  rule(read, discovery, "endpointslices"),
  rule(
    read,
    "apps",
    "controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,statefulsets/scale,statefulsets/status",
  ),
  rule(read, "autoscaling", "horizontalpodautoscalers,horizontalpodautoscalers/status"),
  rule(read, "batch", "cronjobs,cronjobs/status,jobs,jobs/status"),
  rule(
    read,
    "extensions",
    "daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,replicationcontrollers/scale",
  ),
  rule(read, "policy", "poddisruptionbudgets,poddisruptionbudgets/status"),
  rule(read, networking, "ingresses,ingresses/status,networkpolicies"),
];

const editRules = (): PolicyRule[] => [
  rule(read, "core", "pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy"),
  rule("impersonate", "core", "serviceaccounts"),
  rule(write, "core", "pods,pods/attach,pods/exec,pods/portforward,pods/proxy"),
  rule("create", "core", "pods/eviction"),
  rule(
    write,
    "core",
    "configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy",
  ),
  rule("create", "core", "serviceaccounts/token"),
  rule(
    write,
    "apps",
    "daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,replicasets/scale,statefulsets,statefulsets/scale",
  ),
  rule(write, "autoscaling", "horizontalpodautoscalers"),
  rule(write, "batch", "cronjobs,jobs"),
  rule(
    write,
    "extensions",
    "daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale",
  ),
  rule(write, "policy", "poddisruptionbudgets"),
  rule(write, networking, "ingresses,networkpolicies"),
  rule(everyVerb, coordination, "leases"),
];

const adminRules = (): PolicyRule[] => [
  rule("create", authorization, "localsubjectaccessreviews"),
  rule(everyVerb, rbac, "rolebindings,roles"),
];

const nodeRules = (): PolicyRule[] => [
  rule("create", authentication, "tokenreviews"),
  rule("create", authorization, "localsubjectaccessreviews,subjectaccessreviews"),
  rule(read, "core", "services"),
  rule("create,get,list,watch", "core", "nodes"),
  rule("patch,update", "core", "nodes/status"),
  rule("patch,update", "core", "nodes"),
  eventsRule(),
  rule(read, "core", "pods"),
  rule("create,delete", "core", "pods"),
  rule("patch,update", "core", "pods/status"),
  rule("create", "core", "pods/eviction"),
  rule(read, "core", "configmaps,secrets"),
  rule("get", "core", "persistentvolumeclaims,persistentvolumes"),
  rule("get", "core", "endpoints"),
  rule("create,get,list,watch", certificates, "certificatesigningrequests"),
  rule("create,delete,get,patch,update", coordination, "leases"),
  rule("get", storage, "volumeattachments"),
  rule("create", "core", "serviceaccounts/token"),
  rule("get,patch,update", "core", "persistentvolumeclaims/status"),
  rule(read, storage, "csidrivers"),
  rule("create,delete,get,patch,update", storage, "csinodes"),
  rule(read, "node.k8s.io", "runtimeclasses"),
  rule("get", "resource.k8s.io", "resourceclaims"),
  rule("deletecollection", "resource.k8s.io", "resourceslices"),
  rule(read, certificates, "clustertrustbundles"),
  rule("get", "core", "serviceaccounts"),
  rule("create,get,list,watch", certificates, "podcertificaterequests"),
];

const schedulerRules = (): PolicyRule[] => [
  eventsRule(),
  rule("create", coordination, "leases"),
  rule("get,list,update,watch", coordination, "leases", "kube-scheduler"),
  rule(everyVerb, coordination, "leasecandidates"),
  rule(read, "core", "nodes"),
  rule("delete,get,list,watch", "core", "pods"),
  rule("create", "core", "bindings,pods/binding"),
  rule("patch,update", "core", "pods/status"),
  rule(read, "core", "replicationcontrollers,services"),
  rule(read, "apps,extensions", "replicasets"),
  rule(read, "apps", "statefulsets"),
  rule(read, "policy", "poddisruptionbudgets"),
  rule(read, "core", "persistentvolumeclaims,persistentvolumes"),
  rule("create", authentication, "tokenreviews"),
  rule("create", authorization, "subjectaccessreviews"),
  rule(read, storage, "csinodes"),
  rule(read, "core", "namespaces"),
  rule(read, storage, "csidrivers"),
  rule(read, storage, "csistoragecapacities"),
  rule(read, storage, "volumeattachments"),
];

const controllerManagerRules = (): PolicyRule[] => [
  eventsRule(),
  rule("create", coordination, "leases"),
  rule("get,update", coordination, "leases", "kube-controller-manager"),
  rule("create", "core", "secrets,serviceaccounts"),
  rule("delete", "core", "secrets"),
  rule("get", "core", "configmaps,namespaces,secrets,serviceaccounts"),
  rule("update", "core", "secrets,serviceaccounts"),
  rule("create", authentication, "tokenreviews"),
  rule("create", authorization, "subjectaccessreviews"),
  rule("list,watch", "*", "*"),
  rule("create", "core", "serviceaccounts/token"),
];

const discoveryUrls = "/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/";

export interface BootstrapRole {
  name: string;
  rules: PolicyRule[];
  labels?: Record<string, string>;
  /** Rules come from the roles with this label instead. */
  aggregates?: string;
}

const signer = (name: string, verb: string) => rule(verb, certificates, "signers", `kubernetes.io/${name}`);
const aggregateTo = (role: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: "true" });

export function bootstrapClusterRoles(): BootstrapRole[] {
  return [
    { name: "cluster-admin", rules: [rule("*", "*", "*"), urlRule("*", "*")] },
    { name: "system:discovery", rules: [urlRule("get", discoveryUrls)] },
    {
      name: "system:monitoring",
      rules: [urlRule("get", "/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*")],
    },
    {
      name: "system:basic-user",
      rules: [
        rule("create", authorization, "selfsubjectaccessreviews,selfsubjectrulesreviews"),
        rule("create", authentication, "selfsubjectreviews"),
      ],
    },
    { name: "system:public-info-viewer", rules: [urlRule("get", "/healthz,/livez,/readyz,/version,/version/")] },
    { name: "admin", rules: [], aggregates: "admin" },
    { name: "edit", rules: [], aggregates: "edit", labels: aggregateTo("admin") },
    { name: "view", rules: [], aggregates: "view", labels: aggregateTo("edit") },
    { name: "system:aggregate-to-admin", rules: adminRules(), labels: aggregateTo("admin") },
    { name: "system:aggregate-to-edit", rules: editRules(), labels: aggregateTo("edit") },
    { name: "system:aggregate-to-view", rules: viewRules(), labels: aggregateTo("view") },
    {
      name: "system:aggregated-metrics-reader",
      rules: [rule("get,list,watch", "metrics.k8s.io", "nodes,pods")],
      labels: { ...aggregateTo("view"), ...aggregateTo("edit"), ...aggregateTo("admin") },
    },
    {
      name: "system:heapster",
      rules: [rule(read, "core", "events,namespaces,nodes,pods"), rule(read, "extensions", "deployments")],
    },
    { name: "system:node", rules: nodeRules() },
    {
      name: "system:node-problem-detector",
      rules: [rule("get", "core", "nodes"), rule("patch", "core", "nodes/status"), eventsRule()],
    },
    {
      name: "system:kubelet-api-admin",
      rules: [
        rule(read, "core", "nodes"),
        rule("proxy", "core", "nodes"),
        rule("*", "core", "nodes/log,nodes/metrics,nodes/proxy,nodes/stats"),
      ],
    },
    {
      name: "system:node-bootstrapper",
      rules: [rule("create,get,list,watch", certificates, "certificatesigningrequests")],
    },
    {
      name: "system:auth-delegator",
      rules: [rule("create", authentication, "tokenreviews"), rule("create", authorization, "subjectaccessreviews")],
    },
    { name: "system:kube-aggregator", rules: [rule(read, "core", "endpoints,services")] },
    { name: "system:kube-controller-manager", rules: controllerManagerRules() },
    { name: "system:kube-dns", rules: [rule("list,watch", "core", "endpoints,services")] },
    {
      name: "system:persistent-volume-provisioner",
      rules: [
        rule("create,delete,get,list,watch", "core", "persistentvolumes"),
        rule("get,list,update,watch", "core", "persistentvolumeclaims"),
        rule(read, storage, "storageclasses"),
        rule("watch", "core", "events"),
        eventsRule(),
      ],
    },
    {
      name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
      rules: [rule("create", certificates, "certificatesigningrequests/nodeclient")],
    },
    {
      name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
      rules: [rule("create", certificates, "certificatesigningrequests/selfnodeclient")],
    },
    {
      name: "system:volume-scheduler",
      rules: [
        rule("get,list,patch,update,watch", "core", "persistentvolumes"),
        rule(read, storage, "storageclasses"),
        rule("get,list,patch,update,watch", "core", "persistentvolumeclaims"),
      ],
    },
    { name: "system:certificates.k8s.io:legacy-unknown-approver", rules: [signer("legacy-unknown", "approve")] },
    { name: "system:certificates.k8s.io:kubelet-serving-approver", rules: [signer("kubelet-serving", "approve")] },
    {
      name: "system:certificates.k8s.io:kube-apiserver-client-approver",
      rules: [signer("kube-apiserver-client", "approve")],
    },
    {
      name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
      rules: [signer("kube-apiserver-client-kubelet", "approve")],
    },
    {
      name: "system:service-account-issuer-discovery",
      rules: [
        urlRule(
          "get",
          "/.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,/openid/v1/jwks/",
        ),
      ],
    },
    {
      name: "system:node-proxier",
      rules: [
        rule("list,watch", "core", "endpoints,services"),
        rule(read, "core", "nodes"),
        eventsRule(),
        rule("list,watch", discovery, "endpointslices"),
      ],
    },
    // Not upstream's own: what our server asks kubelets for beside what upstream's does.
    { name: "skiff:kubelet-api", rules: [rule("*", "core", "nodes/checkpoint,nodes/spec")] },
    {
      // Not upstream's own: what the network policies of a node are made of.
      name: "skiff:network-policy",
      rules: [rule("list,watch", "core", "namespaces,pods"), rule("list,watch", networking, "networkpolicies")],
    },
    {
      // Not upstream's own: certificates of the network daemons of nodes.
      name: "skiff:node-daemon-signer",
      rules: [rule("approve,sign", certificates, "signers", nodeDaemonSigner)],
    },
    { name: "system:kube-scheduler", rules: schedulerRules() },
  ];
}

/** Cluster role to the subjects it is bound to from the start: `g:` a group, `u:` a user. */
export const bootstrapClusterRoleBindings: Readonly<Record<string, { role?: string; subjects: readonly string[] }>> = {
  "cluster-admin": { subjects: ["g:system:masters"] },
  "system:monitoring": { subjects: ["g:system:monitoring"] },
  "system:discovery": { subjects: ["g:system:authenticated"] },
  "system:basic-user": { subjects: ["g:system:authenticated"] },
  "system:public-info-viewer": { subjects: ["g:system:authenticated", "g:system:unauthenticated"] },
  "system:node-proxier": { subjects: ["u:system:kube-proxy"] },
  // The service proxy, DNS and overlay of each node read what kube-proxy does.
  "skiff:service-proxy": { role: "system:node-proxier", subjects: [`g:${daemonGroup("service-proxy")}`] },
  "skiff:network-policy": { subjects: [`g:${daemonGroup("network-policy")}`] },
  "skiff:node-daemon-signer": { subjects: ["s:kube-system/certificate-controller"] },
  "system:kube-controller-manager": { subjects: ["u:system:kube-controller-manager"] },
  "system:kube-dns": { subjects: ["s:kube-system/kube-dns"] },
  "system:kube-scheduler": { subjects: ["u:system:kube-scheduler"] },
  "system:volume-scheduler": { subjects: ["u:system:kube-scheduler"] },
  "system:node": { subjects: [] },
  "system:service-account-issuer-discovery": { subjects: ["g:system:serviceaccounts"] },
  // Not upstream's own but those every joining tool makes: a bootstrap token may ask for a node certificate, which is approved by itself.
  "skiff:node-bootstrapper": {
    role: "system:node-bootstrapper",
    subjects: ["g:system:bootstrappers:skiff:default-node-token"],
  },
  "skiff:node-autoapprove-bootstrap": {
    role: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    subjects: ["g:system:bootstrappers:skiff:default-node-token"],
  },
  "skiff:node-autoapprove-certificate-rotation": {
    role: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
    subjects: ["g:system:nodes"],
  },
  // Our certificate controller approves what a node serves under its own addresses; upstream leaves that to a person.
  "skiff:kubelet-serving-approver": {
    role: "system:certificates.k8s.io:kubelet-serving-approver",
    subjects: ["s:kube-system/certificate-controller"],
  },
  "skiff:kubelet-api": { subjects: ["u:kube-apiserver-kubelet-client"] },
  "skiff:kubelet-api-admin": { role: "system:kubelet-api-admin", subjects: ["u:kube-apiserver-kubelet-client"] },
};

/** Of earlier versions, under this name as a role and its binding: every node could list all pods, nodes and namespaces by it. */
export const retiredClusterRoles: readonly string[] = ["skiff:node-network"];
