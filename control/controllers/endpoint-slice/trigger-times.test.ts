import t from "tap";
import type { Pod, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { TriggerTimes, withTrigger } from "./trigger-times.ts";

const at = (minute: number) => `2026-01-01T00:0${minute}:00Z`;
const service = { metadata: { namespace: "n", name: "s", creationTimestamp: at(1) } } as Service;
const pod = (name: string, minute?: number) =>
  ({
    metadata: { name },
    status:
      minute === undefined ? {} : { conditions: [{ type: "Ready", status: "True", lastTransitionTime: at(minute) }] },
  }) as Pod;

t.test("TriggerTimes says when what is new came about", async (t) => {
  const times = new TriggerTimes();
  t.equal(times.next(service, [pod("a", 3)]), at(1), "at first, when the service was made");
  t.equal(times.next(service, [pod("a", 3)]), undefined, "nothing is new");
  t.equal(times.next(service, [pod("a", 5), pod("b", 4), pod("c")]), at(4), "the earliest of the new ones");
  t.equal(times.next(service, [pod("a", 5)]), undefined, "who leaves says nothing");
  t.equal(times.next(service, [pod("a", 2)]), undefined, "nor does what lies before");
  times.forget("n/s");
  t.equal(times.next(service, []), at(1));
});

t.test("withTrigger() keeps what others wrote, and no time that is not of now", async (t) => {
  const key = "endpoints.kubernetes.io/last-change-trigger-time";
  t.same(withTrigger({ a: "b", [key]: at(1) }, at(2)), { a: "b", [key]: at(2) });
  t.same(withTrigger({ a: "b", [key]: at(1) }, undefined), { a: "b" });
  t.equal(withTrigger({ [key]: at(1) }, undefined), undefined);
});
