import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { EventLog } from "./event-log.ts";

const pod = (uid: string) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default", uid } });

t.test("EventLog passes on what it is told, and counts what repeats", async (t) => {
  const passed: string[] = [];
  const clock = new FakeClock(1000);
  const log = new EventLog({ event: (_object, _type, reason) => void passed.push(reason) }, clock);
  log.event(pod("u1"), "Normal", "Pulled", "image is here", { fieldPath: "spec.containers{main}" });
  await clock.advance(500);
  log.event(pod("u1"), "Warning", "Unhealthy", "no answer");
  log.event(pod("u1"), "Normal", "Pulled", "image is here", { fieldPath: "spec.containers{main}" });
  t.same(passed, ["Pulled", "Unhealthy", "Pulled"]);
  t.match(log.of("u1"), [
    { reason: "Unhealthy", type: "Warning", container: "", count: 1 },
    { reason: "Pulled", container: "main", count: 2, firstAt: 1000, lastAt: 1500 },
  ]);
  t.same(log.of("u2"), []);
  log.event({ apiVersion: "v1", kind: "Node", metadata: { name: "n", uid: "n" } }, "Normal", "Starting", "");
  t.same(log.of("n"), [], "only pods' events are kept");
});

t.test("EventLog keeps the newest", async (t) => {
  const log = new EventLog({ event: () => {} }, new FakeClock());
  for (let index = 0; index < 30; index++) log.event(pod("u1"), "Normal", "Said", `number ${index}`);
  t.equal(log.of("u1").length, 20);
  t.equal(log.of("u1").at(-1)?.message, "number 29");
  for (let index = 0; index < 600; index++) log.event(pod(`other-${index}`), "Normal", "Said", "");
  t.same(log.of("u1"), [], "the pod that was longest silent is forgotten");
});
