import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Taint, Toleration } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";
import { msTolerated } from "./tolerance.ts";

const taint = (key: string, effect = "NoExecute") => ({ key, value: "", effect }) as Taint;
const tolerating = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

t.test("msTolerated() is the shortest of what is tolerated", async (t) => {
  const rows: [string, Taint[], Toleration[], number | undefined][] = [
    ["one that does not drive out", [taint("a", "NoSchedule")], [], undefined],
    ["one that is not tolerated", [taint("a")], [], 0],
    ["one of two that is not", [taint("a"), taint("b")], [tolerating("a")], 0],
    ["for ever", [taint("a")], [tolerating("a")], undefined],
    ["the shorter of two", [taint("a"), taint("b")], [tolerating("a", 60), tolerating("b", 30)], 30_000],
    ["never less than nothing", [taint("a")], [tolerating("a", -5)], 0],
  ];
  for (const [name, taints, tolerations, expected] of rows) t.equal(msTolerated(taints, tolerations), expected, name);
});

t.test("taintEvictionController() drives pods out in their time, and not when the taint goes before", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["node-controller"], { clock, kubelet: false, nodes: ["a", "b"] });
  // Nobody speaks for these nodes: they are taken for lost while time passes, which is no part of this.
  const lost = tolerating("node.kubernetes.io/unreachable");
  const pod = (name: string, nodeName: string, own: Toleration[]) => {
    const tolerations = [...own, lost];
    return room.create(resources.pods, { ...podTemplate({}, { nodeName, tolerations }), metadata: { name } });
  };
  await pod("frail", "a", []);
  await pod("patient", "a", [tolerating("maintenance", 60)]);
  await pod("tough", "a", [tolerating("maintenance")]);
  await pod("lucky", "b", [tolerating("maintenance", 60)]);
  const isGoing = (name: string) => {
    const found = room.get(resources.pods, name);
    return !found || found.metadata.deletionTimestamp !== undefined;
  };
  const setTaints = (name: string, taints: Taint[]) =>
    room.patch(resources.nodes, name, { spec: { taints: taints.length > 0 ? taints : null } });
  await setTaints("a", [taint("maintenance")]);
  await setTaints("b", [taint("maintenance")]);
  await until("the frail one to go", () => isGoing("frail"));
  await clock.advance(20_000);
  t.same(["patient", "tough", "lucky"].filter(isGoing), []);
  await setTaints("b", []);
  await until("the patient one to go in its time", async () => {
    await clock.advance(5_000);
    return isGoing("patient");
  });
  await clock.advance(120_000);
  t.same(["tough", "lucky"].filter(isGoing), []);
});
