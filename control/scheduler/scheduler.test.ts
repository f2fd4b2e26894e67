import { queryObjects } from "node:v8";
import t from "tap";
import { defaultProfile } from "../../test/harness/scheduling.ts";
import { schedulerCluster } from "../../test/harness/scheduler-cluster.ts";
import { until } from "../../test/harness/until.ts";

t.test("Scheduler.run() does not accumulate promises", async (t) => {
  const cluster = await schedulerCluster(t, { profiles: [await defaultProfile()] });
  await cluster.addNode("large", "1000");
  let pods = 0;
  const promisesAfter = async (count: number) => {
    for (let added = 0; added < count; added++) {
      const name = `pod-${pods++}`;
      await cluster.addPod(name, {});
      await until(`${name} to be bound`, async () => (await cluster.get(name)).spec?.nodeName !== undefined);
    }
    return queryObjects(Promise, { format: "count" });
  };
  const before = await promisesAfter(10);
  t.ok((await promisesAfter(60)) - before < 30);
});
