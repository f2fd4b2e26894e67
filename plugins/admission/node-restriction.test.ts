import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import type { AdmissionRequest } from "../kit/contracts/admission.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { createKeyPair, createSigningRequest } from "../kit/os/x509.ts";
import { nodeRestriction } from "./node-restriction.ts";

const user = { name: "system:node:pi", groups: ["system:nodes", "system:authenticated"] };
const node = (metadata: object, spec: object = {}) =>
  ({ apiVersion: "v1", kind: "Node", metadata: { name: "pi", ...metadata }, spec }) as KubeObject;
const owner = { apiVersion: "v1", kind: "Node", name: "pi", uid: "n1", controller: true };
const mirror = (spec: object = {}, metadata: object = {}) =>
  podOf(
    { nodeName: "pi", ...spec },
    { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner], ...metadata },
  );
const tokenVolume = { name: "t", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
const vault = { name: "v", projected: { sources: [{ serviceAccountToken: { path: "token", audience: "vault" } }] } };
const csiVolume = { name: "c", csi: { driver: "csi.test" } };
const bound = (nodeName: string) => podOf({ nodeName, volumes: [tokenVolume, vault, csiVolume] }, { uid: "p1" });
const claim = (status: object, metadata: object = {}, spec: object = { volumeName: "v" }) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "shop", ...metadata },
  spec,
  status,
});
const claimStatus = (next: object) =>
  on(next, {
    resource: "persistentvolumeclaims",
    subresource: "status",
    operation: "UPDATE",
    oldObject: claim({ phase: "Bound", capacity: { storage: "1Gi" } }) as KubeObject,
  });
const signing = (commonName: string, signerName: string) =>
  on(
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "csr" },
      spec: {
        signerName,
        request: Buffer.from(
          createSigningRequest({ key: createKeyPair().key, commonName, organizations: ["system:nodes"] }),
        ).toString("base64"),
      },
    },
    { resource: "certificatesigningrequests", group: "certificates.k8s.io" },
  );
const on = (object: object, over: Partial<AdmissionRequest> & { resource: string }) =>
  createRequest(object, { user, ...over });
const token = (ref: object | undefined, audiences?: string[]) =>
  on(
    {
      apiVersion: "v1",
      kind: "TokenRequest",
      metadata: { name: "robot", namespace: "shop" },
      spec: { boundObjectRef: ref, ...(audiences ? { audiences } : {}) },
    },
    { resource: "serviceaccounts", subresource: "token" },
  );
const lease = (name: string, namespace = "kube-node-lease") =>
  on(
    { apiVersion: "v1", kind: "Lease", metadata: { name, namespace } },
    { resource: "leases", group: "coordination.k8s.io" },
  );

const rows: [string, AdmissionRequest, RegExp | undefined][] = [
  ["creates a mirror pod", on(mirror(), { resource: "pods" }), undefined],
  ["creates an ordinary pod", on(bound("pi"), { resource: "pods" }), /can only create mirror pods/],
  [
    "creates a mirror pod elsewhere",
    on(mirror({ nodeName: "zero" }), { resource: "pods" }),
    /spec.nodeName set to itself/,
  ],
  [
    "creates one without an owner",
    on(mirror({}, { ownerReferences: [] }), { resource: "pods" }),
    /an owner reference set to itself/,
  ],
  [
    "creates one with two owners",
    on(mirror({}, { ownerReferences: [owner, { ...owner, uid: "n2" }] }), { resource: "pods" }),
    /single owner reference/,
  ],
  [
    "creates one owned by another",
    on(mirror({}, { ownerReferences: [{ ...owner, uid: "n2" }] }), { resource: "pods" }),
    /UID mismatch/,
  ],
  [
    "creates one with a secret",
    on(mirror({ volumes: [{ name: "s", secret: { secretName: "x" } }] }), { resource: "pods" }),
    /reference secrets/,
  ],
  [
    "creates one with an account",
    on(mirror({ serviceAccountName: "x" }), { resource: "pods" }),
    /reference serviceaccounts/,
  ],
  ["deletes its pod", on(bound("pi"), { resource: "pods", operation: "DELETE", oldObject: bound("pi") }), undefined],
  [
    "deletes another's pod",
    on(bound("zero"), { resource: "pods", operation: "DELETE", oldObject: bound("zero") }),
    /can only delete pods/,
  ],
  [
    "updates a pod's spec",
    on(bound("pi"), { resource: "pods", operation: "UPDATE", oldObject: bound("pi") }),
    /unexpected operation/,
  ],
  [
    "updates its pod's status",
    on(bound("pi"), { resource: "pods", subresource: "status", operation: "UPDATE", oldObject: bound("pi") }),
    undefined,
  ],
  [
    "updates another's status",
    on(bound("zero"), { resource: "pods", subresource: "status", operation: "UPDATE", oldObject: bound("zero") }),
    /can only update pod status/,
  ],
  [
    "updates its pod's status with fields in another order",
    on(podOf({ nodeName: "pi" }, { uid: "p1", labels: { b: "2", a: "1" } }), {
      resource: "pods",
      subresource: "status",
      operation: "UPDATE",
      oldObject: podOf({ nodeName: "pi" }, { uid: "p1", labels: { a: "1", b: "2" } }),
    }),
    undefined,
  ],
  [
    "labels a pod by its status",
    on(podOf({ nodeName: "pi" }, { labels: { a: "b" } }), {
      resource: "pods",
      subresource: "status",
      operation: "UPDATE",
      oldObject: bound("pi"),
    }),
    /cannot update labels/,
  ],
  [
    "evicts its pod",
    on(
      { kind: "Eviction", metadata: { name: "web", namespace: "shop" } },
      { resource: "pods", subresource: "eviction" },
    ),
    undefined,
  ],
  [
    "registers itself",
    on(node({ labels: { "kubernetes.io/hostname": "pi", mine: "x" } }), { resource: "nodes" }),
    undefined,
  ],
  ["registers another", on(node({ name: "zero" }), { resource: "nodes" }), /not allowed to modify node "zero"/],
  [
    "registers with a role",
    on(node({ labels: { "node-role.kubernetes.io/control-plane": "" } }), { resource: "nodes" }),
    /not allowed to set the following labels: node-role.kubernetes.io\/control-plane/,
  ],
  [
    "sets a restricted label",
    on(node({ labels: { "node-restriction.kubernetes.io/zone": "a" } }), {
      resource: "nodes",
      operation: "UPDATE",
      oldObject: node({}),
    }),
    /is not allowed to modify labels: node-restriction/,
  ],
  [
    "gives itself an owner (CVE-2025-5187)",
    on(node({ ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "u" }] }), {
      resource: "nodes",
      operation: "UPDATE",
      oldObject: node({}),
    }),
    /not allowed to modify ownerReferences/,
  ],
  [
    "registers with an owner",
    on(node({ ownerReferences: [{ apiVersion: "storage.k8s.io/v1", kind: "CSINode", name: "pi", uid: "u" }] }), {
      resource: "nodes",
    }),
    /not allowed to modify ownerReferences/,
  ],
  [
    "registers with the pod network of another",
    on(node({}, { podCIDR: "10.42.1.0/24", podCIDRs: ["10.42.1.0/24"] }), { resource: "nodes" }),
    /not allowed to set podCIDRs/,
  ],
  [
    "takes the pod network of another",
    on(node({}, { podCIDRs: ["10.42.1.0/24"] }), { resource: "nodes", operation: "UPDATE", oldObject: node({}) }),
    /not allowed to set podCIDRs/,
  ],
  [
    "connects to its own node",
    on(node({}), { resource: "nodes", subresource: "proxy", operation: "CONNECT", name: "pi" }),
    /not allowed to connect to nodes/,
  ],
  [
    "writes another's node under its own name",
    on(node({ name: "pi" }), { resource: "nodes", operation: "UPDATE", name: "zero", oldObject: node({}) }),
    /not allowed to modify node "zero"/,
  ],
  [
    "changes its taints",
    on(node({}, { taints: [{ key: "a", effect: "NoSchedule" }] }), {
      resource: "nodes",
      operation: "UPDATE",
      oldObject: node({}),
    }),
    /not allowed to modify taints/,
  ],
  ["asks for its pod's token", token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p1" }), undefined],
  [
    "asks for its pod's token of an audience",
    token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p1" }, ["vault"]),
    undefined,
  ],
  [
    "asks for the token of a CSI driver",
    token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p1" }, ["csi"]),
    undefined,
  ],
  [
    "asks for a token of an audience the pod does not use",
    token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p1" }, ["other"]),
    /not authorized to request tokens for audience "other"/,
  ],
  [
    "asks for two audiences",
    token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p1" }, ["vault", "csi"]),
    /0 or 1 audiences/,
  ],
  [
    "asks for a token bound to a secret",
    token({ apiVersion: "v1", kind: "Secret", name: "web", uid: "p1" }),
    /not bound to a pod/,
  ],
  ["asks for an unbound token", token(undefined), /not bound to a pod/],
  [
    "asks for a token of a recreated pod",
    token({ apiVersion: "v1", kind: "Pod", name: "web", uid: "p2" }),
    /does not match the UID/,
  ],
  [
    "asks for a token of another's pod",
    token({ apiVersion: "v1", kind: "Pod", name: "far", uid: "p3" }),
    /scheduled on a different node/,
  ],
  [
    "reports the size of a claim",
    claimStatus(claim({ phase: "Bound", capacity: { storage: "2Gi" }, conditions: [] })),
    undefined,
  ],
  ["unbinds a claim", claimStatus(claim({ phase: "Lost", capacity: { storage: "1Gi" } })), /fields other than status/],
  ["labels a claim", claimStatus(claim({ phase: "Bound" }, { labels: { a: "b" } })), /fields other than status/],
  ["asks for its own serving certificate", signing("system:node:pi", "kubernetes.io/kubelet-serving"), undefined],
  [
    "asks for another's serving certificate",
    signing("system:node:zero", "kubernetes.io/kubelet-serving"),
    /can only create a node CSR with CN=system:node:pi/,
  ],
  [
    "asks for another's client certificate",
    signing("system:node:zero", "kubernetes.io/kube-apiserver-client-kubelet"),
    /can only create a node CSR/,
  ],
  ["renews its lease", lease("pi"), undefined],
  ["renews another's lease", lease("zero"), /same name as the requesting node/],
  ["takes a lease elsewhere", lease("pi", "kube-system"), /"kube-node-lease" system namespace/],
  [
    "writes another's CSINode",
    on({ kind: "CSINode", metadata: { name: "zero" } }, { resource: "csinodes", group: "storage.k8s.io" }),
    /CSINode with the same name/,
  ],
];

// Each way a pod can name another object.
const references: [string, object, RegExp][] = [
  ["serviceAccount", { serviceAccount: "x" }, /serviceaccounts/],
  ["imagePullSecrets", { imagePullSecrets: [{ name: "x" }] }, /secrets/],
  [
    "env secretKeyRef",
    { containers: [{ name: "c", env: [{ name: "A", valueFrom: { secretKeyRef: { name: "x", key: "k" } } }] }] },
    /secrets/,
  ],
  [
    "env configMapKeyRef",
    { initContainers: [{ name: "c", env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "x", key: "k" } } }] }] },
    /configmaps/,
  ],
  ["envFrom secretRef", { containers: [{ name: "c", envFrom: [{ secretRef: { name: "x" } }] }] }, /secrets/],
  ["envFrom configMapRef", { containers: [{ name: "c", envFrom: [{ configMapRef: { name: "x" } }] }] }, /configmaps/],
  ["resourceClaims", { resourceClaims: [{ name: "a", resourceClaimName: "x" }] }, /resourceclaims/],
  ...(
    [
      ["secret", { secretName: "x" }, /secrets/],
      ["configMap", { name: "x" }, /configmaps/],
      ["csi", { driver: "d", nodePublishSecretRef: { name: "x" } }, /secrets/],
      ["csi", { driver: "d" }, /csidrivers/],
      ["persistentVolumeClaim", { claimName: "x" }, /persistentvolumeclaims/],
      ["ephemeral", { volumeClaimTemplate: { spec: {} } }, /persistentvolumeclaims/],
      ["glusterfs", { endpoints: "x", path: "p" }, /endpoints/],
      ["azureFile", { secretName: "x", shareName: "s" }, /secrets/],
      ["cephfs", { monitors: [], secretRef: { name: "x" } }, /secrets/],
      ["cinder", { volumeID: "v", secretRef: { name: "x" } }, /secrets/],
      ["flexVolume", { driver: "d", secretRef: { name: "x" } }, /secrets/],
      ["iscsi", { targetPortal: "t", iqn: "i", lun: 0, secretRef: { name: "x" } }, /secrets/],
      ["rbd", { monitors: [], image: "i", secretRef: { name: "x" } }, /secrets/],
      ["scaleIO", { gateway: "g", system: "s", secretRef: { name: "x" } }, /secrets/],
      ["storageos", { secretRef: { name: "x" } }, /secrets/],
      ["somethingNew", { name: "x" }, /unknown volume type/],
      ["projected", { sources: [{ secret: { name: "x" } }] }, /secrets/],
      ["projected", { sources: [{ downwardAPI: {} }, { configMap: { name: "x" } }] }, /configmaps/],
      ["projected", { sources: [{ serviceAccountToken: { path: "t" } }] }, /serviceaccounts/],
      ["projected", { sources: [{ clusterTrustBundle: { path: "t" } }] }, /clustertrustbundles/],
      ["projected", { sources: [{ podCertificate: { signerName: "t" } }] }, /podcertificates/],
      ["projected", { sources: [{ somethingNew: {} }] }, /unknown source/],
    ] as [string, object, RegExp][]
  ).map(([kind, source, message], at): [string, object, RegExp] => [
    `volume ${kind} (${at})`,
    { volumes: [{ name: "v", [kind]: source }] },
    message,
  ]),
];
for (const [name, spec, message] of references)
  rows.push([`creates a mirror pod with ${name}`, on(mirror(spec), { resource: "pods" }), message]);
for (const [kind, source] of Object.entries({
  hostPath: { path: "/" },
  emptyDir: {},
  nfs: { server: "s", path: "/" },
  projected: { sources: [{ downwardAPI: {} }] },
}))
  rows.push([
    `creates a mirror pod with a ${kind} volume`,
    on(mirror({ volumes: [{ name: "v", [kind]: source }] }), { resource: "pods" }),
    undefined,
  ]);
for (const field of ["resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses"]) {
  const claims = (value: object) => ({ ...bound("pi"), status: { [field]: value } });
  rows.push([
    `changes ${field} of its pod`,
    on(claims([{ name: "a", resourceClaimName: "another" }]), {
      resource: "pods",
      subresource: "status",
      operation: "UPDATE",
      oldObject: claims([{ name: "a", resourceClaimName: "gpu" }]) as KubeObject,
    }),
    /cannot update .*claim stat/,
  ]);
}

for (const [name, request, message] of rows) {
  t.test(`NodeRestriction: a node ${name}`, async (t) => {
    const { view, admit, close } = await openAdmission([nodeRestriction]);
    t.teardown(close);
    view.put({ group: "", plural: "nodes" }, node({ uid: "n1" }));
    view.put({ group: "", plural: "pods" }, bound("pi"));
    view.put(
      { group: "storage.k8s.io", plural: "csidrivers" },
      {
        apiVersion: "storage.k8s.io/v1",
        kind: "CSIDriver",
        metadata: { name: "csi.test" },
        spec: { tokenRequests: [{ audience: "csi" }] },
      },
    );
    view.put({ group: "", plural: "pods" }, podOf({ nodeName: "zero" }, { name: "far", uid: "p3" }));
    if (message) await t.rejects(admit(request), { code: "forbidden", message });
    else await t.resolves(admit(request));
  });
}

t.test("NodeRestriction leaves others alone, and refuses nodes without a name", async (t) => {
  const { admit, close } = await openAdmission([nodeRestriction]);
  t.teardown(close);
  await admit(createRequest(bound("zero"), { resource: "pods" }));
  const nameless = { name: "someone", groups: ["system:nodes"] };
  await t.rejects(admit(createRequest(bound("zero"), { resource: "pods", user: nameless })), {
    message: /could not determine node/,
  });
});
