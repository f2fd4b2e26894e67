// What goes wrong, and how it is told: codes to branch on where CRI has them, a Fault everywhere.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

const unknown = "e".repeat(64);

export function errors(t: Test, bench: Workbench): void {
  const notFound = bench.notFound();

  t.test("what does not exist is not-found", async (t) => {
    const { runtime } = bench.runtime;
    const call = within(30_000);
    await t.rejects(bench.sandbox(unknown), notFound);
    await t.rejects(bench.status(unknown), notFound);
    await t.rejects(runtime.startContainer({ containerId: unknown }, call), notFound);
    await t.rejects(runtime.reopenContainerLog({ containerId: unknown }, call), notFound);
    await t.rejects(bench.sh(unknown, "true"), notFound);
    await t.rejects(runtime.containerStats({ containerId: unknown }, call), notFound);
    const update = cri.UpdateContainerResourcesRequest.create({ containerId: unknown, linux: {} });
    await t.rejects(runtime.updateContainerResources(update, call), notFound);
    await t.rejects(bench.container({ id: unknown, config: bench.podConfig() }), aFault);
  });

  t.test("an image that is not present cannot be run", async (t) => {
    const pod = await bench.pod();
    const image = { image: "skiff.test/nobody:0" };
    await t.rejects(bench.container(pod, { image }), notFound);
    await bench.removePod(pod.id);
  });

  t.test("names are taken once", async (t) => {
    const pod = await bench.pod();
    const samePod = () => bench.pod({ metadata: pod.config.metadata });
    const metadata = { name: "twin", attempt: 0 };
    const id = await bench.container(pod, { metadata });
    const sameContainer = () => bench.container(pod, { metadata });
    if (bench.lacks("takenNames")) {
      t.equal((await samePod()).id, pod.id);
      t.equal(await sameContainer(), id);
    } else {
      await t.rejects(samePod(), aFault);
      await t.rejects(sameContainer(), aFault);
    }
    await bench.removePod(pod.id);
  });

  t.test("a container is started once, and only in a ready sandbox", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    await t.rejects(bench.runtime.runtime.startContainer({ containerId: id }, within(30_000)), aFault);
    await bench.stop(id);
    await t.rejects(bench.runtime.runtime.startContainer({ containerId: id }, within(30_000)), aFault);
    await t.rejects(bench.sh(id, "true"), aFault);
    const late = await bench.container(pod);
    await bench.runtime.runtime.stopPodSandbox({ podSandboxId: pod.id }, within(30_000));
    if (!bench.lacks("kernel")) {
      await t.rejects(bench.runtime.runtime.startContainer({ containerId: late }, within(30_000)), aFault);
    }
    await bench.removePod(pod.id);
  });

  t.test("an incomplete request is refused", async (t) => {
    const { runtime } = bench.runtime;
    await t.rejects(runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config: {} }), within(30_000)), aFault);
    const pod = await bench.pod();
    const request = cri.CreateContainerRequest.create({ podSandboxId: pod.id, sandboxConfig: pod.config, config: {} });
    await t.rejects(runtime.createContainer(request, within(30_000)), aFault);
    await bench.removePod(pod.id);
  });

  t.test("a group without a user is refused", async (t) => {
    const pod = await bench.pod();
    const linux = { securityContext: { runAsGroup: { value: 1002 } } };
    await t.rejects(bench.container(pod, { linux }), aFault);
    await bench.removePod(pod.id);
  });

  const noUsers = bench.lacks("userNamespaces");
  t.test("a user namespace without a root, or of one container's, is refused", { skip: noUsers }, async (t) => {
    const before = await bench.runtime.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), within(30_000));
    const whole = [{ hostId: 200_000, containerId: 0, length: 65_536 }];
    const rootless = [{ hostId: 200_000, containerId: 1, length: 65_536 }];
    const { POD, CONTAINER, TARGET } = cri.NamespaceMode;
    for (const usernsOptions of [
      { mode: POD, uids: rootless, gids: rootless },
      { mode: CONTAINER, uids: whole, gids: whole },
      { mode: TARGET, uids: whole, gids: whole },
    ]) {
      const linux = { securityContext: { namespaceOptions: { usernsOptions } } };
      await t.rejects(bench.pod({ linux }), aFault, `mode ${usernsOptions.mode}`);
    }
    const after = await bench.runtime.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), within(30_000));
    t.equal(after.items.length, before.items.length, "nothing is left");
  });

  t.test("an unknown runtime handler is refused, and nothing is left", async (t) => {
    const before = await bench.runtime.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), within(30_000));
    await t.rejects(bench.pod({}, "no-such-handler"), aFault);
    const after = await bench.runtime.runtime.listPodSandbox(cri.ListPodSandboxRequest.create(), within(30_000));
    t.equal(after.items.length, before.items.length);
  });

  t.test(
    "a command that is not there fails the start or exits, and says so",
    { skip: bench.lacks("kernel") },
    async (t) => {
      const pod = await bench.pod();
      const created = bench.container(pod, { command: ["/no/such/program"] });
      const told = { message: /no such file|not found/ };
      if (bench.lacks("lateCommands")) await t.rejects(created, told);
      else {
        const containerId = await created;
        await t.rejects(bench.runtime.runtime.startContainer({ containerId }, within(30_000)), told);
        const status = await bench.exited(containerId);
        t.ok([127, 128].includes(status.exitCode), `exit code ${status.exitCode}`);
      }
      await bench.removePod(pod.id);
    },
  );

  t.test("a stopped call is a timeout", async (t) => {
    const request = cri.VersionRequest.create();
    await t.rejects(bench.runtime.runtime.version(request, { signal: AbortSignal.abort() }), { code: "timeout" });
  });

  t.test("what a runtime lacks is unsupported", async (t) => {
    const { runtime } = bench.runtime;
    const call = within(90_000);
    const pod = await bench.pod();
    const containerId = await bench.started(pod);
    const asks = {
      runtimeConfig: () => runtime.runtimeConfig({}, call),
      updatePodSandboxResources: () =>
        runtime.updatePodSandboxResources(cri.UpdatePodSandboxResourcesRequest.create({ podSandboxId: pod.id }), call),
      checkpointContainer: () =>
        runtime.checkpointContainer({ containerId, location: `${bench.setup.dir}/checkpoint.tar`, timeout: 60n }, call),
      metrics: () => runtime.listPodSandboxMetrics({}, call),
      podStats: () => runtime.podSandboxStats({ podSandboxId: pod.id }, call),
    } as const;
    for (const [ability, ask] of Object.entries(asks)) {
      if (bench.lacks(ability as keyof typeof asks)) await t.rejects(ask(), { code: "unsupported" }, ability);
      else if (ability === "checkpointContainer" && bench.lacks("criu"))
        await t.rejects(ask(), /criu|checkpoint\/restore support/i, ability);
      else await t.resolves(ask(), ability);
    }
    await bench.removePod(pod.id);
  });
}

/** Which code is left open: CRI does not say. */
const aFault = { name: "Fault" };
