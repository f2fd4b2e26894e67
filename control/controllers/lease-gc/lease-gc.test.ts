import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

const minute = 60_000;

t.test("leaseGarbageCollector() removes what nobody renews, an hour after its end", async (t) => {
  const clock = new FakeClock(Date.parse("2026-01-01T00:00:00Z"));
  const room = await controllerRoom(t, ["generic-garbage-collector"], { clock, kubelet: false, nodes: ["here"] });
  const lease = (namespace: string, name: string, labels: Record<string, string> = {}) =>
    room.create(resources.leases, {
      metadata: { namespace, name, labels },
      spec: { leaseDurationSeconds: 600, renewTime: "2026-01-01T00:00:00.000000Z", holderIdentity: name },
    });
  const has = (namespace: string, name: string) => room.get(resources.leases, name, namespace) !== undefined;
  await lease("kube-node-lease", "here");
  await lease("kube-node-lease", "gone");
  await lease("kube-system", "server", { "apiserver.kubernetes.io/identity": "kube-apiserver" });
  await lease("kube-system", "leader");
  await lease("default", "mine");

  await clock.advance(65 * minute);
  t.ok(has("kube-node-lease", "gone") && has("kube-system", "server"), "not before their hour");
  await until("both to go", async () => {
    await clock.advance(minute);
    return !has("kube-node-lease", "gone") && !has("kube-system", "server");
  });
  t.ok(has("kube-node-lease", "here"), "a node that is there keeps its lease, however old");
  t.ok(has("kube-system", "leader") && has("default", "mine"), "others' leases are others' business");

  await room.delete(resources.nodes, "here");
  await until("the lease to follow its node", async () => {
    await clock.advance(minute);
    return !has("kube-node-lease", "here");
  });
});
