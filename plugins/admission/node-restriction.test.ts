import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import type { AdmissionRequest } from "../kit/admission.ts";
import type { KubeObject } from "../kit/objects/types.ts";
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
const bound = (nodeName: string) => podOf({ nodeName }, { uid: "p1" });
const on = (object: object, over: Partial<AdmissionRequest> & { resource: string }) =>
  createRequest(object, { user, ...over });
const token = (ref: object | undefined) =>
  on(
    {
      apiVersion: "v1",
      kind: "TokenRequest",
      metadata: { name: "robot", namespace: "shop" },
      spec: { boundObjectRef: ref },
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
    /single owner reference/,
  ],
  [
    "creates one owned by another",
    on(mirror({}, { ownerReferences: [{ ...owner, uid: "n2" }] }), { resource: "pods" }),
    /owner reference set to itself/,
  ],
  [
    "creates one with a secret",
    on(mirror({ volumes: [{ name: "s", secret: { secretName: "x" } }] }), { resource: "pods" }),
    /reference secrets/,
  ],
  [
    "creates one with an account",
    on(mirror({ serviceAccountName: "x" }), { resource: "pods" }),
    /reference a service account/,
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
    "changes its taints",
    on(node({}, { taints: [{ key: "a", effect: "NoSchedule" }] }), {
      resource: "nodes",
      operation: "UPDATE",
      oldObject: node({}),
    }),
    /not allowed to modify taints/,
  ],
  ["asks for its pod's token", token({ kind: "Pod", name: "web", uid: "p1" }), undefined],
  ["asks for an unbound token", token(undefined), /not bound to a pod/],
  ["asks for a token of a recreated pod", token({ kind: "Pod", name: "web", uid: "p2" }), /does not match the UID/],
  [
    "asks for a token of another's pod",
    token({ kind: "Pod", name: "far", uid: "p3" }),
    /scheduled on a different node/,
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

for (const [name, request, message] of rows) {
  t.test(`NodeRestriction: a node ${name}`, async (t) => {
    const { view, admit, close } = await openAdmission([nodeRestriction]);
    t.teardown(close);
    view.put({ group: "", plural: "nodes" }, node({ uid: "n1" }));
    view.put({ group: "", plural: "pods" }, bound("pi"));
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
