import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { podKey, SchedulingQueue } from "./scheduling-queue.ts";

function pod(name: string, spec: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "n", name, uid: name },
    spec: { containers: [], ...spec },
  } as unknown as Pod;
}

t.test("SchedulingQueue gives the highest priority first, then the oldest", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod("old"));
  await clock.advance(10);
  queue.add(pod("young"));
  queue.add(pod("urgent", { priority: 1000 }));
  t.same(
    [queue.pop(), queue.pop(), queue.pop(), queue.pop()].map((entry) => entry?.pod.metadata.name),
    ["urgent", "old", "young", undefined],
  );
});

t.test("SchedulingQueue holds gated pods until the last gate is lifted", async (t) => {
  const queue = new SchedulingQueue({ clock: new FakeClock() });
  queue.add(pod("a", { schedulingGates: [{ name: "g" }] }));
  t.equal(queue.pop(), undefined);
  queue.add(pod("a"));
  t.equal(queue.pop()?.pod.metadata.name, "a");
});

t.test("SchedulingQueue wakes a parked pod only by an event that could help, after its back-off", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod("a"));
  const entry = queue.pop();
  if (!entry) throw new Error("no entry");
  queue.failed(entry, new Set(["Node/Add"]));
  queue.wake("Pod/Delete");
  t.same(queue.counts, { active: 0, backoff: 0, unschedulable: 1, gated: 0 });
  queue.wake("Node/Add");
  t.same(queue.counts, { active: 0, backoff: 1, unschedulable: 0, gated: 0 });
  await clock.advance(1000);
  t.equal(queue.pop()?.attempts, 2);
});

t.test("SchedulingQueue does not lose an event that came during the attempt", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod("a"));
  const entry = queue.pop();
  if (!entry) throw new Error("no entry");
  queue.wake("Node/Add");
  queue.failed(entry, new Set(["Node/*"]));
  t.equal(queue.counts.backoff, 1);
});

t.test("SchedulingQueue forgets a removed pod wherever it is", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  for (const name of ["a", "b", "c"]) queue.add(pod(name));
  queue.remove(podKey(pod("b")));
  t.same(
    [queue.pop(), queue.pop(), queue.pop()].map((entry) => entry?.pod.metadata.name),
    ["a", "c", undefined],
  );
  t.equal(clock.pending, 0);
});

t.test("SchedulingQueue is not woken by the scheduler's own status writes", async (t) => {
  const queue = new SchedulingQueue({ clock: new FakeClock() });
  queue.add(pod("a"));
  const entry = queue.pop();
  if (!entry) throw new Error("no entry");
  queue.failed(entry, new Set());
  queue.add({ ...pod("a"), status: { conditions: [] } } as Pod);
  t.equal(queue.counts.unschedulable, 1);
});

t.test("SchedulingQueue.clear() leaves no timer behind", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod("parked"));
  const parked = queue.pop();
  if (parked) queue.failed(parked, new Set());
  queue.add(pod("backing-off"));
  const broken = queue.pop();
  if (broken) queue.retry(broken);
  t.equal(clock.pending, 2);
  queue.clear();
  t.equal(clock.pending, 0);
  t.equal(queue.pop(), undefined);
});

t.test("SchedulingQueue counts the back-off from the last attempt: who waited longer is tried at once", async (t) => {
  const clock = new FakeClock();
  const queue = new SchedulingQueue({ clock });
  queue.add(pod("a"));
  const entry = queue.pop();
  if (!entry) throw new Error("no entry");
  queue.failed(entry, new Set(["Pod/Delete"]));
  await clock.advance(400);
  queue.wake("Pod/Delete");
  t.same(queue.counts, { active: 0, backoff: 1, unschedulable: 0, gated: 0 });
  await clock.advance(600);
  const again = queue.pop();
  if (!again) throw new Error("no entry");
  queue.failed(again, new Set(["Pod/Delete"]));
  await clock.advance(5_000);
  queue.wake("Pod/Delete");
  t.equal(queue.pop()?.attempts, 3);
});

t.test("SchedulingQueue gives pods in the order that a plugin has for them", async (t) => {
  const sort = {
    name: "ByName",
    precedes: (a: { pod: Pod }, b: { pod: Pod }) => (a.pod.metadata.name ?? "") < (b.pod.metadata.name ?? ""),
  };
  const queue = new SchedulingQueue({ clock: new FakeClock(), sort });
  for (const name of ["c", "a", "b"]) queue.add(pod(name, { priority: name === "c" ? 9 : 0 }));
  t.same(
    [queue.pop(), queue.pop(), queue.pop()].map((entry) => entry?.pod.metadata.name),
    ["a", "b", "c"],
  );
});
