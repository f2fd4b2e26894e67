// The agent with an API server, on the fake runtime: what travels between them.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openFake } from "../../cri/fake/open.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { boundPod, conditionOf, makeNamespaces, startNode } from "../harness/agent-node.ts";
import { admin, startApi, type TestApi } from "../harness/api-server.ts";
import { busyboxImageName } from "../harness/images.ts";
import { until } from "../harness/until.ts";

async function cluster(t: { teardown(then: () => Promise<void>): void }): Promise<TestApi> {
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
  return api;
}
const podPath = (name: string) => `/api/v1/namespaces/default/pods/${name}`;
const podOf = async (api: TestApi, name: string) => {
  const { status, body } = await api.ask("GET", podPath(name));
  return status === 200 ? (body as Pod) : undefined;
};
const images = [busyboxImageName];
const environmentIn = (request: unknown): Record<string, string> => {
  const { config } = request as { config: { envs: { key: string; value: string }[] } };
  return Object.fromEntries(config.envs.map(({ key, value }) => [key, value]));
};

t.test("the node registers, becomes ready and renews its lease", async (t) => {
  const api = await cluster(t);
  await startNode(t, openFake({ images }), { api });
  const node = await until("the node to be ready", async () => {
    const { body } = await api.ask("GET", "/api/v1/nodes/node");
    return conditionOf(body, "Ready") === "True" && body;
  });
  t.match(node.status.nodeInfo, { operatingSystem: "linux", containerRuntimeVersion: /^.+:\/\// });
  t.equal(node.metadata.labels["kubernetes.io/hostname"], "node");
  t.ok(node.status.allocatable.memory);
  await until("the lease", async () => {
    const { body } = await api.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node");
    return body?.spec?.holderIdentity === "node";
  });
});

t.test("a node tells of itself by events: its start, its conditions, being cordoned, and a reboot", async (t) => {
  const api = await cluster(t);
  const told = async () => {
    const { body } = await api.ask("GET", "/api/v1/namespaces/default/events");
    const events = body.items as { reason: string; count?: number; involvedObject: { kind: string } }[];
    const counts = new Map<string, number>();
    for (const { reason, count = 1, involvedObject } of events)
      if (involvedObject.kind === "Node") counts.set(reason, (counts.get(reason) ?? 0) + count);
    return counts;
  };
  const patch = (path: string, body: object) =>
    api.ask("PATCH", path, body, { "content-type": "application/merge-patch+json" });
  const pressures = ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"];
  const { agent, dataDir } = await startNode(t, openFake({ images }), { api });
  await until("its first events", async () => {
    const events = await told();
    return ["Starting", "NodeReady", ...pressures].every((reason) => events.has(reason));
  });
  await patch("/api/v1/nodes/node", { spec: { unschedulable: true } });
  await until("the event", async () => (await told()).has("NodeNotSchedulable"));
  await patch("/api/v1/nodes/node", { spec: { unschedulable: null } });
  await until("the event", async () => (await told()).has("NodeSchedulable"));
  await agent.close();

  t.equal((await patch("/api/v1/nodes/node/status", { status: { nodeInfo: { bootID: "before" } } })).status, 200);
  await startNode(t, openFake({ images }), { api, dataDir });
  await until("the event", async () => (await told()).has("Rebooted"));
  const events = await told();
  t.equal(events.get("Starting"), 2);
  for (const reason of pressures) t.equal(events.get(reason), 1, `${reason} is no news after a restart`);
});

t.test("a node that is marked as unknown says at once that it is ready", async (t) => {
  const api = await cluster(t);
  await startNode(t, openFake({ images }), { api });
  const ready = async () => conditionOf((await api.ask("GET", "/api/v1/nodes/node")).body, "Ready");
  await until("the node to be ready", async () => (await ready()) === "True");
  const unknown = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting" };
  const { status } = await api.ask(
    "PATCH",
    "/api/v1/nodes/node/status",
    { status: { conditions: [unknown] } },
    { "content-type": "application/strategic-merge-patch+json" },
  );
  t.equal(status, 200);
  await until("the node to be ready again", async () => (await ready()) === "True");
});

t.test("a node whose runtime has not listed its pods for three minutes is not ready, and says why", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  let aheadMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
  await startNode(t, fake, { api, clock });
  const ready = async () => {
    const { body } = await api.ask("GET", "/api/v1/nodes/node");
    return (body?.status?.conditions as { type: string; status: string; message: string }[] | undefined)?.find(
      ({ type }) => type === "Ready",
    );
  };
  await until("the node to be ready", async () => (await ready())?.status === "True");
  const heal = fake.before("listPodSandbox", async () => {
    throw new Fault("unavailable", "no such shim");
  });
  aheadMs = 200_000;
  const { message } = await until("the node to be not ready", async () => {
    const now = await ready();
    return now?.status === "False" && now;
  });
  t.match(message, /PLEG is not healthy: pleg was last seen active \d+s ago/);
  heal();
  await until("the node to be ready again", async () => (await ready())?.status === "True");
});

t.test("a node that is deleted registers again, with a lease that it owns", async (t) => {
  const api = await cluster(t);
  await startNode(t, openFake({ images }), { api });
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node";
  const uidOf = async (path: string) => (await api.ask("GET", path)).body?.metadata?.uid as string | undefined;
  await until("the node and its lease", async () => (await uidOf("/api/v1/nodes/node")) && (await uidOf(lease)));
  const before = await uidOf("/api/v1/nodes/node");
  await api.ask("DELETE", "/api/v1/nodes/node");
  await until("another node", async () => {
    const now = await uidOf("/api/v1/nodes/node");
    return now !== undefined && now !== before;
  });
  await until(
    "it to be ready",
    async () => conditionOf((await api.ask("GET", "/api/v1/nodes/node")).body, "Ready") === "True",
  );
  const after = await uidOf("/api/v1/nodes/node");
  await until("the lease to be the new node's", async () => {
    const { body } = await api.ask("GET", lease);
    return body?.metadata?.ownerReferences?.[0]?.uid === after;
  });
});

t.test("a node registers with its labels and taints, and not at all where it is told not to", async (t) => {
  const api = await cluster(t);
  const taints = [{ key: "edge", value: "yes", effect: "NoSchedule" }] as const;
  const config = { nodeLabels: { room: "shed" }, nodeTaints: [...taints] };
  await startNode(t, openFake({ images }), { api, config: { ...config, nodeName: "told" } });
  await until("the node", async () => (await api.ask("GET", "/api/v1/nodes/told")).status === 200);
  const { body } = await api.ask("GET", "/api/v1/nodes/told");
  t.equal(body.metadata.labels.room, "shed");
  t.match(body.spec.taints, taints);

  await startNode(t, openFake({ images }), { api, config: { nodeName: "quiet", registerNode: false } });
  await api.ask("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "quiet" } });
  const isReady = async () => conditionOf((await api.ask("GET", "/api/v1/nodes/quiet")).body, "Ready") === "True";
  await until("a node that somebody else registered to be ready", isReady);
  const { body: quiet } = await api.ask("GET", "/api/v1/nodes/quiet");
  t.equal(
    quiet.metadata.labels?.["kubernetes.io/hostname"],
    undefined,
    "its metadata is left to whoever registered it",
  );
});

t.test("a bound pod becomes ready, and its object goes when it is deleted", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  await startNode(t, fake, { api });
  const { status } = await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("web"));
  t.equal(status, 201);
  const pod = await until("the pod to be ready", async () => {
    const found = await podOf(api, "web");
    return conditionOf(found, "Ready") === "True" ? found : undefined;
  });
  t.match(pod.status, { phase: "Running", hostIP: "127.0.0.1", qosClass: "BestEffort" });
  t.same(
    pod.status?.conditions?.map(({ type }) => type).sort(),
    ["ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready"].sort(),
  );
  await api.ask("DELETE", podPath("web"));
  await until("the pod to be gone", async () => (await podOf(api, "web")) === undefined);
  await until("the runtime to be empty", () => fake.world.sandboxes.size === 0 && fake.world.containers.size === 0);
  const { body: events } = await api.ask("GET", "/api/v1/namespaces/default/events");
  const reasons = events.items.map((event: { reason: string }) => event.reason);
  for (const reason of ["Pulled", "Created", "Started", "Killing"]) t.ok(reasons.includes(reason), reason);
});

t.test("config maps and secrets reach the environment and volumes; a missing one holds the container", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  await startNode(t, fake, { api });
  const container = {
    name: "main",
    image: busyboxImageName,
    command: ["pause"],
    envFrom: [{ configMapRef: { name: "settings" } }],
  };
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("env", { containers: [container] }));
  await until("the reason", async () => {
    const pod = await podOf(api, "env");
    return pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CreateContainerConfigError";
  });
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { COLOUR: "blue" } };
  await api.ask("POST", "/api/v1/namespaces/default/configmaps", map);
  await until("the pod to be ready", async () => conditionOf(await podOf(api, "env"), "Ready") === "True");
  const created = fake.calls.findLast(({ method }) => method === "createContainer");
  t.equal(environmentIn(created?.request)["COLOUR"], "blue");
});

t.test("a resize in place is proposed until the node has done it", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  await startNode(t, fake, { api });
  const resources = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  const main = { name: "main", image: images[0], command: ["pause"], resources: resources("100m") };
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("sized", { containers: [main] }));
  const pod = async () => (await api.ask("GET", "/api/v1/namespaces/default/pods/sized")).body as Pod;
  await until("the pod to be ready", async () => conditionOf(await pod(), "Ready") === "True");
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const free = fake.before("updateContainerResources", () => held);
  t.teardown(free);
  const patch = { spec: { containers: [{ name: "main", resources: resources("200m") }] } };
  const type = { "content-type": "application/strategic-merge-patch+json" };
  const answer = await api.ask("PATCH", "/api/v1/namespaces/default/pods/sized/resize", patch, type);
  t.equal(answer.body.status?.resize, "Proposed", answer.text.slice(0, 200));
  await until("it to be under way", async () => (await pod()).status?.resize === "InProgress");
  release();
  await until("it to be done", async () => (await pod()).status?.resize === undefined);
  t.equal((await pod()).status?.containerStatuses?.[0]?.resources?.limits?.cpu, "200m");
});

t.test("a static pod has a mirror that can be deleted without stopping it", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  const manifestDir = await mkdtemp(join(tmpdir(), "skiff-manifests-"));
  t.teardown(() => rm(manifestDir, { recursive: true, force: true }));
  const manifest = (name: string) => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec: { terminationGracePeriodSeconds: 1, containers: [{ name: main, image: "${busyboxImageName}", command: [pause] }] }
`;
  await writeFile(join(manifestDir, "a.yaml"), manifest("static"));
  await writeFile(
    join(manifestDir, "bad.yaml"),
    "apiVersion: v1\nkind: Pod\nmetadata: { name: bad }\nspec: { containers: [{ name: x }] }\n",
  );
  const node = await startNode(t, fake, { api, config: { manifestDir } });
  const mirror = await until("the mirror to be ready", async () => {
    const pod = await podOf(api, "static-node");
    return conditionOf(pod, "Ready") === "True" ? pod : undefined;
  });
  t.ok(mirror.metadata.annotations?.["kubernetes.io/config.mirror"]);
  await api.ask("DELETE", `${podPath("static-node")}?gracePeriodSeconds=0`);
  await until("another mirror", async () => {
    const pod = await podOf(api, "static-node");
    return pod && pod.metadata.uid !== mirror.metadata.uid && conditionOf(pod, "Ready") === "True";
  });
  t.equal(fake.calls.filter(({ method }) => method === "startContainer").length, 1, "the container was not touched");
  const { body: events } = await api.ask("GET", "/api/v1/namespaces/default/events");
  const bad = events.items.find((event: { reason: string }) => event.reason === "InvalidManifest");
  t.match(bad?.message, /bad\.yaml: spec\.containers\[0\]\.image/);

  await rm(join(manifestDir, "a.yaml"));
  await until("the mirror to be gone", async () => (await podOf(api, "static-node")) === undefined);
  await until("the runtime to be empty", () => fake.world.sandboxes.size === 0);
  await until("the agent to forget it", () => node.agent.view.pods().length === 0);
});

t.test("an agent without its API server runs what it remembers", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  const dataDir = await mkdtemp(join(tmpdir(), "skiff-agent-"));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const first = await startNode(t, fake, { api, dataDir });
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key" }, stringData: { KEY: "hidden" } };
  await api.ask("POST", "/api/v1/namespaces/default/secrets", secret);
  const container = {
    name: "main",
    image: busyboxImageName,
    command: ["pause"],
    envFrom: [{ secretRef: { name: "key" } }],
  };
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("kept", { containers: [container] }));
  await until("the pod to be ready", async () => conditionOf(await podOf(api, "kept"), "Ready") === "True");
  await until("the checkpoint", async () => (await readFile(join(dataDir, "agent", "checkpoint"))).length > 500);
  await first.agent.close();

  // A reboot: nothing runs any more, and the API server is out of reach.
  const rebooted = openFake({ images });
  const silent = {
    server: { fetchAs: () => async () => Promise.reject(new Error("no network")) },
  } as unknown as TestApi;
  await startNode(t, rebooted, { api: silent, dataDir });
  await until("the remembered pod", () => rebooted.calls.some(({ method }) => method === "startContainer"));
  const created = rebooted.calls.find(({ method }) => method === "createContainer");
  t.equal(environmentIn(created?.request)["KEY"], "hidden");
  t.notMatch(await readFile(join(dataDir, "agent", "checkpoint"), "latin1"), /hidden/);
});

t.test("with the API server gone pods are kept running, and it catches up when it is back", async (t) => {
  const api = await cluster(t);
  const fake = openFake({ images });
  let isDown = false;
  const fetch = api.server.fetchAs(admin);
  const flaky = {
    ...api,
    server: {
      ...api.server,
      fetchAs: () => async (request: Request) => {
        if (isDown) throw new Error("connection refused");
        return fetch(request);
      },
    },
  };
  await startNode(t, fake, { api: flaky });
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("survivor"));
  await until("the pod to be ready", async () => conditionOf(await podOf(api, "survivor"), "Ready") === "True");
  isDown = true;
  const runningOne = () => [...fake.world.containers.values()].find(({ status }) => status.state === 1)?.status;
  const first = runningOne();
  await fake.exit(first?.id ?? "", { exitCode: 3 });
  await until("the restart without an API server", () => runningOne() && runningOne()?.id !== first?.id);
  t.equal((await podOf(api, "survivor"))?.status?.containerStatuses?.[0]?.restartCount, 0, "nobody was told");
  isDown = false;
  const status = await until("the news", async () => {
    const [found] = (await podOf(api, "survivor"))?.status?.containerStatuses ?? [];
    return found?.restartCount === 1 && found.ready ? found : undefined;
  });
  t.equal(status.lastState?.terminated?.exitCode, 3);
  await api.ask("DELETE", podPath("survivor"));
  await until("the pod to be gone", async () => (await podOf(api, "survivor")) === undefined);
});
