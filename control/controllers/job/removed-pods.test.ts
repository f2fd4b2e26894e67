// Pods that the controller removes itself are never counted, and no pod is left behind with the tracking finalizer.

import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";
import { isTrue } from "../../manager/conditions.ts";
import { indexName, trackingFinalizer } from "./objects.ts";

const job = (name: string, spec: Json = {}) => ({
  metadata: { name },
  spec: { template: podTemplate({}, { restartPolicy: "Never" }), ...spec },
});
const names = ["job-controller"];
const isRemoved = (pod: Pod) => pod.metadata.deletionTimestamp !== undefined;
const isCounted = (pod: Pod) => pod.metadata.finalizers?.includes(trackingFinalizer) ?? false;

const failJob = { rules: [{ action: "FailJob", onExitCodes: { operator: "NotIn", values: [0] } }] };
const perIndex = { completionMode: "Indexed", backoffLimitPerIndex: 0 };
const rows: { name: string; spec: Json; change: Json; left: number }[] = [
  { name: "parallelism 9 to 1", spec: { parallelism: 9, completions: 9 }, change: { parallelism: 1 }, left: 1 },
  { name: "suspended without any retry", spec: { backoffLimit: 0 }, change: { suspend: true }, left: 0 },
  {
    name: "suspended with a limit per index",
    spec: { parallelism: 3, completions: 3, ...perIndex },
    change: { suspend: true },
    left: 0,
  },
  {
    name: "parallelism lowered with a limit per index",
    spec: { parallelism: 3, completions: 3, ...perIndex },
    change: { parallelism: 1 },
    left: 1,
  },
  {
    name: "suspended with a pod failure policy",
    spec: { parallelism: 2, completions: 2, podFailurePolicy: failJob },
    change: { suspend: true },
    left: 0,
  },
];

for (const row of rows)
  t.test(`jobController() counts no pod that it removes: ${row.name}`, async (t) => {
    const room = await controllerRoom(t, names);
    const before = row.spec["parallelism"] ?? 1;
    await room.create(resources.jobs, job("changed", row.spec));
    await room.until(resources.jobs, "changed", ({ status }) => status?.ready === before);
    await room.patch(resources.jobs, "changed", { spec: row.change });
    const now = await room.until(
      resources.jobs,
      "changed",
      ({ status }) => (status.active ?? 0) === row.left && !status.terminating && room.pods().length === row.left,
    );
    t.notOk(now.status.failed);
    t.notOk(now.status.failedIndexes);
    t.notOk(now.status.conditions?.some(({ type }: Json) => type === "Failed" || type === "FailureTarget"));
  });

t.test("jobController() removes the surplus pod of an index without counting it", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.jobs, job("parts", { completions: 1, completionMode: "Indexed", backoffLimit: 0 }));
  await room.until(resources.jobs, "parts", ({ status }) => status?.ready === 1);
  const [first] = room.pods();
  const { labels, annotations, ownerReferences, finalizers } = first?.metadata ?? {};
  const metadata = { generateName: "parts-0-", labels, annotations, ownerReferences, finalizers };
  await room.create(resources.pods, { metadata, spec: { containers: first?.spec?.containers } });
  await until("one of the two to be removed", () => room.pods().length === 1);
  const now = await room.until(resources.jobs, "parts", ({ status }) => status.active === 1 && !status.terminating);
  t.equal(room.pods()[0]?.metadata.annotations?.[indexName], "0");
  t.notOk(now.status.failed);
});

t.test("jobController() counts the pods that it deletes after the job has failed", async (t) => {
  const room = await controllerRoom(t, names, {
    outcome: (pod) => (pod.metadata.annotations?.[indexName] === "0" ? { exitCode: 1 } : "ready"),
  });
  const spec = { completions: 3, parallelism: 3, completionMode: "Indexed", backoffLimit: 0 };
  await room.create(resources.jobs, job("failing", spec));
  const end = await room.until(resources.jobs, "failing", ({ status }) => isTrue(status?.conditions, "Failed"));
  t.equal(end.status.failed, 3);
});

t.test("jobController() holds what it adopts, and lets go of what it releases", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.jobs, job("owner", { parallelism: 1, completions: 1 }));
  await room.until(resources.jobs, "owner", ({ status }) => status?.ready === 1);
  const [pod] = room.pods();
  const name = pod?.metadata.name ?? "";
  await room.patch(resources.pods, name, { metadata: { ownerReferences: null, finalizers: null } });
  const adopted = await room.until(resources.pods, name, (found) => found.metadata.ownerReferences?.length === 1);
  t.ok(isCounted(adopted), "adopted with the finalizer");

  await room.patch(resources.pods, name, { metadata: { labels: null } });
  const released = await room.until(resources.pods, name, (found) => !found.metadata.ownerReferences?.length);
  t.notOk(isCounted(released), "released without it");
  await room.delete(resources.pods, name);
  await until("the released pod to go", () => !room.pods().some((found) => found.metadata.name === name));
});

t.test("jobController() frees pods that belong to no job, as an earlier version left them", async (t) => {
  const room = await controllerRoom(t, names);
  const spec = { containers: [{ name: "main", image: "x" }] };
  for (const [name, labels] of [
    ["unlabelled", {}],
    ["of-a-job-that-is-gone", { "batch.kubernetes.io/job-name": "gone" }],
  ] as const) {
    await room.create(resources.pods, { metadata: { name, labels, finalizers: [trackingFinalizer] }, spec });
    await room.until(resources.pods, name, (pod) => !isCounted(pod));
    await room.delete(resources.pods, name);
  }
  await until("both to go", () => room.pods().filter((pod) => !isRemoved(pod)).length === 0);
});
