// Every resource through every verb, as conformance asks of each: create, get, list, watch, update, patch, apply, status,
// delete and deletecollection.

import t, { type Test } from "tap";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { ResourceRef } from "../../plugins/kit/kube/objects/resources.ts";
import { admin, type Json, startApi, type TestApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";

const podSpec = { containers: [{ name: "a", image: "x" }] };
const template = { metadata: { labels: { app: "a" } }, spec: podSpec };
const selector = { matchLabels: { app: "a" } };
const workload = { selector, template };
const webhook = {
  name: "a.example.com",
  clientConfig: { url: "https://127.0.0.1:1/" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [{ apiGroups: ["none"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] }],
};
const ready = { conditions: [{ type: "Ready", status: "True" }] };
const condition = {
  conditions: [
    { type: "Checked", status: "True", reason: "Test", message: "seen", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ],
};

interface Sample {
  /** Whether the server has said what it says of every new one. */
  settles?: (object: Json) => boolean;
  readonly path: string;
  readonly kind: string;
  readonly isClusterWide?: boolean;
  readonly object?: Json;
  /** A status to write, for those that have one. */
  readonly status?: Json;
}

const samples: readonly Sample[] = [
  { path: "api/v1/configmaps", kind: "ConfigMap", object: { data: { a: "b" } } },
  { path: "api/v1/secrets", kind: "Secret", object: { stringData: { a: "b" } } },
  { path: "api/v1/serviceaccounts", kind: "ServiceAccount" },
  { path: "api/v1/endpoints", kind: "Endpoints", object: { subsets: [] } },
  { path: "api/v1/limitranges", kind: "LimitRange", object: { spec: { limits: [] } } },
  { path: "api/v1/podtemplates", kind: "PodTemplate", object: { template } },
  { path: "api/v1/pods", kind: "Pod", object: { spec: podSpec }, status: { phase: "Running" } },
  { path: "api/v1/services", kind: "Service", object: { spec: { ports: [{ port: 80 }] } }, status: condition },
  {
    path: "api/v1/replicationcontrollers",
    kind: "ReplicationController",
    object: { spec: { selector: { app: "a" }, template } },
    status: { replicas: 1 },
  },
  {
    path: "api/v1/resourcequotas",
    kind: "ResourceQuota",
    object: { spec: { hard: { pods: "5" } } },
    status: { hard: { pods: "5" }, used: { pods: "1" } },
  },
  {
    path: "api/v1/persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    object: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    status: { phase: "Pending" },
  },
  {
    path: "api/v1/persistentvolumes",
    kind: "PersistentVolume",
    isClusterWide: true,
    object: { spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } } },
    status: { phase: "Available" },
  },
  { path: "api/v1/nodes", kind: "Node", isClusterWide: true, status: ready },
  { path: "api/v1/namespaces", kind: "Namespace", isClusterWide: true, status: condition },
  {
    path: "api/v1/events",
    kind: "Event",
    object: { involvedObject: { kind: "Pod", namespace: "default", name: "a" }, reason: "R", message: "m" },
  },
  { path: "apis/apps/v1/deployments", kind: "Deployment", object: { spec: workload }, status: { replicas: 1 } },
  { path: "apis/apps/v1/replicasets", kind: "ReplicaSet", object: { spec: workload }, status: { replicas: 1 } },
  {
    path: "apis/apps/v1/daemonsets",
    kind: "DaemonSet",
    object: { spec: workload },
    status: { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 1 },
  },
  {
    path: "apis/apps/v1/statefulsets",
    kind: "StatefulSet",
    object: { spec: { ...workload, serviceName: "a" } },
    status: { replicas: 1 },
  },
  { path: "apis/apps/v1/controllerrevisions", kind: "ControllerRevision", object: { revision: 1, data: { a: 1 } } },
  {
    path: "apis/batch/v1/jobs",
    kind: "Job",
    object: { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } },
    status: { startTime: "2026-01-01T00:00:00Z", active: 1 },
  },
  {
    path: "apis/batch/v1/cronjobs",
    kind: "CronJob",
    object: {
      spec: {
        schedule: "* * * * *",
        jobTemplate: { spec: { template: { spec: { ...podSpec, restartPolicy: "Never" } } } },
      },
    },
    status: { lastScheduleTime: "2026-01-01T00:00:00Z" },
  },
  {
    path: "apis/autoscaling/v2/horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
    object: { spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" }, maxReplicas: 3 } },
    status: { currentReplicas: 1, desiredReplicas: 1 },
  },
  {
    path: "apis/autoscaling/v1/horizontalpodautoscalers",
    kind: "HorizontalPodAutoscaler",
    object: { spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" }, maxReplicas: 3 } },
    status: { currentReplicas: 1, desiredReplicas: 1 },
  },
  {
    path: "apis/policy/v1/poddisruptionbudgets",
    kind: "PodDisruptionBudget",
    object: { spec: { minAvailable: 1, selector } },
    status: { currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0, expectedPods: 1 },
  },
  {
    path: "apis/discovery.k8s.io/v1/endpointslices",
    kind: "EndpointSlice",
    object: { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"] }] },
  },
  {
    path: "apis/events.k8s.io/v1/events",
    kind: "Event",
    object: {
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/a",
      reportingInstance: "a",
      action: "A",
      reason: "R",
      type: "Normal",
      regarding: { kind: "Pod", namespace: "default", name: "a" },
    },
  },
  { path: "apis/coordination.k8s.io/v1/leases", kind: "Lease", object: { spec: { holderIdentity: "a" } } },
  {
    path: "apis/networking.k8s.io/v1/ingresses",
    kind: "Ingress",
    object: { spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } } } },
    status: { loadBalancer: { ingress: [{ ip: "10.0.0.1" }] } },
  },
  {
    path: "apis/networking.k8s.io/v1/ingressclasses",
    kind: "IngressClass",
    isClusterWide: true,
    object: { spec: { controller: "example.com/a" } },
  },
  { path: "apis/networking.k8s.io/v1/networkpolicies", kind: "NetworkPolicy", object: { spec: { podSelector: {} } } },
  { path: "apis/node.k8s.io/v1/runtimeclasses", kind: "RuntimeClass", isClusterWide: true, object: { handler: "a" } },
  {
    path: "apis/scheduling.k8s.io/v1/priorityclasses",
    kind: "PriorityClass",
    isClusterWide: true,
    object: { value: 5 },
  },
  {
    path: "apis/storage.k8s.io/v1/storageclasses",
    kind: "StorageClass",
    isClusterWide: true,
    object: { provisioner: "example.com/a" },
  },
  { path: "apis/storage.k8s.io/v1/csidrivers", kind: "CSIDriver", isClusterWide: true, object: { spec: {} } },
  {
    path: "apis/storage.k8s.io/v1/csinodes",
    kind: "CSINode",
    isClusterWide: true,
    object: { spec: { drivers: [] } },
  },
  {
    path: "apis/storage.k8s.io/v1/csistoragecapacities",
    kind: "CSIStorageCapacity",
    object: { storageClassName: "a" },
  },
  {
    path: "apis/storage.k8s.io/v1/volumeattachments",
    kind: "VolumeAttachment",
    isClusterWide: true,
    object: { spec: { attacher: "example.com", nodeName: "n", source: { persistentVolumeName: "v" } } },
    status: { attached: true },
  },
  { path: "apis/rbac.authorization.k8s.io/v1/roles", kind: "Role", object: { rules: [] } },
  {
    path: "apis/rbac.authorization.k8s.io/v1/rolebindings",
    kind: "RoleBinding",
    object: { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" } },
  },
  {
    path: "apis/rbac.authorization.k8s.io/v1/clusterroles",
    kind: "ClusterRole",
    isClusterWide: true,
    object: { rules: [] },
  },
  {
    path: "apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    kind: "ClusterRoleBinding",
    isClusterWide: true,
    object: { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "a" } },
  },
  {
    path: "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    kind: "MutatingWebhookConfiguration",
    isClusterWide: true,
    object: { webhooks: [webhook] },
  },
  {
    path: "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    kind: "ValidatingWebhookConfiguration",
    isClusterWide: true,
    object: { webhooks: [webhook] },
  },
  {
    path: "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    kind: "ValidatingAdmissionPolicy",
    isClusterWide: true,
    object: {
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: ["none"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] }],
        },
        validations: [{ expression: "true" }],
      },
    },
    status: condition,
  },
  {
    path: "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    isClusterWide: true,
    object: { spec: { policyName: "a", validationActions: ["Deny"] } },
  },
  {
    path: "apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    kind: "FlowSchema",
    isClusterWide: true,
    object: {
      spec: { matchingPrecedence: 5000, priorityLevelConfiguration: { name: "global-default" }, rules: [] },
    },
    // What the server itself says of it, so that it has nothing to add meanwhile.
    status: {
      conditions: [
        {
          type: "Dangling",
          status: "False",
          reason: "Found",
          message:
            'This FlowSchema references the PriorityLevelConfiguration object named "global-default" and it exists',
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
    settles: ({ status }) => status?.conditions !== undefined,
  },
  {
    path: "apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    kind: "PriorityLevelConfiguration",
    isClusterWide: true,
    object: { spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } },
    status: condition,
  },
];

const merge = { "content-type": "application/merge-patch+json" };
/** Replication controllers and jobs leave their pods behind unless told otherwise, and wait for that. */
const now = { gracePeriodSeconds: 0, propagationPolicy: "Background" };
const apply = { "content-type": "application/apply-patch+yaml" };

function pathsOf({ path, isClusterWide }: Sample): {
  collection: string;
  everywhere: string;
  group: string;
  version: string;
  plural: string;
} {
  const parts = path.split("/");
  const plural = parts.at(-1) ?? "";
  const base = `/${parts.slice(0, -1).join("/")}`;
  const isCore = parts[0] === "api";
  return {
    collection: isClusterWide ? `${base}/${plural}` : `${base}/namespaces/default/${plural}`,
    everywhere: `${base}/${plural}`,
    group: isCore ? "" : (parts[1] ?? ""),
    version: parts.at(-2) ?? "",
    plural,
  };
}

async function operate(t: Test, api: TestApi, sample: Sample): Promise<void> {
  const { collection, everywhere, group, version, plural } = pathsOf(sample);
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const named = (name: string, labels: Record<string, string>) => ({
    kind: sample.kind,
    apiVersion,
    ...sample.object,
    metadata: { name, labels },
  });
  const ask = async (
    wanted: number,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => {
    const { status, body: answered, text } = await api.ask(method, path, body, headers);
    if (status !== wanted) t.fail(`${method} ${path}: ${status} ${text.slice(0, 300)}`);
    return answered;
  };
  const ref: ResourceRef = { group, version, plural, kind: sample.kind, namespaced: !sample.isClusterWide };
  const client = new ApiClient({ fetch: api.server.fetchAs(admin) });
  const run = { suite: `ops-${plural}` };
  const query = `?labelSelector=suite%3D${run.suite}`;
  const began = (await ask(200, "GET", collection)).metadata.resourceVersion;
  const stop = new AbortController();
  const heard: string[] = [];
  const watching = (async () => {
    const options = { labelSelector: `suite=${run.suite}`, resourceVersion: began };
    for await (const { type, object } of client.watch<Json>(ref, options, stop))
      heard.push(`${type} ${object.metadata.name}`);
  })().catch(() => {});
  try {
    let made = await ask(201, "POST", collection, named("a", run));
    if (sample.settles)
      await until(`the server to have looked at ${plural}`, async () => {
        made = await ask(200, "GET", `${collection}/a`);
        return sample.settles?.(made);
      });
    t.ok(made.metadata.uid && made.metadata.creationTimestamp && made.metadata.resourceVersion, "created");
    await ask(409, "POST", collection, named("a", run));
    const got = await ask(200, "GET", `${collection}/a`);
    t.same(got, made, "as it was made");
    t.equal((await ask(200, "GET", everywhere + query)).items.length, 1, "found by its label, in all namespaces");
    const patched = await ask(
      200,
      "PATCH",
      `${collection}/a`,
      { metadata: { annotations: { patched: "yes" } } },
      merge,
    );
    t.equal(patched.metadata.annotations.patched, "yes");
    patched.metadata.annotations.updated = "yes";
    const updated = await ask(200, "PUT", `${collection}/a`, patched);
    t.equal(updated.metadata.annotations.updated, "yes");
    await ask(409, "PUT", `${collection}/a`, patched);
    const owned = { apiVersion, kind: sample.kind, metadata: { name: "a", labels: { applied: "yes" } } };
    const applied = await ask(200, "PATCH", `${collection}/a?fieldManager=me`, owned, apply);
    t.equal(applied.metadata.labels?.applied, "yes", "applied");
    if (sample.status) {
      const written = await ask(200, "PATCH", `${collection}/a/status`, { status: sample.status }, merge);
      t.match(written.status, sample.status, "its status was patched");
      written.metadata.annotations = { ...written.metadata.annotations, viaStatus: "yes" };
      await ask(200, "PUT", `${collection}/a/status`, written);
      t.match((await ask(200, "GET", `${collection}/a/status`)).status, sample.status, "and read");
    }
    if (plural !== "namespaces") {
      await ask(201, "POST", collection, named("b", run));
      await ask(201, "POST", `${collection}?dryRun=All`, named("c", run));
      await ask(200, "DELETE", `${collection}/b`, now);
      await ask(404, "GET", `${collection}/b`);
      await ask(201, "POST", collection, named("b", run));
      await ask(200, "DELETE", `${collection}${query}`, now);
      t.equal((await ask(200, "GET", collection + query)).items.length, 0, "deleted as a collection");
      await until("the watch to tell all of it", () => heard.includes("DELETED a"));
      t.same(
        heard.filter((event) => event.endsWith(" b") && !event.startsWith("MODIFIED")),
        ["ADDED b", "DELETED b", "ADDED b", "DELETED b"],
      );
      t.equal(heard[0], "ADDED a");
    }
  } finally {
    stop.abort();
    await watching;
  }
}

t.test("every resource takes every verb", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  for (const sample of samples) await t.test(`${sample.path}`, (t) => operate(t, api, sample));
});
