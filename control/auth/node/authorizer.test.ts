import t from "tap";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import type { PersistentVolume, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { nodeAuthorizer } from "./authorizer.ts";

const pod = (name: string, nodeName: string, spec: object, annotations?: Record<string, string>): Pod =>
  ({
    metadata: { name, namespace: "shop", uid: name, ...(annotations ? { annotations } : {}) },
    spec: { nodeName, containers: [], serviceAccountName: "robot", ...spec },
    status: { resourceClaimStatuses: [{ name: "b", resourceClaimName: "gpu-made" }] },
  }) as unknown as Pod;

function cluster() {
  const pods = new MemoryInformer<Pod>([
    pod("web", "pi", {
      imagePullSecrets: [{ name: "pull" }],
      containers: [
        {
          name: "c",
          image: "i",
          env: [{ name: "A", valueFrom: { secretKeyRef: { name: "env-secret", key: "k" } } }],
          envFrom: [{ configMapRef: { name: "env-map" } }],
        },
      ],
      volumes: [
        { name: "s", secret: { secretName: "vol-secret" } },
        {
          name: "p",
          projected: { sources: [{ configMap: { name: "proj-map" } }, { secret: { name: "proj-secret" } }] },
        },
        { name: "d", persistentVolumeClaim: { claimName: "data" } },
        { name: "scratch", ephemeral: {} },
      ],
      resourceClaims: [
        { name: "a", resourceClaimName: "gpu" },
        { name: "b", resourceClaimTemplateName: "t" },
      ],
    }),
    pod("other", "zero", {
      serviceAccountName: "other-robot",
      volumes: [{ name: "s", secret: { secretName: "other-secret" } }],
    }),
    pod(
      "static",
      "pi",
      { volumes: [{ name: "s", secret: { secretName: "static-secret" } }] },
      { "kubernetes.io/config.mirror": "x" },
    ),
  ]);
  const volume = (name: string, claim: string, secret: string) =>
    ({
      metadata: { name },
      spec: {
        claimRef: { namespace: "shop", name: claim },
        csi: {
          driver: "d",
          volumeHandle: "h",
          nodePublishSecretRef: { namespace: "csi", name: secret },
          controllerPublishSecretRef: { namespace: "csi", name: "csi-controller-secret" },
        },
      },
    }) as unknown as PersistentVolume;
  const views = {
    pods,
    persistentVolumes: new MemoryInformer([
      volume("pv-data", "data", "csi-secret"),
      volume("pv-else", "else", "else-secret"),
    ]),
    volumeAttachments: new MemoryInformer([
      { metadata: { name: "va-pi" }, spec: { nodeName: "pi" } },
      { metadata: { name: "va-zero" }, spec: { nodeName: "zero" } },
    ]),
  };
  return { pods, authorizer: nodeAuthorizer(views) };
}

const node = { name: "system:node:pi", groups: ["system:nodes", "system:authenticated"] };

// verb | group/plural[/sub] | namespace | name | allowed | field selector
const table: [string, string, string, string, boolean, string?][] = [
  ["get", "core/secrets", "shop", "pull", true],
  ["get", "core/secrets", "shop", "env-secret", true],
  ["watch", "core/secrets", "shop", "vol-secret", true],
  ["list", "core/secrets", "shop", "proj-secret", true],
  ["get", "core/secrets", "csi", "csi-secret", true],
  ["get", "core/secrets", "csi", "else-secret", false],
  ["get", "core/secrets", "csi", "csi-controller-secret", false],
  ["get", "core/secrets/status", "shop", "vol-secret", false],
  ["list", "core/secrets", "", "vol-secret", false],
  ["list", "core/secrets", "shop", "", false, "metadata.name=vol-secret"],
  ["get", "core/secrets", "shop", "other-secret", false],
  ["get", "core/secrets", "shop", "static-secret", false],
  ["get", "core/secrets", "elsewhere", "vol-secret", false],
  ["list", "core/secrets", "shop", "", false],
  ["update", "core/secrets", "shop", "vol-secret", false],
  ["get", "core/configmaps", "shop", "env-map", true],
  ["get", "core/configmaps", "shop", "proj-map", true],
  ["get", "core/configmaps", "shop", "nope", false],
  ["get", "core/persistentvolumeclaims", "shop", "data", true],
  ["get", "core/persistentvolumeclaims", "shop", "web-scratch", true],
  ["get", "core/persistentvolumeclaims", "shop", "else", false],
  ["list", "core/persistentvolumeclaims", "shop", "data", false],
  ["patch", "core/persistentvolumeclaims/status", "shop", "data", true],
  ["get", "core/persistentvolumeclaims/status", "shop", "data", false],
  ["get", "core/persistentvolumeclaims/resize", "shop", "data", false],
  ["patch", "core/persistentvolumeclaims/status", "shop", "else", false],
  ["get", "core/persistentvolumes", "", "pv-data", true],
  ["get", "core/persistentvolumes", "", "pv-else", false],
  ["get", "storage.k8s.io/volumeattachments", "", "va-pi", true],
  ["get", "storage.k8s.io/volumeattachments", "", "va-zero", false],
  ["create", "core/serviceaccounts/token", "shop", "robot", true],
  ["create", "core/serviceaccounts/token", "shop", "other-robot", false],
  ["create", "core/serviceaccounts/token", "shop", "", false],
  ["get", "core/serviceaccounts", "shop", "robot", true],
  ["get", "core/serviceaccounts", "shop", "other-robot", false],
  ["list", "core/serviceaccounts", "shop", "robot", false],
  ["create", "core/serviceaccounts", "shop", "robot", false],
  ["update", "coordination.k8s.io/leases", "kube-node-lease", "pi", true],
  ["create", "coordination.k8s.io/leases", "kube-node-lease", "", true],
  ["update", "coordination.k8s.io/leases", "kube-node-lease", "zero", false],
  ["update", "coordination.k8s.io/leases", "kube-system", "pi", false],
  ["create", "storage.k8s.io/csinodes", "", "pi", true],
  ["delete", "storage.k8s.io/csinodes", "", "zero", false],
  ["update", "storage.k8s.io/csinodes/status", "", "pi", false],
  ["get", "core/nodes", "", "pi", true],
  ["get", "core/nodes", "", "zero", false],
  ["get", "core/nodes", "", "zero", false, "metadata.name=pi"],
  ["get", "core/nodes/status", "", "pi", false],
  ["get", "core/nodes/proxy", "", "pi", false],
  ["create", "core/nodes/proxy", "", "pi", false],
  ["get", "core/nodes/log", "", "pi", false],
  ["get", "core/nodes/metrics", "", "pi", false],
  // The name of a list or watch is what its field selector says of metadata.name.
  ["watch", "core/nodes", "", "pi", true, "metadata.name=pi"],
  ["list", "core/nodes", "", "pi", true, "metadata.name=pi"],
  ["list", "core/nodes", "", "zero", false, "metadata.name=zero"],
  ["list", "core/nodes", "", "", false],
  ["create", "core/nodes", "", "", true],
  ["patch", "core/nodes/status", "", "pi", true],
  ["delete", "core/nodes", "", "pi", false],
  ["deletecollection", "core/nodes", "", "pi", false, "metadata.name=pi"],
  // Which node, and which pod, NodeRestriction decides by the stored object.
  ["patch", "core/nodes", "", "zero", true],
  ["patch", "core/nodes/status", "", "zero", true],
  ["delete", "core/pods", "shop", "other", true],
  ["patch", "core/pods/status", "shop", "other", true],
  ["create", "core/pods/eviction", "shop", "other", true],
  ["list", "core/pods", "", "", true, "spec.nodeName=pi"],
  ["list", "core/pods", "", "", true, "status.phase=Running,spec.nodeName==pi"],
  ["watch", "core/pods", "", "", false, "spec.nodeName=zero"],
  ["list", "core/pods", "", "", false, "spec.nodeName!=pi"],
  ["list", "core/pods", "", "", false, "metadata.name=a\\,spec.nodeName=pi"],
  ["list", "core/pods", "", "", false],
  ["list", "core/pods", "shop", "", false],
  ["watch", "core/pods", "shop", "web", true],
  ["watch", "core/pods", "shop", "other", false],
  ["get", "core/pods", "shop", "web", true],
  ["get", "core/pods", "shop", "other", false],
  ["get", "core/pods", "shop", "other", false, "spec.nodeName=pi"],
  ["get", "core/pods/status", "shop", "web", false],
  ["get", "core/pods/log", "shop", "web", false],
  ["create", "core/pods", "shop", "", true],
  ["create", "core/pods/exec", "shop", "web", false],
  ["get", "core/pods/exec", "shop", "web", false],
  ["create", "core/pods/binding", "shop", "web", false],
  ["update", "core/pods/ephemeralcontainers", "shop", "web", false],
  ["update", "core/pods", "shop", "web", false],
  ["deletecollection", "core/pods", "shop", "", false, "spec.nodeName=pi"],
  ["get", "resource.k8s.io/resourceclaims", "shop", "gpu", true],
  ["get", "resource.k8s.io/resourceclaims", "shop", "gpu-made", true],
  ["get", "resource.k8s.io/resourceclaims", "shop", "gpu-of-another", false],
  ["create", "resource.k8s.io/resourceslices", "", "", true],
  ["get", "resource.k8s.io/resourceslices", "", "slice", false],
  ["list", "resource.k8s.io/resourceslices", "", "", false],
  ["deletecollection", "resource.k8s.io/resourceslices", "", "", true, "spec.nodeName=pi"],
  ["list", "certificates.k8s.io/podcertificaterequests", "", "", true, "spec.nodeName=pi"],
  ["update", "certificates.k8s.io/podcertificaterequests/status", "shop", "x", false],
  ["list", "core/services", "", "", true],
  ["list", "core/endpoints", "", "", false],
  ["patch", "core/services/status", "shop", "web", false],
  ["list", "core/namespaces", "", "", false],
  ["list", "discovery.k8s.io/endpointslices", "", "", false],
  ["list", "networking.k8s.io/networkpolicies", "", "", false],
  ["create", "core/events", "shop", "", true],
  ["list", "storage.k8s.io/csidrivers", "", "", true],
  ["get", "node.k8s.io/runtimeclasses", "", "kata", true],
  ["create", "authentication.k8s.io/tokenreviews", "", "", true],
  ["create", "authorization.k8s.io/subjectaccessreviews", "", "", true],
  ["create", "certificates.k8s.io/certificatesigningrequests", "", "", true],
  ["approve", "certificates.k8s.io/signers", "", "kubernetes.io/kubelet-serving", false],
  ["list", "apps/deployments", "", "", false],
  ["create", "rbac.authorization.k8s.io/clusterrolebindings", "", "", false],
];

function question(verb: string, what: string, namespace: string, name: string, fieldSelector?: string) {
  const [group = "", plural = "", subresource = ""] = what.split("/");
  const place = { version: "v1", plural, subresource, namespace, name };
  return {
    verb,
    resource: { group: group === "core" ? "" : group, ...place, ...(fieldSelector ? { fieldSelector } : {}) },
  };
}

t.test("nodeAuthorizer() lets a node touch only what its pods need", async (t) => {
  const { authorizer } = cluster();
  for (const [verb, what, namespace, name, isAllowed, fieldSelector] of table) {
    const asked = { user: node, ...question(verb, what, namespace, name, fieldSelector) };
    const { answer, reason } = await authorizer.authorize(asked, uninterrupted);
    t.equal(
      answer,
      isAllowed ? "allow" : "no-opinion",
      `${verb} ${what} ${namespace}/${name} ${fieldSelector ?? ""} (${reason})`,
    );
  }
});

t.test("nodeAuthorizer() follows pods that come, move and go", async (t) => {
  const { authorizer, pods } = cluster();
  const ask = async () =>
    (await authorizer.authorize({ user: node, ...question("get", "core/secrets", "shop", "late") }, uninterrupted))
      .answer;
  t.equal(await ask(), "no-opinion");
  const late = pod("late", "pi", { volumes: [{ name: "s", secret: { secretName: "late" } }] });
  pods.put(late);
  t.equal(await ask(), "allow");
  pods.delete(late);
  t.equal(await ask(), "no-opinion");
});

t.test("nodeAuthorizer() has no opinion on those who are no node", async (t) => {
  const { authorizer } = cluster();
  for (const user of [
    { name: "system:node:pi", groups: ["system:authenticated"] },
    { name: "pi", groups: ["system:nodes"] },
    { name: "system:node:", groups: ["system:nodes"] },
  ]) {
    const asked = { user, ...question("get", "core/nodes", "", "pi") };
    t.equal((await authorizer.authorize(asked, uninterrupted)).answer, "no-opinion");
  }
});
