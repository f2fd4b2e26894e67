// Lists and their filters.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

export function lists(t: Test, bench: Workbench): void {
  t.test("listPodSandbox filters by id, state and labels", async (t) => {
    const mine = { suite: `list-${Math.random()}` };
    const ready = await bench.pod({ labels: { ...mine, which: "ready" } });
    const stopped = await bench.pod({ labels: { ...mine, which: "stopped" } });
    await bench.runtime.runtime.stopPodSandbox({ podSandboxId: stopped.id }, within(30_000));
    const list = async (filter: Parameters<typeof cri.PodSandboxFilter.create>[0]) => {
      const request = cri.ListPodSandboxRequest.create({ filter });
      const { items } = await bench.runtime.runtime.listPodSandbox(request, within(30_000));
      return items;
    };
    const ids = async (filter: Parameters<typeof cri.PodSandboxFilter.create>[0]) =>
      (await list(filter)).map(({ id }) => id).sort();
    t.same(await ids({ labelSelector: mine }), [ready.id, stopped.id].sort());
    t.same(await ids({ labelSelector: { ...mine, which: "stopped" } }), [stopped.id]);
    t.same(await ids({ labelSelector: mine, state: { state: cri.PodSandboxState.SANDBOX_READY } }), [ready.id]);
    t.same(await ids({ labelSelector: mine, state: { state: cri.PodSandboxState.SANDBOX_NOTREADY } }), [stopped.id]);
    t.same(await ids({ id: ready.id }), [ready.id]);
    t.same(await ids({ id: "f".repeat(64) }), []);
    t.ok((await list({})).length >= 2, "and without a filter everything");
    t.match((await list({ id: ready.id }))[0], { metadata: ready.config.metadata, labels: mine });
    await bench.removePod(ready.id);
    await bench.removePod(stopped.id);
  });

  t.test("listContainers filters by id, state, sandbox and labels", async (t) => {
    const one = await bench.pod();
    const other = await bench.pod();
    const mine = { suite: `list-${Math.random()}` };
    const created = await bench.container(one, { labels: mine });
    const running = await bench.started(one, { labels: { ...mine, which: "running" } });
    const { id: exited } = await bench.ran(other, "exit 1", { labels: mine });
    const list = async (filter: Parameters<typeof cri.ContainerFilter.create>[0]) => {
      const request = cri.ListContainersRequest.create({ filter });
      const { containers } = await bench.runtime.runtime.listContainers(request, within(30_000));
      return containers;
    };
    const ids = async (filter: Parameters<typeof cri.ContainerFilter.create>[0]) =>
      (await list(filter)).map(({ id }) => id).sort();
    const state = (state: cri.ContainerState) => ({ labelSelector: mine, state: { state } });
    t.same(await ids({ labelSelector: mine }), [created, running, exited].sort());
    t.same(await ids(state(cri.ContainerState.CONTAINER_CREATED)), [created]);
    t.same(await ids(state(cri.ContainerState.CONTAINER_RUNNING)), [running]);
    t.same(await ids(state(cri.ContainerState.CONTAINER_EXITED)), [exited]);
    t.same(await ids({ podSandboxId: one.id }), [created, running].sort());
    t.same(await ids({ labelSelector: { ...mine, which: "running" } }), [running]);
    t.same(await ids({ id: exited }), [exited]);
    t.same(await ids({ id: "f".repeat(64) }), []);
    const [listed] = await list({ id: running });
    t.match(listed, { podSandboxId: one.id, labels: mine, image: { image: bench.setup.image } });
    t.ok(listed?.imageRef);
    t.ok((listed?.createdAt ?? 0n) > 1_000_000_000_000_000_000n);
    await bench.removePod(one.id);
    await bench.removePod(other.id);
  });
}
