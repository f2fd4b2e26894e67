// What cannot be, declared all the same: each is refused or told why it does not come about, and nobody is kept busy by it.

import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../harness/api-server.ts";
import { type ControllerRoom, controllerRoom, podTemplate } from "../harness/controllers.ts";
import { until } from "../harness/until.ts";

const controllers = [
  "deployment-controller",
  "replicaset-controller",
  "replication-controller",
  "statefulset-controller",
  "daemon-set-controller",
  "job-controller",
  "cronjob-controller",
  "disruption-controller",
  "endpointslice-controller",
  "horizontal-pod-autoscaler",
  "generic-garbage-collector",
];

/** Whoever asked for more in so many minutes would be spinning. The autoscaler looks four times a minute, whatever comes of it. */
const mostIn = { requests: 4 * 60 + 60, minutes: 60 };

const sized = (name: string, selector: object, labels: Record<string, string>) => ({
  metadata: { name },
  spec: { replicas: 1, selector, template: podTemplate(labels) },
});

/** Asked with everything that is being tried, and told of a condition or an event. */
interface Row {
  readonly name: string;
  readonly make: (room: ControllerRoom) => Promise<unknown>;
  readonly told: (room: ControllerRoom) => unknown;
}

const refused =
  (ref: ResourceRef, object: Json, message: RegExp) =>
  async (room: ControllerRoom): Promise<void> => {
    try {
      await room.create(ref, object);
    } catch (error) {
      if (isFault(error, "invalid") && message.test(error.message)) return;
      throw error;
    }
    throw new Error(`${ref.kind} ${object.metadata.name} was taken`);
  };

const eventOn = (room: ControllerRoom, kind: string, reason: string): string | undefined =>
  room.list(resources.events).find((event) => event.involvedObject.kind === kind && event.reason === reason)?.message;

const conditionOf = (object: Json, type: string) =>
  object?.status?.conditions?.find((condition: Json) => condition.type === type);

const map = (name: string, owner?: { name: string; uid: string }) => ({
  metadata: {
    name,
    ...(owner ? { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", ...owner }] } : {}),
  },
});

const rows: Row[] = [
  ...[resources.deployments, resources.replicasets, resources.statefulsets, resources.daemonsets].flatMap((ref) => [
    {
      name: `a ${ref.kind} that selects everything`,
      make: refused(ref, sized("all", {}, { app: "all" }), /empty selector is invalid/),
      told: () => true,
    },
    {
      name: `a ${ref.kind} that does not select its own pods`,
      make: refused(
        ref,
        sized("none", { matchLabels: { app: "other" } }, { app: "none" }),
        /`selector` does not match template `labels`/,
      ),
      told: () => true,
    },
  ]),
  {
    name: "a budget for pods that are not there",
    make: (room) =>
      room.create(resources.poddisruptionbudgets, {
        metadata: { name: "nobody" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "nobody" } } },
      }),
    told: (room) =>
      eventOn(room, "PodDisruptionBudget", "NoPods") &&
      conditionOf(room.get(resources.poddisruptionbudgets, "nobody"), "DisruptionAllowed")?.reason ===
        "InsufficientPods",
  },
  {
    name: "a budget for everybody",
    make: (room) =>
      room.create(resources.poddisruptionbudgets, {
        metadata: { name: "everybody" },
        spec: { maxUnavailable: 0, selector: {} },
      }),
    told: (room) => conditionOf(room.get(resources.poddisruptionbudgets, "everybody"), "DisruptionAllowed"),
  },
  {
    name: "a service that selects nobody",
    make: (room) =>
      room.create(resources.services, {
        metadata: { name: "lonely" },
        spec: { selector: { app: "nobody" }, ports: [{ port: 80 }] },
      }),
    told: (room) => room.list(resources.endpointslices).some(({ endpoints }) => !endpoints?.length),
  },
  {
    name: "an autoscaler of what is not there",
    make: (room) =>
      room.create(resources.horizontalpodautoscalers, {
        metadata: { name: "lost" },
        spec: {
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "nothing" },
          maxReplicas: 3,
          metrics: [
            { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
          ],
        },
      }),
    told: (room) =>
      conditionOf(room.get(resources.horizontalpodautoscalers, "lost"), "AbleToScale")?.reason === "FailedGetScale",
  },
  {
    name: "owners in a circle",
    async make(room) {
      const first = await room.create(resources.configmaps, map("first"));
      const second = await room.create(resources.configmaps, map("second", { name: "first", uid: first.metadata.uid }));
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "second", uid: second.metadata.uid };
      await room.patch(resources.configmaps, "first", { metadata: { ownerReferences: [owner] } });
    },
    told: (room) => room.get(resources.configmaps, "first") && room.get(resources.configmaps, "second"),
  },
  {
    name: "pods that are refused for ever",
    make: (room) => room.create(resources.deployments, sized("refused", { matchLabels: { app: "r" } }, { app: "r" })),
    told: (room) =>
      /exceeded quota/.test(eventOn(room, "ReplicaSet", "FailedCreate") ?? "") &&
      conditionOf(room.get(resources.deployments, "refused"), "ReplicaFailure")?.reason === "FailedCreate",
  },
  {
    name: "a schedule that never comes",
    make: (room) =>
      room.create(resources.cronjobs, {
        metadata: { name: "never" },
        spec: {
          schedule: "0 0 30 2 *",
          jobTemplate: { spec: { template: podTemplate({}, { restartPolicy: "Never" }) } },
        },
      }),
    told: (room) => eventOn(room, "CronJob", "InvalidSchedule"),
  },
];

t.test("what cannot be is told, and nobody spins", async (t) => {
  const clock = new FakeClock(Date.now());
  let requests = 0;
  const counts = new Map<string, number>();
  const room = await controllerRoom(t, controllers, {
    clock,
    kubelet: false,
    answer(request) {
      const { pathname } = new URL(request.url);
      const agent = request.headers.get("user-agent") ?? "";
      if (!agent.startsWith("system:serviceaccount:")) return undefined;
      requests++;
      const what = `${agent.split(":").at(-1)} ${request.method} ${pathname}`;
      counts.set(what, (counts.get(what) ?? 0) + 1);
      // The quota of this namespace: no pod at all.
      if (request.method !== "POST" || !pathname.endsWith("/pods")) return undefined;
      const message = "pods is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0";
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Forbidden", code: 403, message };
      return Response.json(status, { status: 403 });
    },
  });
  for (const { name, make, told } of rows) {
    await make(room);
    const looked = async () => told(room) || (await clock.advance(1000), undefined);
    t.ok(await until(name, looked), name);
  }
  const pass = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await clock.advance(60_000);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await pass(30);
  requests = 0;
  counts.clear();
  await pass(mostIn.minutes);
  const busiest = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5);
  t.ok(requests < mostIn.requests, `${requests} requests in an hour: ${JSON.stringify(busiest)}`);
});
