// Two whole control planes on one etcd: a quota holds for both together, however many ask at once and while objects come and go.

import t from "tap";
import type { Json } from "../harness/api-server.ts";
import { controlPlanes } from "../harness/control-planes.ts";
import { noEtcd } from "../harness/etcd.ts";
import { until } from "../harness/until.ts";

const namespace = "/api/v1/namespaces/limited";

t.test("two servers together never give more than a quota has", { skip: noEtcd, timeout: 120_000 }, async (t) => {
  const planes = await controlPlanes(t);
  const one = await planes.open(1);
  planes.copyKeys(1, 2);
  const two = await planes.open(2);
  const of = (index: number) => (index % 2 === 0 ? one : two);
  await one.ask("POST", "/api/v1/namespaces", { metadata: { name: "limited" } });
  const hard = { pods: "10", secrets: "10", "requests.cpu": "2" };
  await two.ask("POST", `${namespace}/resourcequotas`, { metadata: { name: "q" }, spec: { hard } });
  const quota = async () => (await one.ask("GET", `${namespace}/resourcequotas/q`)).body;
  await until("the quota to be counted", async () => (await quota()).status?.used?.pods === "0");
  await until("the account of its pods", async () => {
    return (await two.ask("GET", `${namespace}/serviceaccounts/default`)).status === 200;
  });

  const cpu = { resources: { requests: { cpu: "100m" } } };
  const makers: Record<string, (name: string) => Json> = {
    secrets: (name) => ({ metadata: { name } }),
    pods: (name) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "i", ...cpu }] } }),
  };
  for (const [resource, make] of Object.entries(makers))
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          of(index).ask("POST", `${namespace}/${resource}`, make(`r${round}-${index}`)),
        ),
      );
      const made = answers.filter(({ status }) => status === 201);
      t.equal(made.length, 10, `${resource}, round ${round}`);
      for (const { status, body } of answers)
        if (status !== 201) t.match([status, body.message], [403, /exceeded quota: q, requested: .*limited: /]);
      t.equal((await quota()).status.used[resource], "10");
      await Promise.all(
        made.map(({ body }, index) =>
          of(index).ask("DELETE", `${namespace}/${resource}/${body.metadata.name}?gracePeriodSeconds=0`),
        ),
      );
      await until("what went to be counted", async () => (await quota()).status.used[resource] === "0", 30_000);
    }
});
