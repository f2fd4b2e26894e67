import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import type { StatefulSet } from "./objects.ts";
import { planSet } from "./plan.ts";

const pod = (ordinal: number, how: { ready?: boolean; revision?: string; phase?: string; going?: boolean } = {}): Pod =>
  ({
    metadata: {
      name: `web-${ordinal}`,
      labels: { "controller-revision-hash": how.revision ?? "new" },
      ...(how.going ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    status: {
      phase: how.phase ?? "Running",
      conditions: [{ type: "Ready", status: how.ready === false ? "False" : "True" }],
    },
  }) as unknown as Pod;

const set = (replicas: number, spec: Partial<StatefulSet["spec"]> = {}): StatefulSet => ({
  metadata: { name: "web" },
  spec: { replicas, template: {}, ...spec },
});

t.test("planSet() keeps the order, or not where the policy is Parallel", async (t) => {
  const rows: { name: string; set: StatefulSet; pods: Pod[]; create?: number[]; remove?: string[] }[] = [
    { name: "the first one first", set: set(3), pods: [], create: [0] },
    { name: "wait for the one before", set: set(3), pods: [pod(0, { ready: false })] },
    { name: "then the next", set: set(3), pods: [pod(0)], create: [1] },
    { name: "all at once", set: set(3, { podManagementPolicy: "Parallel" }), pods: [pod(1)], create: [0, 2] },
    { name: "a hole is filled before anything else", set: set(2), pods: [pod(1), pod(2)], create: [0] },
    { name: "the last goes first", set: set(1), pods: [pod(0), pod(1), pod(2)], remove: ["web-2"] },
    { name: "one at a time", set: set(1), pods: [pod(0), pod(1), pod(2, { going: true })] },
    {
      name: "scaling down halts where several are not well",
      set: set(0),
      pods: [pod(0, { ready: false }), pod(1), pod(2, { ready: false })],
    },
    { name: "but not for the only one", set: set(0), pods: [pod(0), pod(1, { ready: false })], remove: ["web-1"] },
    { name: "a failed one goes", set: set(1), pods: [pod(0, { phase: "Failed", ready: false })], remove: ["web-0"] },
    { name: "from an ordinal on", set: set(2, { ordinals: { start: 5 } }), pods: [], create: [5] },
    {
      name: "update from the end",
      set: set(2),
      pods: [pod(0, { revision: "old" }), pod(1, { revision: "old" })],
      remove: ["web-1"],
    },
    {
      name: "an update that is not ready stops the rest",
      set: set(2, { podManagementPolicy: "Parallel" }),
      pods: [pod(0, { revision: "old" }), pod(1, { ready: false })],
    },
    {
      name: "not below the partition",
      set: set(2, { updateStrategy: { rollingUpdate: { partition: 1 } } }),
      pods: [pod(0, { revision: "old" }), pod(1)],
    },
    {
      name: "several at once",
      set: set(4, { updateStrategy: { rollingUpdate: { maxUnavailable: "50%" } } }),
      pods: [0, 1, 2, 3].map((ordinal) => pod(ordinal, { revision: "old" })),
      remove: ["web-3", "web-2"],
    },
    { name: "on delete", set: set(1, { updateStrategy: { type: "OnDelete" } }), pods: [pod(0, { revision: "old" })] },
  ];
  for (const row of rows) {
    const plan = planSet(row.set, row.pods, "new", 0);
    t.same(
      [plan.create.map(({ ordinal }) => ordinal), plan.remove.map(({ metadata }) => metadata.name)],
      [row.create ?? [], row.remove ?? []],
      row.name,
    );
  }
});

const names = ["statefulset-controller", "generic-garbage-collector"];
const object = (name: string, replicas: number, spec: Json = {}): Json => ({
  metadata: { name },
  spec: {
    replicas,
    serviceName: name,
    selector: { matchLabels: { app: name } },
    template: podTemplate({ app: name }),
    ...spec,
  },
});
const claimTemplate = (name: string) => ({
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});
const mounting = (text: string) =>
  podTemplate(
    { app: "web" },
    { containers: [{ name: "main", image: text, volumeMounts: [{ name: "data", mountPath: "/data" }] }] },
  );
const image = (text: string) => ({ spec: { template: mounting(text) } });

t.test(
  "statefulSetController() makes pods in order with claims, updates from the end and keeps revisions",
  async (t) => {
    const room = await controllerRoom(t, names);
    const order: string[] = [];
    room.api.server.informers.for<Pod>(resources.pods).onEvent(({ type, object: { metadata } }) => {
      if (type !== "update") order.push(`${type} ${metadata.name}`);
    });
    const spec = { template: mounting("busybox"), volumeClaimTemplates: [claimTemplate("data")] };
    await room.create(resources.statefulsets, object("web", 3, spec));
    await room.until(resources.statefulsets, "web", ({ status }) => status?.availableReplicas === 3);
    t.same(order, ["add web-0", "add web-1", "add web-2"]);
    t.same(
      room.list(resources.persistentvolumeclaims).map(({ metadata }) => metadata.name),
      ["data-web-0", "data-web-1", "data-web-2"],
    );
    t.match(room.get(resources.pods, "web-1"), {
      metadata: { labels: { "apps.kubernetes.io/pod-index": "1", "statefulset.kubernetes.io/pod-name": "web-1" } },
      spec: { hostname: "web-1", subdomain: "web", volumes: [{ persistentVolumeClaim: { claimName: "data-web-1" } }] },
    });
    order.length = 0;
    const before = room.get(resources.statefulsets, "web").status.currentRevision;
    await room.patch(resources.statefulsets, "web", image("two"));
    await room.until(
      resources.statefulsets,
      "web",
      ({ status }) =>
        status.currentRevision !== before && status.updatedReplicas === 3 && status.availableReplicas === 3,
    );
    t.same(
      order.filter((line) => line.startsWith("add")),
      ["add web-2", "add web-1", "add web-0"],
    );
    t.equal(room.list(resources.controllerrevisions).length, 2);
    for (const { metadata } of room.list(resources.controllerrevisions))
      t.match(metadata.name, new RegExp(`-${metadata.labels["controller.kubernetes.io/hash"]}$`));
    await room.patch(resources.statefulsets, "web", image("busybox"));
    await room.until(resources.statefulsets, "web", ({ status }) => status.currentRevision === before);
    t.equal(room.list(resources.controllerrevisions).length, 2, "the old state is the newest again");
    t.equal(room.list(resources.persistentvolumeclaims).length, 3, "claims outlive pods");
  },
);

t.test("statefulSetController() leaves pods below the partition as they are", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(
    resources.statefulsets,
    object("web", 3, {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } },
      volumeClaimTemplates: [claimTemplate("data")],
    }),
  );
  await room.until(resources.statefulsets, "web", ({ status }) => status?.availableReplicas === 3);
  await room.patch(resources.statefulsets, "web", image("two"));
  await room.until(
    resources.statefulsets,
    "web",
    ({ status }) => status.updatedReplicas === 1 && status.availableReplicas === 3,
  );
  await room.delete(resources.pods, "web-0");
  const old = await room.until(resources.pods, "web-0", ({ metadata }) => !metadata.deletionTimestamp);
  t.equal(old.spec.containers[0].image, "busybox", "made anew as it was");
  t.equal(room.get(resources.pods, "web-2").spec.containers[0].image, "two");
});

t.test("statefulSetController() lets claims go with their pods when scaled down, if told so", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(
    resources.statefulsets,
    object("web", 2, {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: [claimTemplate("data")],
      persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
    }),
  );
  await room.until(resources.statefulsets, "web", ({ status }) => status?.availableReplicas === 2);
  await room.patch(resources.statefulsets, "web", { spec: { replicas: 1 } });
  await room.until(resources.namespaces, "default", () => {
    const claim = room.get(resources.persistentvolumeclaims, "data-web-1");
    return !claim || claim.metadata.deletionTimestamp;
  });
  t.notOk(room.get(resources.persistentvolumeclaims, "data-web-0").metadata.deletionTimestamp);
  t.equal(room.get(resources.persistentvolumeclaims, "data-web-0").metadata.ownerReferences[0].kind, "StatefulSet");
});

t.test(
  "statefulSetController() leaves a claim to the controller that it has, and is one where it has none",
  async (t) => {
    const room = await controllerRoom(t, ["statefulset-controller"]);
    const other = { apiVersion: "apps/v1", kind: "StatefulSet", name: "other", uid: "another", controller: true };
    const claim = { metadata: { name: "data-web-0", ownerReferences: [other] }, spec: claimTemplate("data").spec };
    await room.create(resources.persistentvolumeclaims, claim);
    const policy = { whenScaled: "Retain", whenDeleted: "Delete" };
    await room.create(
      resources.statefulsets,
      object("web", 2, {
        volumeClaimTemplates: [claimTemplate("data")],
        persistentVolumeClaimRetentionPolicy: policy,
      }),
    );
    const owned = await room.until(
      resources.persistentvolumeclaims,
      "data-web-1",
      ({ metadata }) => metadata.ownerReferences !== undefined,
    );
    t.match(owned.metadata.ownerReferences, [{ kind: "StatefulSet", name: "web", controller: true }]);
    const kept = room.get(resources.persistentvolumeclaims, "data-web-0").metadata.ownerReferences;
    t.match(kept, [{ name: "other", controller: true }]);
    t.equal(kept.length, 1);
  },
);

t.test("statefulSetController() puts the labels of a pod's identity right", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.statefulsets, object("web", 1));
  await room.until(resources.statefulsets, "web", ({ status }) => status?.availableReplicas === 1);
  const { uid } = room.get(resources.pods, "web-0").metadata;
  const wrong = { "statefulset.kubernetes.io/pod-name": "other", "apps.kubernetes.io/pod-index": null };
  await room.patch(resources.pods, "web-0", { metadata: { labels: wrong } });
  const right = await room.until(
    resources.pods,
    "web-0",
    ({ metadata }) =>
      metadata.labels["statefulset.kubernetes.io/pod-name"] === "web-0" &&
      metadata.labels["apps.kubernetes.io/pod-index"] === "0",
  );
  t.equal(right.metadata.uid, uid, "the pod itself stays");
});
