// Every finalizer of ours is removed by a controller, also from an object that no other object leads to any more: one that nobody removes
// keeps its object, and the namespace that it is in, for good.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../../test/harness/api-server.ts";
import { controllerRoom, type ControllerRoom } from "../../test/harness/controllers.ts";
import { sourceFiles } from "../../test/harness/source-files.ts";
import { until } from "../../test/harness/until.ts";
import { controllers } from "./index.ts";

interface Row {
  readonly name: string;
  readonly finalizer: string;
  readonly resource: ResourceRef;
  readonly object: Json;
  /** Of the object, where that is written apart. */
  readonly status?: Json;
}

const container = { name: "main", image: "x" };
const ownedBy = (kind: string, uid: string) => [
  { apiVersion: kind === "Job" ? "batch/v1" : "v1", kind, name: "gone", uid, controller: true },
];
const podWith = (metadata: Json) => ({
  metadata: { finalizers: ["batch.kubernetes.io/job-tracking"], ...metadata },
  spec: { containers: [container] },
});
const tracked = { finalizer: "batch.kubernetes.io/job-tracking", resource: resources.pods };
const volume = (metadata: Json) => ({
  metadata,
  spec: {
    accessModes: ["ReadWriteOnce"],
    capacity: { storage: "1Gi" },
    hostPath: { path: "/data/gone" },
    persistentVolumeReclaimPolicy: "Delete",
  },
});

const rows: readonly Row[] = [
  { name: "a tracked pod without an owner", ...tracked, object: podWith({}) },
  {
    name: "a tracked pod of a job that is gone",
    ...tracked,
    object: podWith({ ownerReferences: ownedBy("Job", "j") }),
  },
  {
    name: "a tracked pod of another owner",
    ...tracked,
    object: podWith({ ownerReferences: ownedBy("ReplicationController", "r") }),
  },
  {
    name: "a claim that no pod uses",
    finalizer: "kubernetes.io/pvc-protection",
    resource: resources.persistentvolumeclaims,
    object: {
      metadata: { finalizers: ["kubernetes.io/pvc-protection"] },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  },
  {
    name: "a volume whose claim is gone",
    finalizer: "kubernetes.io/pv-protection",
    resource: resources.persistentvolumes,
    object: volume({ finalizers: ["kubernetes.io/pv-protection"] }),
    status: { phase: "Released" },
  },
  {
    name: "a local-path volume whose node is gone",
    finalizer: "skiff.io/local-path",
    resource: resources.persistentvolumes,
    object: volume({
      finalizers: ["skiff.io/local-path"],
      annotations: { "pv.kubernetes.io/provisioned-by": "skiff.io/local-path" },
    }),
    status: { phase: "Released" },
  },
  {
    name: "a namespace",
    finalizer: "kubernetes",
    resource: resources.namespaces,
    object: { metadata: {} },
  },
  {
    name: "a definition of custom resources",
    finalizer: "customresourcecleanup.apiextensions.k8s.io",
    resource: resources.customresourcedefinitions,
    object: {
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "things", kind: "Thing" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    },
  },
];

t.test("every finalizer that the sources name is in the list", async (t) => {
  const root = join(import.meta.dirname, "../..");
  const named = sourceFiles()
    .filter((file) => /^(control|plugins|agent)\//.test(file) && !file.endsWith(".test.ts"))
    .flatMap((file) => [
      ...readFileSync(join(root, file), "utf8").matchAll(/^(?:export )?const \w*finalizer = "(.+)"/gim),
    ])
    .map(([, finalizer = ""]) => finalizer);
  t.same([...new Set(named)].sort(), [...new Set(rows.map(({ finalizer }) => finalizer))].sort());
});

t.test("no object is left behind with a finalizer of ours", { timeout: 120_000 }, async (t) => {
  const room = await controllerRoom(
    t,
    controllers({} as never).map(({ name }) => name),
  );
  for (const [index, row] of rows.entries())
    await t.test(row.name, async () => {
      await goesAway(room, row, `left-${index}`);
    });
});

async function goesAway(room: ControllerRoom, { resource, object, status }: Row, byDefault: string): Promise<void> {
  const name = object.metadata.name ?? byDefault;
  await room.create(resource, { ...object, metadata: { name, ...object.metadata } });
  if (status) await room.patch(resource, name, { status }, "status");
  await room.delete(resource, name, { gracePeriodSeconds: 0 });
  await until(`${resource.kind} ${name} to go`, () => room.get(resource, name) === undefined);
}
