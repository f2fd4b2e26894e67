import t from "tap";
import { matchesContainer, matchesContainerStats, matchesSandbox, matchesSandboxStats } from "./filters.ts";
import * as cri from "./gen/runtime.js";

t.test("matchesContainer() wants every field of the filter that is set", async (t) => {
  const container = {
    id: "abc123",
    podSandboxId: "pod1",
    state: cri.ContainerState.CONTAINER_RUNNING,
    labels: { a: "1" },
  };
  const rows: { name: string; filter: Parameters<typeof cri.ContainerFilter.create>[0]; matches: boolean }[] = [
    { name: "nothing", filter: {}, matches: true },
    { name: "id", filter: { id: "abc123" }, matches: true },
    { name: "short id", filter: { id: "abc" }, matches: true },
    { name: "other id", filter: { id: "b" }, matches: false },
    { name: "sandbox", filter: { podSandboxId: "pod1" }, matches: true },
    { name: "other sandbox", filter: { podSandboxId: "pod2" }, matches: false },
    { name: "state", filter: { state: { state: cri.ContainerState.CONTAINER_RUNNING } }, matches: true },
    { name: "state zero", filter: { state: { state: cri.ContainerState.CONTAINER_CREATED } }, matches: false },
    { name: "label", filter: { labelSelector: { a: "1" } }, matches: true },
    { name: "one label of two", filter: { labelSelector: { a: "1", b: "2" } }, matches: false },
  ];
  t.ok(matchesContainer(container, undefined));
  for (const row of rows)
    t.equal(matchesContainer(container, cri.ContainerFilter.create(row.filter)), row.matches, row.name);
  t.notOk(matchesContainerStats(container, cri.ContainerStatsFilter.create({ podSandboxId: "pod2" })));
});

t.test("matchesSandbox() and matchesSandboxStats() do the same for sandboxes", async (t) => {
  const sandbox = { id: "s1", state: cri.PodSandboxState.SANDBOX_NOTREADY, labels: { a: "1" } };
  t.ok(matchesSandbox(sandbox, undefined));
  t.notOk(
    matchesSandbox(sandbox, cri.PodSandboxFilter.create({ state: { state: cri.PodSandboxState.SANDBOX_READY } })),
  );
  t.ok(matchesSandboxStats(sandbox, cri.PodSandboxStatsFilter.create({ labelSelector: { a: "1" } })));
  t.notOk(matchesSandboxStats(sandbox, cri.PodSandboxStatsFilter.create({ id: "s2" })));
});
