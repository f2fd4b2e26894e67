// When a quota is looked at again.

import t from "tap";
import { uninterrupted } from "../../../plugins/kit/call.ts";
import { FakeClock } from "../../../plugins/kit/clock.ts";
import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
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
