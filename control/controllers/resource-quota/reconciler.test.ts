// When a quota is looked at again, and what its status then says.

import t from "tap";
import { uninterrupted } from "../../../plugins/kit/call.ts";
import { FakeClock } from "../../../plugins/kit/clock.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import type { ControllerContext } from "../../manager/contract.ts";
import { resourceQuotaController } from "./reconciler.ts";

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
