// The life of sandboxes and containers: states, times, exit codes, and that stop and remove may be repeated.

import * as cri from "../../../cri/api/gen/runtime.js";
import { within } from "../../../plugins/kit/base/call.ts";
import { sleeper, type Workbench } from "./workbench.ts";
import type { Test } from "./suite.ts";

export function lifecycle(t: Test, bench: Workbench): void {
  t.test("version and status say who it is and that it is ready", async (t) => {
    const { runtime } = bench.runtime;
    const version = await runtime.version(cri.VersionRequest.create({ version: "0.1.0" }), within(10_000));
    t.ok(version.runtimeName);
    t.ok(version.runtimeVersion);
    t.equal(version.runtimeApiVersion, "v1");
    const { status } = await runtime.status(cri.StatusRequest.create(), within(10_000));
    const ready = status?.conditions.filter(({ status }) => status).map(({ type }) => type);
    t.ok(ready?.includes("RuntimeReady"));
    t.ok(ready?.includes("NetworkReady"));
    const verbose = await runtime.status(cri.StatusRequest.create({ verbose: true }), within(10_000));
    t.ok(Object.keys(verbose.info).length > 0, "verbose tells more");
  });

  t.test("a sandbox is ready, then not, then gone", async (t) => {
    const labels = { app: "shop" };
    const annotations = { note: "with spaces and ünïcode" };
    const pod = await bench.pod({ labels, annotations });
    const ready = await bench.sandbox(pod.id);
    t.match(ready, { id: pod.id, metadata: pod.config.metadata, state: cri.PodSandboxState.SANDBOX_READY });
    t.match(ready.labels, labels);
    t.match(ready.annotations, annotations);
    t.ok(ready.createdAt > 1_000_000_000_000_000_000n, "in nanoseconds");
    await bench.runtime.runtime.stopPodSandbox({ podSandboxId: pod.id }, within(30_000));
    t.equal((await bench.sandbox(pod.id)).state, cri.PodSandboxState.SANDBOX_NOTREADY);
    await bench.removePod(pod.id);
    await t.rejects(bench.sandbox(pod.id), { code: "not-found" });
  });

  t.test("a container is created, runs, exits with its code, and is gone", async (t) => {
    const pod = await bench.pod();
    const labels = { tier: "back" };
    // It lives for a moment: containerd stamps the start after the fact, so a shorter life may seem to end before it began.
    const command = ["sh", "-c", "sleep 1; exit 42"];
    const id = await bench.container(pod, { command, labels, annotations: { a: "b" } });
    const created = await bench.status(id);
    t.match(created, { id, state: cri.ContainerState.CONTAINER_CREATED, startedAt: 0n, finishedAt: 0n, labels });
    t.equal(created.image?.image, bench.setup.image);
    t.ok(created.imageRef);
    await bench.runtime.runtime.startContainer({ containerId: id }, within(30_000));
    const exited = await bench.exited(id);
    t.match(exited, { exitCode: 42, reason: "Error", annotations: { a: "b" } });
    t.ok(created.createdAt <= exited.startedAt && exited.startedAt <= exited.finishedAt, "times are in order");
    const fine = await bench.ran(pod, "exit 0");
    t.match(fine, { exitCode: 0, reason: "Completed" });
    await bench.remove(id);
    await t.rejects(bench.status(id), { code: "not-found" });
    await bench.removePod(pod.id);
  });

  t.test("stopContainer ends it by signal, and by force when it does not listen", async (t) => {
    const pod = await bench.pod();
    const polite = await bench.started(pod);
    t.equal((await bench.status(polite)).state, cri.ContainerState.CONTAINER_RUNNING);
    await bench.stop(polite, 0);
    const { state, exitCode } = await bench.status(polite);
    t.equal(state, cri.ContainerState.CONTAINER_EXITED);
    t.ok(exitCode === 137 || (bench.lacks("killAtOnce") && exitCode === 143), `exit code ${exitCode}`);
    await bench.removePod(pod.id);
  });

  t.test("a process that handles SIGTERM ends in its own way", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    const id = await bench.started(pod, { command: ["sh", "-c", script] });
    await bench.logged(id, "ready");
    await bench.stop(id, 30);
    t.match(await bench.status(id), { exitCode: 7 });
    await bench.removePod(pod.id);
  });

  t.test("stop and remove may be repeated, and called for what never was", async (t) => {
    const { runtime } = bench.runtime;
    const pod = await bench.pod();
    const containerId = await bench.started(pod);
    for (let n = 0; n < 2; n++) await bench.stop(containerId);
    for (let n = 0; n < 2; n++) await bench.remove(containerId);
    for (let n = 0; n < 2; n++) await runtime.stopPodSandbox({ podSandboxId: pod.id }, within(30_000));
    for (let n = 0; n < 2; n++) await runtime.removePodSandbox({ podSandboxId: pod.id }, within(30_000));
    const unknown = "f".repeat(64);
    await bench.stop(unknown);
    await bench.remove(unknown);
    await runtime.stopPodSandbox({ podSandboxId: unknown }, within(30_000));
    await runtime.removePodSandbox({ podSandboxId: unknown }, within(30_000));
    t.pass("none of them failed");
  });

  t.test("removing takes what still runs with it", async (t) => {
    const pod = await bench.pod();
    const first = await bench.started(pod);
    await bench.remove(first);
    await t.rejects(bench.status(first), { code: "not-found" });
    const second = await bench.started(pod);
    await bench.removePod(pod.id);
    await t.rejects(bench.status(second), { code: "not-found" });
  });

  t.test("stopPodSandbox ends the containers in it", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    await bench.runtime.runtime.stopPodSandbox({ podSandboxId: pod.id }, within(30_000));
    t.equal((await bench.exited(id)).state, cri.ContainerState.CONTAINER_EXITED);
    await bench.removePod(pod.id);
  });

  t.test("a pod may be run again with the next attempt, beside what is left of the last", async (t) => {
    const pod = await bench.pod();
    await bench.runtime.runtime.stopPodSandbox({ podSandboxId: pod.id }, within(30_000));
    const metadata = { ...pod.config.metadata, attempt: 1 };
    const again = await bench.pod({ metadata });
    t.not(again.id, pod.id);
    const name = { name: "main", attempt: 0 };
    const first = await bench.ran(again, "exit 1", { metadata: name });
    const second = await bench.started(again, { metadata: { ...name, attempt: 1 } });
    t.match(await bench.status(second), { metadata: { name: "main", attempt: 1 } });
    t.not(first.id, second);
    await bench.removePod(pod.id);
    await bench.removePod(again.id);
  });

  t.test("several pods start at once", async (t) => {
    const pods = await Promise.all(Array.from({ length: 4 }, () => bench.pod()));
    const containers = await Promise.all(pods.map((pod) => bench.started(pod, { command: sleeper })));
    const states = await Promise.all(containers.map(async (id) => (await bench.status(id)).state));
    t.ok(states.every((state) => state === cri.ContainerState.CONTAINER_RUNNING));
    t.equal(new Set(await Promise.all(pods.map(async ({ id }) => (await bench.sandbox(id)).network?.ip))).size, 4);
    await Promise.all(pods.map(({ id }) => bench.removePod(id)));
  });
}
