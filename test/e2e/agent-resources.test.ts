// What the node gives out and takes back, on a real containerd: images behind credentials, devices, CPUs, logs, disk, and the end of the node.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { boundPod, conditionOf, makeNamespaces, startNode } from "../harness/agent-node.ts";
import { startApi } from "../harness/api-server.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { cameraResource, startCameraPlugin } from "../harness/device-plugin.ts";
import { hastyClock } from "../harness/hasty-clock.ts";
import { busyboxImage as pulledImage } from "../harness/image-builder.ts";
import { busyboxImage, busyboxImageName as image } from "../harness/images.ts";
import { leaks, machineState } from "../harness/machine-state.ts";
import { TestRegistry } from "../harness/registry.ts";
import { until } from "../harness/until.ts";

t.setTimeout(600_000);
const before = machineState();
const marks: string[] = [];
const serial = "skiff.dev/serial";

t.test("what a node gives out, on containerd", { skip: withoutContainerd() }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-resources-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const containerd = await startContainerd(t, { rootMib: 256 });
  const runtime = openRemote({ socket: containerd.socket });
  t.teardown(() => runtime.close());
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
  const cgroupRoot = `skiff-resources-${process.pid}`;
  t.teardown(async () => void openCgroupFiles().remove(cgroupRoot));
  marks.push(dir, containerd.dir, cgroupRoot);

  const registry = await TestRegistry.start({ users: { skipper: "ahoy" } });
  t.teardown(() => registry.stop());
  const guarded = registry.add("fleet/guarded", "1", pulledImage());
  const provider = { username: "skipper", password: "ahoy" };
  const answer = {
    kind: "CredentialProviderResponse",
    apiVersion: "credentialprovider.kubelet.k8s.io/v1",
    cacheKeyType: "Registry",
    cacheDuration: "1h",
    auth: { [registry.host]: provider },
  };
  writeFileSync(join(dir, "asked"), "");
  const program = `#!/bin/sh\ncat >> ${dir}/asked\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`;
  mkdirSync(join(dir, "bin"));
  writeFileSync(join(dir, "bin", "harbour"), program);
  chmodSync(join(dir, "bin", "harbour"), 0o755);
  const providers = [{ name: "harbour", apiVersion: answer.apiVersion, matchImages: [registry.host] }];
  writeFileSync(join(dir, "providers.yaml"), JSON.stringify({ providers }));

  const host = { manifest: manifestOf("from-url"), status: 200 };
  const web = createServer((_, response) => response.writeHead(host.status).end(host.manifest));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void web.close());

  const tty = join(dir, "ttyTest0");
  execFileSync("mknod", ["-m", "666", tty, "c", "1", "3"]);
  const devicePluginDir = join(dir, "device-plugins");
  const config = {
    cgroupRoot,
    devicePluginDir,
    hostDevices: { [serial]: [tty] },
    credentialProviderConfig: join(dir, "providers.yaml"),
    credentialProviderDir: join(dir, "bin"),
    manifestUrl: `http://127.0.0.1:${(web.address() as AddressInfo).port}/pods`,
    containerLogs: { maxBytes: 4_000, maxFiles: 3 },
    cpuManager: "static" as const,
    reservedCpus: "0",
    shutdownGraceByPriority: [
      { priority: 0, seconds: 3_000 },
      { priority: 1_000, seconds: 2_000 },
    ],
  };
  const { agent, dataDir } = await startNode(t, runtime, { api, config, clock: hastyClock });
  marks.push(dataDir);
  await until("the node to be ready", () => agent.isReady());

  const own = "/api/v1/namespaces/default/pods";
  const get = async (name: string) => (await api.ask("GET", `${own}/${name}`)).body as Pod | undefined;
  const create = async (name: string, container: object, spec: object = {}) => {
    const main = { name: "main", image, command: ["sleep", "1000000"], ...container };
    const { status, text } = await api.ask("POST", own, boundPod(name, { containers: [main], ...spec }));
    if (status !== 201) throw new Error(text);
  };
  const becomes = (name: string, what: string, is: (pod: Pod | undefined) => boolean) =>
    until(`${name} to be ${what}`, async () => is(await get(name)), 60_000).catch(async (error: unknown) => {
      throw new Error(JSON.stringify((await get(name))?.status), { cause: error });
    });
  const ready = (name: string) => becomes(name, "ready", (pod) => conditionOf(pod, "Ready") === "True");
  const ended = (name: string) =>
    becomes(name, "over", (pod) => pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed");
  const remove = async (...names: string[]) => {
    for (const name of names) await api.ask("DELETE", `${own}/${name}`);
    for (const name of names) await becomes(name, "gone", (pod) => pod?.metadata.uid === undefined);
  };
  const containerOf = async (name: string) => {
    const { containers } = await runtime.runtime.listContainers({}, within(10_000));
    const found = containers.filter(({ labels, state }) => labels["io.kubernetes.pod.name"] === name && state === 1);
    return found.find(({ metadata }) => metadata?.name === "main")?.id ?? "";
  };
  const exec = async (name: string, script: string) => {
    const request = { containerId: await containerOf(name), cmd: ["sh", "-c", script], timeout: 10n };
    const { stdout, stderr } = await runtime.runtime.execSync(request, within(20_000));
    return Buffer.concat([stdout, stderr]).toString("utf8").trim();
  };
  const theNode = async () => (await api.ask("GET", "/api/v1/nodes/node")).body as Node;
  const limits = (list: Record<string, string>) => ({ resources: { limits: list } });
  const logsOf = (pod: Pod) =>
    join(dataDir, "logs", "pods", `default_${pod.metadata.name}_${pod.metadata.uid}`, "main");

  await t.test("a pod from a URL comes, changes and goes; while the URL fails it stays", async (t) => {
    await ready("from-url-node");
    host.status = 500;
    host.manifest = "";
    await create("mirrored", {});
    await ready("mirrored");
    t.equal(conditionOf(await get("from-url-node"), "Ready"), "True");
    host.status = 200;
    host.manifest = manifestOf("another");
    await ready("another-node");
    await becomes("from-url-node", "gone", (pod) => pod?.metadata.uid === undefined);
    await remove("mirrored");
  });

  await t.test("an image behind credentials that a provider program has", async (t) => {
    await create("pulled", { image: guarded });
    await ready("pulled");
    await create("again", { image: guarded, imagePullPolicy: "Always" });
    await ready("again");
    const asked = readFileSync(join(dir, "asked"), "utf8");
    t.same(JSON.parse(asked), {
      kind: "CredentialProviderRequest",
      apiVersion: answer.apiVersion,
      image: guarded.replace(/:1$/, ""),
    });
    t.ok(registry.requests.some(({ authorization }) => authorization?.startsWith("Basic ")));
    const data = registry.add("fleet/data", "1", pulledImage());
    const volumes = [{ name: "data", image: { reference: data, pullPolicy: "IfNotPresent" } }];
    await create("mounting", { volumeMounts: [{ name: "data", mountPath: "/data" }] }, { volumes });
    // containerd mounts images since 2.1; before that the pod says what is missing.
    const isClear = ({ status }: Pod) =>
      /^Cannot mount image .* needs containerd 2\.1/.test(
        status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
      );
    await becomes("mounting", "clear", (pod) => conditionOf(pod, "Ready") === "True" || (!!pod && isClear(pod)));
    const { images } = await runtime.image.listImages({}, within(10_000));
    const fetched = images.some(({ repoTags }) => repoTags.includes(data));
    t.ok(fetched, "an image that is mounted is pulled like any other");
    await remove("pulled", "again", "mounting");
  });

  await t.test("a host device for an unprivileged pod, given once", async (t) => {
    const user = { securityContext: { runAsUser: 1000, capabilities: { drop: ["ALL"] } } };
    await create("modem", { ...limits({ [serial]: "1" }), ...user });
    await ready("modem");
    t.equal(await exec("modem", `echo hello > ${tty} && echo sent`), "sent");
    await create("second", limits({ [serial]: "1" }));
    await ended("second");
    t.match((await get("second"))?.status, { phase: "Failed", reason: `OutOf${serial}` });
    await remove("modem", "second");
  });

  await t.test("a device plugin registers, gives, breaks and goes", async (t) => {
    const plugin = await startCameraPlugin(devicePluginDir);
    t.teardown(() => plugin.stop());
    await plugin.register();
    const counted = async () => {
      const { capacity, allocatable } = (await theNode()).status ?? {};
      return `${allocatable?.[cameraResource]} of ${capacity?.[cameraResource]}`;
    };
    await until("two cameras", async () => (await counted()) === "2 of 2");
    const filming = limits({ [cameraResource]: "1" });
    const initContainers = [{ name: "focus", image, command: ["test", "-c", "/dev/cam1"], ...filming }];
    await create("film", filming, { initContainers });
    await ready("film");
    const seen = () => exec("film", "echo $CAMERAS; ls /dev | grep cam; echo x > /dev/cam1 && echo works");
    t.equal(await seen(), "cam1\ncam1\nworks", "the one that the plugin prefers, handed on by the init container");
    plugin.breakOne();
    await until("one that works", async () => (await counted()) === "1 of 2");
    await create("crew", limits({ [cameraResource]: "2" }));
    await ended("crew");
    t.equal((await get("crew"))?.status?.reason, `OutOf${cameraResource}`);
    t.equal(conditionOf(await get("film"), "Ready"), "True", "who has a broken one keeps it");
    plugin.stop();
    await until("none that works", async () => (await counted()) === "0 of 2");
    await runtime.runtime.stopContainer({ containerId: await containerOf("film"), timeout: 0n }, within(10_000));
    await becomes("film", "restarted", (pod) => pod?.status?.containerStatuses?.[0]?.restartCount === 1);
    await ready("film");
    t.equal(await seen(), "cam1\ncam1\nworks", "and has it again after a restart, with the plugin away");
    t.equal(plugin.allocations.length, 2, "once for each container");
    await remove("film", "crew");
  });

  await t.test("CPUs of its own", { skip: availableParallelism() < 2 && "needs two CPUs" }, async (t) => {
    const cpusOf = (name: string) => exec(name, "grep Cpus_allowed_list /proc/self/status | cut -f2");
    const all = availableParallelism() === 2 ? "0-1" : `0-${availableParallelism() - 1}`;
    const rest =
      availableParallelism() === 2 ? "0" : `0,2${availableParallelism() > 3 ? `-${availableParallelism() - 1}` : ""}`;
    await create("shared", {});
    await ready("shared");
    t.equal(await cpusOf("shared"), all);
    await create("owner", limits({ cpu: "1", memory: "32Mi" }));
    await ready("owner");
    t.equal(await cpusOf("owner"), "1");
    await until("the other to move", async () => (await cpusOf("shared")) === rest);
    await remove("owner");
    await until("the other to have them all again", async () => (await cpusOf("shared")) === all);
    await remove("shared");
  });

  await t.test("a critical pod takes the place of another that has what it needs", async (t) => {
    const asking = (cpu: number) => ({ resources: { requests: { cpu: `${cpu}m` } } });
    const all = availableParallelism() * 1000;
    await create("filler", asking(all - 300));
    await create("bystander", asking(200));
    for (const name of ["filler", "bystander"]) await ready(name);
    await create("late", asking(400));
    await ended("late");
    t.match((await get("late"))?.status, {
      reason: "OutOfcpu",
      message: `Pod was rejected: Node didn't have enough resource: cpu, requested: 400, used: ${all - 100}, capacity: ${all}`,
    });
    await create("vital", asking(400), { priority: 2_000_000_000 });
    await ready("vital");
    t.match((await get("filler"))?.status, {
      phase: "Failed",
      reason: "Preempting",
      message: "Preempted in order to admit critical pod",
    });
    t.equal(conditionOf(await get("filler"), "DisruptionTarget"), "True");
    t.equal(conditionOf(await get("bystander"), "Ready"), "True", "nobody goes without need");
    await remove("filler", "bystander", "late", "vital");
  });

  await t.test("what is mounted, and how, is told", async (t) => {
    const mount = { name: "data", mountPath: "/data", readOnly: true };
    const volumes = [{ name: "data", emptyDir: {} }];
    await create("possible", { volumeMounts: [{ ...mount, recursiveReadOnly: "IfPossible" }] }, { volumes });
    await ready("possible");
    const { runtimeHandlers } = await runtime.runtime.status({ verbose: false }, within(10_000));
    const isSupported = runtimeHandlers.some(({ name, features }) => name === "" && features?.recursiveReadOnlyMounts);
    t.match((await get("possible"))?.status?.containerStatuses?.[0]?.volumeMounts, [
      { ...mount, recursiveReadOnly: isSupported ? "Enabled" : "Disabled" },
    ]);
    await create("needed", { volumeMounts: [{ ...mount, recursiveReadOnly: "Enabled" }] }, { volumes });
    if (isSupported) await ready("needed");
    else {
      const reasonOf = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
      await becomes("needed", "held back", (pod) => reasonOf(pod) === "CreateContainerConfigError");
    }
    await remove("possible", "needed");
  });

  await t.test("the node's own events are there", async () => {
    const reasons = ["Starting", "NodeAllocatableEnforced", "NodeReady", "NodeHasSufficientMemory"];
    await until("the events", async () => {
      const { body } = await api.ask("GET", "/api/v1/namespaces/default/events");
      const told = (body as { items: { reason: string; involvedObject: { kind: string } }[] }).items
        .filter(({ involvedObject }) => involvedObject.kind === "Node")
        .map(({ reason }) => reason);
      return [...reasons, "NodeHasNoDiskPressure", "NodeHasSufficientPID"].every((reason) => told.includes(reason));
    });
  });

  await t.test("logs are rotated, compressed and bounded", async (t) => {
    const script =
      "i=0; while true; do i=$((i+1)); echo line $i of a log that grows; [ $((i % 50)) != 0 ] || sleep 0.1; done";
    await create("chatty", { command: ["sh", "-c", script] });
    await ready("chatty");
    const folder = logsOf((await get("chatty")) as Pod);
    await until("older pieces", () => readdirSync(folder).some((name) => name.endsWith(".gz")));
    const first = readdirSync(folder).find((name) => name.endsWith(".gz")) ?? "";
    await until("the oldest to go", () => !readdirSync(folder).includes(first));
    // Between the moves of one rotation the log has no name of its own.
    const pieces = () => readdirSync(folder).filter((name) => name.startsWith("0.log.") && !name.endsWith(".tmp"));
    t.ok(pieces().length <= 3, pieces().join());
    await until("the log to go on", () => {
      const log = readdirSync(folder).includes("0.log") ? readFileSync(join(folder, "0.log"), "utf8") : "";
      return log.includes("of a log that grows");
    });
    await remove("chatty");
  });

  await t.test("a node that is switched off ends its pods in order", async (t) => {
    const say = (word: string) => [
      "sh",
      "-c",
      `trap 'sleep 0.5; echo ${word} >> /ended; exit 0' TERM; touch /up; while true; do sleep 0.1; done`,
    ];
    const volumes = [{ name: "ended", hostPath: { path: join(dir, "ended"), type: "FileOrCreate" } }];
    const mounted = (word: string) => ({
      command: say(word),
      volumeMounts: [{ name: "ended", mountPath: "/ended" }],
      // Before it listens, it would not hear that it should end.
      readinessProbe: { exec: { command: ["test", "-e", "/up"] }, periodSeconds: 1 },
    });
    const spec = { volumes, terminationGracePeriodSeconds: 20 };
    await create("vital", mounted("vital"), { ...spec, priority: 1_000 });
    await create("plain", mounted("plain"), spec);
    for (const name of ["vital", "plain"]) await ready(name);
    await agent.shutDown(within(60_000));
    t.equal(readFileSync(join(dir, "ended"), "utf8"), "plain\nvital\n");
    for (const name of ["vital", "plain"]) {
      await ended(name);
      const { status } = (await get(name)) as Pod;
      t.match(status, { reason: "Terminated", message: "Pod was terminated in response to imminent node shutdown." });
      t.equal(conditionOf({ status } as Pod, "DisruptionTarget"), "True");
    }
    await until("the node to say so", async () => conditionOf((await theNode()) as never, "Ready") === "False");
    await create("late", {});
    await ended("late");
    t.equal((await get("late"))?.status?.reason, "NodeShutdown");
    await remove("vital", "plain", "late");
    await agent.close();
  });

  await t.test("a node that runs out of disk", async (t) => {
    const small = join(dir, "small");
    mkdirSync(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", small]);
    t.teardown(() => void execFileSync("umount", ["-l", small]));
    const bulky = (name: string) =>
      busyboxImage({ name: `skiff.test/${name}:1`, files: [{ path: "bulk", data: randomBytes(24 << 20) }] });
    await containerd.importImages(bulky("idle"), bulky("busy"));
    const hasImage = async (name: string) => {
      const { images } = await runtime.image.listImages({}, within(10_000));
      return images.some(({ repoTags }) => repoTags.includes(`skiff.test/${name}:1`));
    };
    const eviction = {
      ...agentConfig({}).eviction,
      thresholds: [
        { signal: "nodefs.available", below: { fraction: 0.5 } },
        { signal: "imagefs.available", below: { fraction: 0.01 } },
      ] as const,
    };
    const imageGc = { highPercent: 85, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 };
    const tight = { cgroupRoot, eviction, imageGc };
    const { agent: second } = await startNode(t, runtime, { api, config: tight, dataDir: small, clock: hastyClock });
    t.teardown(() => second.close());
    await until("the node to be ready", async () => conditionOf((await theNode()) as never, "Ready") === "True");

    const writing = (mib: number, container: object = {}) => ({
      command: ["sh", "-c", `dd if=/dev/zero of=/data/file bs=1M count=${mib} && exec sleep 1000000`],
      readinessProbe: { exec: { command: ["test", "-e", "/data/file"] }, periodSeconds: 1 },
      volumeMounts: [{ name: "data", mountPath: "/data" }],
      ...container,
    });
    const volumes = [{ name: "data", emptyDir: {} }];
    const asking = { resources: { requests: { "ephemeral-storage": "20Mi" } } };
    await create("modest", writing(10, asking), { volumes });
    await create("important", writing(12, { image: "skiff.test/busy:1" }), { volumes, priority: 1000 });
    for (const name of ["modest", "important"]) await ready(name);
    await create("limited", writing(3, limits({ "ephemeral-storage": "2Mi" })), { volumes });
    await ended("limited");
    t.match((await get("limited"))?.status, {
      reason: "Evicted",
      message: "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
    });

    await create("hog", writing(11), { volumes });
    await ended("hog");
    t.match((await get("hog"))?.status, {
      phase: "Failed",
      reason: "Evicted",
      message: /^The node was low on resource: ephemeral-storage\. Threshold quantity: 32Mi, available: \d+/,
    });
    t.equal(conditionOf(await get("hog"), "DisruptionTarget"), "True");
    await until("the node to say so", async () => conditionOf((await theNode()) as never, "DiskPressure") === "True");
    await create("refused", {});
    await ended("refused");
    t.match((await get("refused"))?.status, {
      reason: "Evicted",
      message: "Pod was rejected: The node had condition: [DiskPressure]. ",
    });
    for (const name of ["modest", "important"]) t.equal(conditionOf(await get(name), "Ready"), "True", name);
    t.ok(await hasImage("idle"), "images lie elsewhere: removing them would free nothing here");

    const root = join(containerd.dir, "root");
    const { blocks, bavail, bsize } = statfsSync(root);
    writeFileSync(join(root, "ballast"), Buffer.alloc(bavail * bsize - Math.floor(blocks * bsize * 0.13)));
    await until("the unused image to go", async () => !(await hasImage("idle")));
    t.ok((await hasImage("busy")) && (await hasImage("pause")), "those in use stay");
    rmSync(join(root, "ballast"));
    await remove("modest", "important", "limited", "hog", "refused");
  });
});

t.test("nothing is left behind", { skip: withoutContainerd() }, async (t) => {
  const ours = leaks(before, machineState()).filter((leak) => marks.some((mark) => leak.includes(mark)));
  t.same(ours, []);
});

function manifestOf(name: string): string {
  const containers = [{ name: "main", image, command: ["sleep", "1000000"] }];
  const spec = { terminationGracePeriodSeconds: 1, containers };
  return JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name }, spec });
}
