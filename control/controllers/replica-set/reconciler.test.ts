import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";

const set = (name: string, replicas: number, labels = { app: name }) => ({
  metadata: { name },
  spec: { replicas, selector: { matchLabels: labels }, template: podTemplate(labels) },
});

t.test("replicaSetController() makes as many pods as declared, and takes away what is too many", async (t) => {
  const room = await controllerRoom(t, ["replicaset-controller"]);
  await room.create(resources.replicasets, set("web", 5));
  await room.until(resources.replicasets, "web", ({ status }) => status?.availableReplicas === 5);
  await room.patch(resources.replicasets, "web", { spec: { replicas: 2 } });
  await room.until(resources.replicasets, "web", ({ status }) => status?.replicas === 2);
  t.equal(room.pods().filter((pod) => !pod.metadata.deletionTimestamp).length, 2);
});

t.test("replicaSetController() adopts orphans that match and releases pods that no longer do", async (t) => {
  const room = await controllerRoom(t, ["replicaset-controller"]);
  await room.create(resources.pods, {
    ...podTemplate({ app: "web" }),
    metadata: { name: "lone", labels: { app: "web" } },
  });
  const owner = await room.create(resources.replicasets, set("web", 1));
  await room.until(resources.pods, "lone", ({ metadata }) => metadata.ownerReferences?.[0]?.uid === owner.metadata.uid);
  t.equal(room.pods().length, 1, "the orphan is the one pod that was declared");
  await room.patch(resources.pods, "lone", { metadata: { labels: { app: "other" } } });
  await room.until(resources.pods, "lone", ({ metadata }) => (metadata.ownerReferences ?? []).length === 0);
  await room.until(resources.replicasets, "web", ({ status }) => status?.replicas === 1);
  t.equal(room.pods().length, 2, "another took its place");
});
