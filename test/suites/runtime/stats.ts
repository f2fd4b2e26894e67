// Stats and metrics: filled in, filtered, and telling of the right container.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function stats(t: Test, bench: Workbench): void {
  const { runtime } = bench.runtime;

  t.test("containerStats is complete for a container that runs", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { labels: { which: "stats" } });
    const stats = await until("memory to be counted", async () => {
      const { stats } = await runtime.containerStats({ containerId: id }, within(30_000));
      return (stats?.memory?.workingSetBytes?.value ?? 0n) > 0n && stats;
    });
    t.match(stats.attributes, { id, labels: { which: "stats" } });
    t.ok(stats.attributes?.metadata?.name);
    t.ok((stats.cpu?.timestamp ?? 0n) > 1_000_000_000_000_000_000n);
    t.type(stats.cpu?.usageCoreNanoSeconds?.value, "bigint");
    t.ok((stats.memory?.timestamp ?? 0n) > 1_000_000_000_000_000_000n);
    await bench.removePod(pod.id);
  });

  t.test("listContainerStats filters by id, sandbox and labels", async (t) => {
    const pod = await bench.pod();
    const mine = { suite: `stats-${Math.random()}` };
    const one = await bench.started(pod, { labels: { ...mine, which: "one" } });
    const other = await bench.started(pod, { labels: mine });
    const ids = async (filter: Parameters<typeof cri.ContainerStatsFilter.create>[0]) => {
      const request = cri.ListContainerStatsRequest.create({ filter });
      const { stats } = await runtime.listContainerStats(request, within(30_000));
      return stats.map(({ attributes }) => attributes?.id ?? "").sort();
    };
    t.same(await ids({ podSandboxId: pod.id }), [one, other].sort());
    t.same(await ids({ labelSelector: { ...mine, which: "one" } }), [one]);
    t.same(await ids({ id: other }), [other]);
    await bench.removePod(pod.id);
  });

  t.test("podSandboxStats adds up its containers and its network", { skip: bench.lacks("podStats") }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const { stats } = await runtime.podSandboxStats({ podSandboxId: pod.id }, within(30_000));
    t.match(stats?.attributes, { id: pod.id, metadata: pod.config.metadata });
    t.ok(stats?.linux?.containers.some(({ attributes }) => attributes?.id === id));
    t.test("as a whole", { skip: bench.lacks("podUsage") }, async (t) => {
      t.ok((stats?.linux?.memory?.workingSetBytes?.value ?? 0n) > 0n);
      t.type(stats?.linux?.cpu?.usageCoreNanoSeconds?.value, "bigint");
      t.equal(stats?.linux?.network?.defaultInterface?.name, "eth0");
      t.type(stats?.linux?.network?.defaultInterface?.rxBytes?.value, "bigint");
      t.ok((stats?.linux?.process?.processCount?.value ?? 0n) > 0n);
    });
    const request = cri.ListPodSandboxStatsRequest.create({ filter: { id: pod.id } });
    const listed = await runtime.listPodSandboxStats(request, within(30_000));
    t.same(
      listed.stats.map(({ attributes }) => attributes?.id),
      [pod.id],
    );
    await bench.removePod(pod.id);
  });

  t.test("metrics are described, and come for each container", { skip: bench.lacks("metrics") }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const { descriptors } = await runtime.listMetricDescriptors({}, within(30_000));
    const named = new Map(descriptors.map((descriptor) => [descriptor.name, descriptor]));
    const { podMetrics } = await runtime.listPodSandboxMetrics({}, within(30_000));
    const metrics = podMetrics
      .find(({ podSandboxId }) => podSandboxId === pod.id)
      ?.containerMetrics.find(({ containerId }) => containerId === id)?.metrics;
    t.ok(metrics?.length);
    t.test("with each label", { skip: bench.lacks("metricLabels") }, async (t) => {
      for (const { name, labelValues } of metrics ?? [])
        t.equal(named.get(name)?.labelKeys.length, labelValues.length, `${name} is described`);
    });
    await bench.removePod(pod.id);
  });
}
