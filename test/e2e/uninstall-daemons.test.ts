// `skiff uninstall` of a node whose containers a daemon runs: ours are removed, those of the daemon's other masters run on.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { daemonOf } from "../../agent/assemble/runtime-daemon.ts";
import {
  ContainerState,
  CreateContainerRequest,
  NamespaceMode,
  RunPodSandboxRequest,
} from "../../cri/api/gen/runtime.js";
import type { Runtime } from "../../cri/api/contract.ts";
import { Engine } from "../../cri/docker/engine/engine.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImageName } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";

const project = join(import.meta.dirname, "../..");
t.setTimeout(600_000);

/** A pod of another master, on the host's network; gives its container. */
async function foreignPod(runtime: Pick<Runtime, "runtime">): Promise<string> {
  const linux = { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } };
  const config = { metadata: { name: "foreign", uid: "foreign", namespace: "other" }, linux, logDirectory: tmpdir() };
  const { podSandboxId } = await runtime.runtime.runPodSandbox(RunPodSandboxRequest.create({ config }), call);
  const container = { metadata: { name: "c" }, image: { image: busyboxImageName }, command: ["sleep", "100000"] };
  const create = CreateContainerRequest.create({ podSandboxId, config: container, sandboxConfig: config });
  const { containerId } = await runtime.runtime.createContainer(create, call);
  await runtime.runtime.startContainer({ containerId }, call);
  return containerId;
}

async function isRunning(runtime: Pick<Runtime, "runtime">, containerId: string): Promise<boolean> {
  const { status } = await runtime.runtime.containerStatus({ containerId, verbose: false }, call);
  return status?.state === ContainerState.CONTAINER_RUNNING;
}

/** A node with a pod, stopped with its containers running, then uninstalled. */
async function comeAndGo(t: Test, runtimeFlag: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-uninstall-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const skiff = await startSkiff({ dataDir, flags: [`--runtime=${runtimeFlag}`, "--stop-pods-on-exit=false"] });
  t.teardown(() => skiff.kill());
  const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] };
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
  await skiff.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "ours" }, spec });
  await skiff.kubectl("wait", "pod/ours", "--for=condition=Ready", "--timeout=120s");
  await skiff.stop();
  const { stdout } = await promisify(execFile)(join(project, "skiff"), [
    "uninstall",
    "--yes",
    `--data-dir=${dataDir}`,
    "--this-instance-only",
    `--runtime=${runtimeFlag}`,
  ]);
  t.match(stdout, /removing pod default\/ours/);
  t.notOk(existsSync(dataDir));
}

t.test("skiff uninstall on containerd", { skip: withoutContainerd() }, async (t) => {
  const binDir = mkdtempSync(join(tmpdir(), "skiff-cni-bin-"));
  t.teardown(() => rmSync(binDir, { recursive: true, force: true }));
  const list = JSON.stringify({ cniVersion: "1.0.0", name: "none", plugins: [{ type: "loopback" }] });
  const containerd = await startContainerd(t, { network: { binDir, list } });
  rmSync(join(containerd.dir, "cni", "10-test.conflist"));
  const remote = openRemote({ socket: containerd.socket });
  t.teardown(() => remote.close());
  const foreign = await foreignPod(remote);
  const flag = `unix://${containerd.socket}`;
  t.match(await (await daemonOf(flag, call))?.(), { name: "containerd", version: /^v?\d+\.\d+/, least: [1, 6] });
  await comeAndGo(t, flag);
  t.notMatch(await containerd.ctr("containers", "ls"), /ours/);
  const { items } = await remote.runtime.listPodSandbox({}, call);
  t.same(
    items.map(({ metadata }) => metadata?.name),
    ["foreign"],
  );
  t.ok(await isRunning(remote, foreign), "the pod of another master runs on");
  t.same(readdirSync(binDir), [], "our CNI programs are gone");
  t.same(readdirSync(join(containerd.dir, "cni")), [], "and our network list");
});

t.test("skiff uninstall on Docker", { skip: withoutDocker() }, async (t) => {
  const docker = await startDocker(t);
  process.env["DOCKER_HOST"] = `unix://${docker.socket}`;
  t.teardown(() => delete process.env["DOCKER_HOST"]);
  const foreign = await foreignPod(docker.current());
  const engine = new Engine(docker.socket);
  t.teardown(() => engine.close());
  const ids = async () =>
    (await engine.get<{ Id: string }[]>("/containers/json", { all: true }, call)).map(({ Id }) => Id).sort();
  const before = await ids();
  t.match(await (await daemonOf("docker", call))?.(), { name: "Docker API", version: /^1\.\d+$/, least: [1, 41] });
  await comeAndGo(t, "docker");
  t.same(await ids(), before, "the containers of others are all there, and no other");
  t.ok(await isRunning(docker.current(), foreign), "and run on");
});
