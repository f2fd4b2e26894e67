// A snapshot from before a node joined is restored while the node runs: the node registers again with the certificate that it has, says why,
// and all that belongs to it comes back.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openAgent } from "../../agent/assemble/agent.ts";
import { agentConfig } from "../../agent/config/agent-config.ts";
import { joinCluster } from "../../agent/join/join.ts";
import { openControl } from "../../control/assemble/control-plane.ts";
import { restoreCommand } from "../../control/assemble/snapshot-command.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import { createJoinToken } from "../../control/auth/join/tokens.ts";
import { snapshotsPath } from "../../control/snapshots/path.ts";
import { ListContainersRequest } from "../../cri/api/gen/runtime.js";
import { openFake } from "../../cri/fake/open.ts";
import { nodePlugins } from "../../plugins/builtins.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { hookKind } from "../../plugins/kit/contracts/hook.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import { nodeDriversKind } from "../../plugins/kit/contracts/node-drivers.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { boundPod, conditionOf } from "../harness/agent-node.ts";
import { startControl } from "../harness/control.ts";
import { busyboxImageName } from "../harness/images.ts";
import { until } from "../harness/until.ts";

/** A storage driver, as a CSI driver would have told of itself. */
const driver: AnyPlugin = {
  kind: hookKind,
  name: "driver",
  needs: [nodeDriversKind],
  open({ all }) {
    all(nodeDriversKind)[0]?.set({
      name: "disks.example.com",
      nodeId: "disk-7",
      topology: { "example.com/rack": "4" },
    });
    return { name: "driver" };
  },
};

const lease = { namespace: "kube-node-lease", name: "later" };
const pod = { namespace: "default", name: "web" };

t.test("a node that joined after the snapshot registers again when it is restored", { timeout: 120_000 }, async (t) => {
  const first = await startControl({ keepData: true });
  const { url, options, dataDir } = first;
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  let system = new ApiClient({ fetch: first.control.fetchAs(systemUser), clock: systemClock });
  const found = async <T extends KubeObject>(ref: ResourceRef, at: { namespace?: string; name: string }) => {
    try {
      return await system.get<T>(ref, at, call);
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  };
  const issuing = { client: system, caHash: first.control.pki.caHash, clock: systemClock };
  const token = await createJoinToken({ ttlSeconds: 600 }, issuing, call);
  const saved = (await (await system.request(snapshotsPath, { method: "POST" }, call)).json()) as { path: string };

  const nodeDir = mkdtempSync(join(tmpdir(), "skiff-restored-"));
  const said: string[] = [];
  const keep = (_facts: object, message = "") => void said.push(message);
  const log: Log = { ...noLog, info: keep, warn: keep, child: () => log };
  const joining = { servers: [url], token, nodeName: "later", dataDir: nodeDir, clock: systemClock, log };
  const member = await joinCluster(joining, call);
  const runtime = openFake({ images: [busyboxImageName] });
  const agent = await openAgent({
    config: agentConfig({ nodeName: "later", nodeIps: ["127.0.0.1"], dataDir: nodeDir }),
    runtime,
    api: { fetch: member.fetch },
    plugins: [...nodePlugins, driver],
    log,
  });
  let closeServer = async () => {};
  // The agent first: it would wait for a server that is gone.
  t.teardown(async () => {
    await agent.close();
    member.close();
    await closeServer();
    rmSync(nodeDir, { recursive: true, force: true });
  });
  const isReady = async () => conditionOf((await found<Node>(resources.nodes, { name: "later" })) as never, "Ready");
  const isComplete = async () =>
    (await isReady()) === "True" &&
    (await found(resources.leases, lease)) !== undefined &&
    (await found(resources.csinodes, { name: "later" })) !== undefined;
  const startPod = async () => {
    const body = boundPod("web", { nodeName: "later" });
    await system.create(resources.pods, body as Pod, call, { namespace: "default" });
    await until("the pod", async () => conditionOf(await found<Pod>(resources.pods, pod), "Ready") === "True");
  };
  const containers = async () =>
    (await runtime.runtime.listContainers(ListContainersRequest.create({}), call)).containers.length;
  await until("the node, its lease and its drivers", isComplete, 30_000);
  await startPod();
  const before = await found<Node>(resources.nodes, { name: "later" });

  await first.close();
  await restoreCommand(saved.path, dataDir, systemClock, () => {});
  said.length = 0;
  const control = await openControl(options, call);
  const { cert, key } = control.pki.serving();
  const server = await serve({
    handler: control.handler,
    upgrade: (upgrade) => control.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: Number(new URL(url).port) },
    tls: { cert, key, clientCa: control.pki.ca.cert },
  });
  const stop = new AbortController();
  const running = control.run({ signal: stop.signal }).catch(() => {});
  closeServer = async () => {
    stop.abort();
    await running;
    await control.close();
    await server.close();
  };
  system = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });

  await until("the node, its lease and its drivers again", isComplete, 60_000);
  const after = await found<Node>(resources.nodes, { name: "later" });
  t.not(after?.metadata.uid, before?.metadata.uid, "it is another object");
  t.ok(said.includes("node was deleted from the API, registering it again"), said.join("\n"));
  const drivers = await found<KubeObject>(resources.csinodes, { name: "later" });
  t.equal(drivers?.metadata.ownerReferences?.[0]?.uid, after?.metadata.uid);
  await until("the topology of its drivers", async () => {
    const node = await found<Node>(resources.nodes, { name: "later" });
    return node?.metadata.labels?.["example.com/rack"] === "4";
  });
  await until("the pod that the store does not know to end", async () => (await containers()) === 0, 60_000);
  await startPod();
  await system.delete(resources.pods, pod, call);
  await until("the pod to end", async () => (await containers()) === 0, 60_000);
});
