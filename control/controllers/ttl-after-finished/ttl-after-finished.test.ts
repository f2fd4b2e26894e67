import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

t.test("ttlAfterFinishedController() removes a finished job when its time is over, and no other", async (t) => {
  const clock = new FakeClock(Date.now());
  const names = ["ttl-after-finished-controller", "job-controller", "generic-garbage-collector"];
  const room = await controllerRoom(t, names, { clock, outcome: () => "succeeded" });
  const job = (name: string, more: object) =>
    room.create(resources.jobs, {
      metadata: { name },
      spec: { template: podTemplate({}, { restartPolicy: "Never" }), ...more },
    });
  await job("brief", { ttlSecondsAfterFinished: 60 });
  await job("lasting", {});
  const isComplete = ({ status }: { status?: { conditions?: { type: string }[] } }) =>
    status?.conditions?.some(({ type }) => type === "Complete");
  // The job controller waits a second before it counts anew.
  for (const name of ["brief", "lasting"])
    await until(`${name} to complete`, async () => {
      await clock.advance(500);
      return isComplete(room.get(resources.jobs, name));
    });
  await clock.advance(30_000);
  t.ok(room.get(resources.jobs, "brief"), "its time is not over");
  await until("the job to go", async () => {
    await clock.advance(5_000);
    return !room.get(resources.jobs, "brief");
  });
  await until("its pod to go with it", async () => {
    await clock.advance(500);
    return room.pods().length === 1;
  });
  t.ok(room.get(resources.jobs, "lasting"));
});
