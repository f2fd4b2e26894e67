// When a quota is looked at again, and what its status then says.

import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import type { ControllerContext } from "../../manager/contract.ts";
import { resourceQuotaController } from "./reconciler.ts";

interface Quota {
  used: { secrets: string };
}

t.test("reconcile() looks soon again at a quota of custom resources, whose going wakes nobody", async (t) => {
  for (const [name, soon] of [
    ["count/widgets.example.com", true],
    ["count/deployments.apps", false],
    ["pods", false],
  ] as const) {
    const quotas = new MemoryInformer<KubeObject>();
    const amounts = { hard: { [name]: "1" }, used: { [name]: "0" } };
    quotas.put({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "n" },
      spec: { hard: amounts.hard },
      status: amounts,
    });
    const none = new MemoryInformer<KubeObject>();
    const controller = resourceQuotaController({
      informers: { for: (ref: { plural: string }) => (ref.plural === "resourcequotas" ? quotas : none) },
      clock: new FakeClock(),
    } as unknown as ControllerContext);
    const pause = (await controller.reconcile("n/q", uninterrupted)) ?? 0;
    t.equal(pause <= 10_000, soon, name);
  }
});

t.test("reconcile() takes back nothing that was charged a moment ago, however long it was put off", async (t) => {
  const clock = new FakeClock();
  const quotas = new MemoryInformer<KubeObject>();
  const secrets = new MemoryInformer<KubeObject>();
  const none = new MemoryInformer<KubeObject>();
  const hard = { secrets: "100" };
  const charged = (used: number) =>
    quotas.put({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "n" },
      spec: { hard },
      status: { hard, used: { secrets: String(used) } },
    });
  const written: string[] = [];
  const byPlural: Record<string, MemoryInformer<KubeObject>> = { resourcequotas: quotas, secrets };
  const controller = resourceQuotaController({
    informers: { for: ({ plural }: { plural: string }) => byPlural[plural] ?? none },
    client: { update: async (_: unknown, { status }: KubeObject) => written.push((status as Quota).used.secrets) },
    clock,
  } as unknown as ControllerContext);
  charged(0);
  // Ten that are no longer there, and one every 400 ms of which the last is not stored yet.
  charged(10);
  let count = 0;
  for (; written.length === 0 && count < 50; count++) {
    charged(11 + count);
    await controller.reconcile("n/q", uninterrupted);
    const metadata = { name: `s${count}`, namespace: "n" };
    secrets.put({ apiVersion: "v1", kind: "Secret", metadata });
    await clock.advance(400);
  }
  t.ok(Number(written[0]) >= count, `${written[0]} where ${count} were charged`);
  t.ok(Number(written[0]) < 10 + count, "while those that went are let go");
  await clock.advance(2000);
  await controller.reconcile("n/q", uninterrupted);
  t.equal(written.at(-1), String(count), "and exactly once it is quiet");
});

t.test("resourceQuotaController() counts what is there, by amount and by number, as it comes and goes", async (t) => {
  const room = await controllerRoom(t, ["resourcequota-controller"], { kubelet: false });
  const hard = { pods: "5", "requests.cpu": "2", "count/configmaps": "10" };
  await room.create(resources.resourcequotas, { metadata: { name: "q" }, spec: { hard } });
  const used = (wanted: Record<string, string>) =>
    room.until(resources.resourcequotas, "q", ({ status }) =>
      Object.entries(wanted).every(([name, amount]) => status?.used?.[name] === amount),
    );
  await used({ "count/configmaps": "0", pods: "0", "requests.cpu": "0" });
  for (const name of ["a", "b"]) {
    const resourcesOf = { requests: { cpu: "500m" } };
    const containers = [{ name: "c", image: "i", resources: resourcesOf }];
    await room.create(resources.pods, { ...podTemplate({}, { containers }), metadata: { name } });
  }
  await room.create(resources.configmaps, { metadata: { name: "m" } });
  await used({ "count/configmaps": "1", pods: "2", "requests.cpu": "1" });
  await room.patch(resources.pods, "a", { status: { phase: "Succeeded" } }, "status");
  await used({ "count/configmaps": "1", pods: "1", "requests.cpu": "500m" });
  await room.delete(resources.pods, "b", { gracePeriodSeconds: 0 });
  await room.delete(resources.configmaps, "m");
  const last = await used({ "count/configmaps": "0", pods: "0", "requests.cpu": "0" });
  t.strictSame(last.status.hard, hard);
});
