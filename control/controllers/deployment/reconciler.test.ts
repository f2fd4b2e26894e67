import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

const names = ["deployment-controller", "replicaset-controller", "generic-garbage-collector"];
const deployment = (replicas: number, spec: Json = {}): Json => ({
  metadata: { name: "web" },
  spec: { replicas, selector: { matchLabels: { app: "web" } }, template: podTemplate({ app: "web" }), ...spec },
});
const version = (text: string) => ({ spec: { template: { metadata: { labels: { version: text } } } } });
const settled =
  (replicas: number) =>
  ({ metadata, status }: Json) =>
    status?.observedGeneration === metadata.generation &&
    [status.replicas, status.updatedReplicas, status.availableReplicas].every((count) => count === replicas);
const condition = ({ status }: Json, type: string) => status?.conditions?.find((one: Json) => one.type === type);

t.test(
  "deploymentController() rolls out within surge and unavailability, and scales in the middle of it",
  async (t) => {
    const room = await controllerRoom(t, names);
    await room.create(resources.deployments, deployment(8));
    await room.until(resources.deployments, "web", settled(8));
    let [most, least] = [0, 99];
    const isThere = (pod: Pod) => !pod.metadata.deletionTimestamp;
    const isReady = (pod: Pod) =>
      isThere(pod) && pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True");
    const stop = room.api.server.informers.for<Pod>(resources.pods).onEvent(() => {
      most = Math.max(most, room.pods().filter(isThere).length);
      least = Math.min(least, room.pods().filter(isReady).length);
    });
    await room.patch(resources.deployments, "web", version("two"));
    await room.until(resources.deployments, "web", settled(8));
    stop();
    t.ok(most <= 10, `at most ${most} at once`);
    t.ok(least >= 6, `at least ${least} ready`);
    await room.patch(resources.deployments, "web", version("three"));
    await room.patch(resources.deployments, "web", { spec: { replicas: 3 } });
    await room.until(resources.deployments, "web", settled(3));
    t.ok(
      room
        .pods()
        .filter(isThere)
        .every((pod) => pod.metadata.labels?.version === "three"),
    );
  },
);

t.test("deploymentController() takes all old pods away first when it recreates", async (t) => {
  const room = await controllerRoom(t, names);
  await room.create(resources.deployments, deployment(3, { strategy: { type: "Recreate" } }));
  await room.until(resources.deployments, "web", settled(3));
  let isMixed = false;
  room.api.server.informers.for<Pod>(resources.pods).onEvent(() => {
    isMixed ||= new Set(room.pods().map((pod) => pod.metadata.labels?.["pod-template-hash"])).size > 1;
  });
  await room.patch(resources.deployments, "web", version("two"));
  await room.until(resources.deployments, "web", settled(3));
  t.notOk(isMixed, "never two versions at once");
});

t.test("deploymentController() says when a rollout does not come along, and keeps so much history", async (t) => {
  const clock = new FakeClock(Date.now());
  let isBroken = false;
  const room = await controllerRoom(t, names, {
    clock,
    outcome: (pod) => (isBroken && pod.metadata.labels?.version === "broken" ? "running" : "ready"),
  });
  await room.create(resources.deployments, deployment(2, { progressDeadlineSeconds: 60, revisionHistoryLimit: 1 }));
  await room.until(resources.deployments, "web", settled(2));
  for (const text of ["two", "three", "four"]) {
    await room.patch(resources.deployments, "web", version(text));
    await room.until(resources.deployments, "web", settled(2));
  }
  await room.until(resources.deployments, "web", () => room.list(resources.replicasets).length === 2);
  isBroken = true;
  await room.patch(resources.deployments, "web", version("broken"));
  await room.until(resources.deployments, "web", ({ status }) => status.updatedReplicas > 0);
  // Whatever still moved when the clock was set on began its minute anew.
  const stuck = await until("the rollout to be given up", async () => {
    await clock.advance(61_000);
    const now = room.get(resources.deployments, "web");
    return condition(now, "Progressing")?.status === "False" && now;
  });
  t.match(condition(stuck, "Progressing"), { reason: "ProgressDeadlineExceeded" });
  t.match(condition(stuck, "Available"), { status: "True" }, "the old ones still serve");
});

t.test("deploymentController() shows what a quota refuses, and goes on when there is room", async (t) => {
  let isFull = true;
  const room = await controllerRoom(t, names, {
    answer: (request) => {
      if (!isFull || request.method !== "POST" || !request.url.endsWith("/pods")) return undefined;
      const message =
        'pods "web" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0';
      return Response.json(
        { kind: "Status", status: "Failure", reason: "Forbidden", message, code: 403 },
        { status: 403 },
      );
    },
  });
  await room.create(resources.deployments, deployment(2));
  await room.until(resources.namespaces, "default", () => room.list(resources.replicasets)[0]?.status?.conditions?.[0]);
  t.match(room.list(resources.replicasets)[0].status.conditions[0], {
    type: "ReplicaFailure",
    reason: "FailedCreate",
    message: /exceeded quota/,
  });
  await room.untilEvent("FailedCreate");
  const { failures = 99 } = room.manager.status().find(({ name }) => name === "replicaset") ?? {};
  t.ok(failures < 30, "it does not spin");
  isFull = false;
  await room.until(resources.deployments, "web", settled(2));
});

t.test("deploymentController() gives up on pods that never come, and says why, as it does for a set", async (t) => {
  const clock = new FakeClock(Date.now());
  const refused = { pods: "exceeded quota: small", replicasets: "" };
  const room = await controllerRoom(t, names, {
    clock,
    answer: ({ method, url }) => {
      const message = Object.entries(refused).find(([plural]) => url.endsWith(`/${plural}`))?.[1];
      if (method !== "POST" || !message) return undefined;
      return Response.json(
        { kind: "Status", status: "Failure", reason: "Forbidden", message, code: 403 },
        { status: 403 },
      );
    },
  });
  await room.create(resources.deployments, deployment(2, { progressDeadlineSeconds: 60 }));
  const failed = await room.until(resources.deployments, "web", (one) => condition(one, "ReplicaFailure"));
  t.match(condition(failed, "ReplicaFailure"), { status: "True", reason: "FailedCreate", message: refused.pods });
  const [set] = room.list(resources.replicasets);
  t.match(condition(failed, "Progressing"), {
    status: "True",
    reason: "NewReplicaSetCreated",
    message: `Created new replica set "${set.metadata.name}"`,
  });
  const late = await until("the rollout to be given up", async () => {
    await clock.advance(10_000);
    const now = room.get(resources.deployments, "web");
    return condition(now, "Progressing")?.status === "False" && now;
  });
  t.match(condition(late, "Progressing"), { reason: "ProgressDeadlineExceeded" });
  refused.pods = "";
  const done = await until("the pods to come", async () => {
    await clock.advance(60_000);
    const now = room.get(resources.deployments, "web");
    return settled(2)(now) && now;
  });
  t.notOk(condition(done, "ReplicaFailure"), "what is no more is not told");
  refused.replicasets = "exceeded quota: sets";
  await room.patch(resources.deployments, "web", version("two"));
  const stuck = await room.until(
    resources.deployments,
    "web",
    (one) => condition(one, "Progressing")?.reason === "ReplicaSetCreateError",
  );
  t.match(condition(stuck, "Progressing"), {
    status: "False",
    message: /^Failed to create new replica set "web-[a-z0-9]+": exceeded quota: sets$/,
  });
  t.match((await room.untilEvent("ReplicaSetCreateError")).type, "Warning");
});

t.test("deploymentController() goes on from the revision of a set that it adopts, however large", async (t) => {
  const room = await controllerRoom(t, names);
  const revision = "deployment.kubernetes.io/revision";
  await room.create(resources.replicasets, {
    metadata: { name: "orphan", labels: { app: "web" }, annotations: { [revision]: "3546343826724305832" } },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: "web", old: "yes" } },
      template: podTemplate({ app: "web", old: "yes" }),
    },
  });
  await room.create(resources.deployments, deployment(1));
  const rolled = await room.until(
    resources.deployments,
    "web",
    (one) => settled(1)(one) && one.metadata.annotations?.[revision] !== undefined,
  );
  t.equal(rolled.metadata.annotations[revision], "3546343826724305833");
});
