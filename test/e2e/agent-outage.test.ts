// The world around the agent breaking, on a real containerd: the runtime killed under it, the API server gone while containers crash, the disk
// full under its volumes. After each, everything is as the specs say, and nothing is left behind.

import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { withoutContainerd } from "../harness/containerd.ts";
import { busyboxImageName as image } from "../harness/images.ts";
import { RoughNode } from "../harness/rough-node.ts";

const outageMs = 120_000;
t.setTimeout(900_000);
const options = { skip: withoutContainerd(), timeout: 600_000 };

const patient = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"];
const steadyPod = {
  containers: [{ name: "main", image, command: patient, volumeMounts: [{ name: "settings", mountPath: "/settings" }] }],
  volumes: [{ name: "settings", configMap: { name: "settings" } }],
};

async function openNode(t: Parameters<typeof RoughNode.open>[0]): Promise<RoughNode> {
  const node = await RoughNode.open(t);
  await setMap(node, "settings", "blue");
  return node;
}

async function setMap(node: RoughNode, name: string, colour: string): Promise<void> {
  const path = "/api/v1/namespaces/default/configmaps";
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { COLOUR: colour } };
  const { status } = await node.api.ask("POST", path, map);
  if (status === 409) await node.api.ask("PUT", `${path}/${name}`, map);
}

const restartsOf = async (node: RoughNode, name: string) =>
  (await node.get(name))?.status?.containerStatuses?.[0]?.restartCount;

t.test("containerd killed and started again restarts no container", options, async (t) => {
  const node = await openNode(t);
  node.startAgent();
  await node.create("steady", steadyPod);
  await node.ready("steady");
  const before = (await node.get("steady"))?.status?.containerStatuses?.[0]?.containerID;
  await node.containerd.kill();
  await node.nodeReady("False");
  await node.create("later", steadyPod);
  await node.containerd.start();
  await node.nodeReady("True");
  await node.ready("later");
  const after = (await node.get("steady"))?.status?.containerStatuses?.[0];
  t.equal(after?.containerID, before);
  t.equal(after?.restartCount, 0);
  for (const name of ["steady", "later"]) {
    await node.remove(name);
    await node.gone(name);
  }

  await node.create("ended", steadyPod);
  await node.ready("ended");
  await node.killAgent();
  const [main] = await node.containers("ended");
  await node.runtime.runtime.stopContainer({ containerId: main?.id ?? "", timeout: 5n }, node.call());
  node.startAgent();
  await node.becomes("the restart", async () => (await restartsOf(node, "ended")) === 1);
  await node.ready("ended");
  const status = (await node.get("ended"))?.status?.containerStatuses?.[0];
  t.equal(
    status?.lastState?.terminated?.exitCode,
    0,
    "a container that ends while the agent is down keeps its history",
  );
  await node.remove("ended");
  await node.gone("ended");
  await node.nothingLeft();
});

t.test(`the API server gone for ${outageMs / 1000} s while containers crash`, options, async (t) => {
  const node = await openNode(t);
  node.startAgent();
  const crasher = { containers: [{ name: "main", image, command: ["sh", "-c", "sleep 1; exit 3"] }] };
  for (const name of ["steady", "struck", "doomed"]) await node.create(name, steadyPod);
  await node.create("crasher", crasher);
  for (const name of ["steady", "struck", "doomed"]) await node.ready(name);
  await node.becomes("the first crash", async () => ((await restartsOf(node, "crasher")) ?? 0) >= 1);
  const steadyId = (await node.containers("steady"))[0]?.id;
  const memoryBefore = node.agentMemoryBytes();

  node.line.cut();
  const cutAt = performance.now();
  const crashesBefore = (await node.containers("crasher"))[0]?.metadata?.attempt ?? 0;
  const [struck] = await node.containers("struck");
  await node.runtime.runtime.stopContainer({ containerId: struck?.id ?? "", timeout: 0n }, node.call());
  await node.remove("doomed");
  await node.create("wanted", steadyPod);
  await node.becomes("the struck container to be back", async () => {
    const [newest] = await node.containers("struck");
    return newest?.id !== struck?.id && newest?.state === 1;
  });
  await node.becomes("another crash", async () => {
    const attempt = (await node.containers("crasher"))[0]?.metadata?.attempt ?? 0;
    return attempt > crashesBefore && performance.now() - cutAt > outageMs;
  });
  t.equal((await node.containers("doomed"))[0]?.state, 1, "a pod that was deleted meanwhile runs on");
  t.same(await node.containers("wanted"), [], "a pod that was made meanwhile is not known");
  t.equal(await restartsOf(node, "struck"), 0, "the API has not heard of it");
  const grownMb = (node.agentMemoryBytes() - memoryBefore) / 1e6;
  t.ok(grownMb < 64, `memory is bounded (${grownMb.toFixed(0)} MB more)`);

  const attempt = (await node.containers("crasher"))[0]?.metadata?.attempt ?? 0;
  node.line.mend();
  await node.ready("wanted");
  await node.gone("doomed");
  await node.becomes("the restart to be told", async () => (await restartsOf(node, "struck")) === 1);
  await node.ready("struck");
  await node.becomes("the crashes to be told", async () => ((await restartsOf(node, "crasher")) ?? 0) >= attempt);
  await node.nodeReady("True");
  t.equal((await node.containers("steady"))[0]?.id, steadyId, "what was well was left alone");
  t.equal(await restartsOf(node, "steady"), 0);
  for (const name of ["steady", "struck", "wanted", "crasher"]) await node.remove(name);
  for (const name of ["steady", "struck", "wanted", "crasher"]) await node.gone(name);
  await node.nothingLeft();
});

t.test("a full disk under the volumes", options, async (t) => {
  const node = await openNode(t);
  const podsDir = join(node.dataDir, "pods");
  mkdirSync(podsDir, { recursive: true, mode: 0o750 });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", podsDir]);
  t.teardown(() => {
    execFileSync("umount", ["-l", podsDir]);
  });
  const ballast = join(podsDir, "..ballast");
  const fill = () => {
    const file = openSync(ballast, "a");
    for (const size of [4096, 64, 1]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    }
    closeSync(file);
  };
  node.startAgent();
  await node.create("live", steadyPod);
  await node.ready("live");
  const [live] = await node.containers("live");
  const colourOf = async () => {
    const cmd = ["cat", "/settings/COLOUR"];
    const request = { containerId: live?.id ?? "", cmd, timeout: 10n };
    return Buffer.from((await node.runtime.runtime.execSync(request, node.call())).stdout).toString("utf8");
  };

  fill();
  await setMap(node, "settings", "green".repeat(20_000));
  await setMap(node, "big", "x".repeat(100_000));
  const volumes = [{ name: "settings", configMap: { name: "big" } }];
  await node.create("starved", { ...steadyPod, volumes });
  await node.becomes("an event that says what is wrong", async () => {
    const { body } = await node.api.ask("GET", "/api/v1/namespaces/default/events");
    return (body.items as { reason: string; message: string; involvedObject: { name: string } }[]).some(
      ({ reason, message, involvedObject }) =>
        reason === "FailedMount" && involvedObject.name === "starved" && /no space left on device/.test(message),
    );
  });
  t.equal(await colourOf(), "blue", "content that was there is whole");
  t.equal(await restartsOf(node, "live"), 0);

  rmSync(ballast);
  await node.ready("starved");
  await node.becomes("the new content", async () => (await colourOf()) === "green".repeat(20_000));
  const used = execFileSync("du", ["-sk", podsDir], { encoding: "utf8" }).split("\t")[0];
  t.ok(Number(used) < 400, `what failed attempts wrote is gone (${used} KB used)`);

  for (const name of ["live", "starved"]) await node.remove(name);
  for (const name of ["live", "starved"]) await node.gone(name);
  await node.nothingLeft();
  t.notMatch(readFileSync("/proc/self/mounts", "utf8"), `${podsDir}/`, "no mounts below");
});
