// A node dies with its pods on it: it is missed, its pods are made anew on the other one, and when it comes back it ends what is
// no longer wanted.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../skiff");
const patience = "--timeout=120s";

type Test = Parameters<typeof testNetns>[0];

interface Pods {
  readonly items: {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly spec: { readonly nodeName: string };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** What a pod does about a node that is lost: leave at once. */
const tolerations = ["not-ready", "unreachable"].map((name) => ({
  key: `node.kubernetes.io/${name}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 0,
}));
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: {
        hostNetwork: true,
        terminationGracePeriodSeconds: 1,
        tolerations,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "ScheduleAnyway",
            labelSelector: { matchLabels: { app: "web" } },
          },
        ],
        containers: [{ name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] }],
      },
    },
  },
};

/** Two nodes of a cluster have the same networks, so they cannot be on one host: the second has a namespace, and a wire to the first. */
async function secondHost(t: Test): Promise<string> {
  const kernel = openKernel();
  const netns = testNetns(t);
  const space = kernel.enter(netns);
  await kernel.host.createVeth({ name: "wire", peer: { name: "eth0", space } });
  const near = await kernel.host.getLink("wire");
  const far = await space.getLink("eth0");
  await kernel.host.addAddress(near.index, parsePrefix(`${hosts.a}/24`));
  await space.addAddress(far.index, parsePrefix(`${hosts.b}/24`));
  await kernel.host.setLink(near.index, { up: true });
  for (const { index } of [await space.getLink("lo"), far]) await space.setLink(index, { up: true });
  space.close();
  kernel.close();
  return netns;
}

const hosts = { a: "192.0.2.1", b: "192.0.2.2" };

const skip = noNetworkReason();
t.test("pods of a node that is lost run again elsewhere", { skip, timeout: 400_000 }, async (t) => {
  await playHost();
  const netns = await secondHost(t);
  const server = await startSkiff({ command: "server", flags: ["--node-monitor-grace-period=16s"] });
  const agents: RunningSkiff[] = [];
  t.teardown(async () => {
    if (!t.passing())
      for (const one of [server, ...agents]) process.stderr.write(one.log().split("\n").slice(-40).join("\n"));
    for (const agent of agents) await agent.stop();
    await server.stop();
    for (const one of [...agents, server]) one.remove();
  });
  const newToken = async () => (await run(launcher, ["token", "create", "--data-dir", server.dataDir])).stdout.trim();
  const tag = server.nodeName;
  const archive = await imageArchive(busyboxImage());
  const start = async (dataDir: string, name: "a" | "b") =>
    startSkiff({
      command: "agent",
      dataDir,
      ...(name === "b" ? { netns } : {}),
      flags: [
        "--runtime=native",
        `--server=https://${hosts.a}:${server.ports.https}`,
        `--token=${await newToken()}`,
        `--node-ip=${hosts[name]}`,
        `--node-name=${tag}-${name}`,
      ],
    });
  for (const name of ["a", "b"] as const) {
    const dataDir = mkdtempSync(join(tmpdir(), `skiff-loss-${name}-`));
    mkdirSync(join(dataDir, "images"));
    writeFileSync(join(dataDir, "images", "busybox.tar"), archive);
    agents.push(await start(dataDir, name));
    await server.kubectl("wait", "--for=condition=Ready", `node/${tag}-${name}`, patience);
  }
  const pods = async () =>
    (JSON.parse(await server.kubectl("get", "pods", "-l", "app=web", "-o", "json")) as Pods).items;
  const isReady = ({ status, metadata }: Pods["items"][number]) =>
    !metadata.deletionTimestamp && status.conditions?.some((each) => each.type === "Ready" && each.status === "True");

  await server.apply(deployment);
  await server.kubectl("rollout", "status", "deployment/web", patience);
  const before = await pods();
  t.same(before.map(({ spec }) => spec.nodeName).sort(), [`${tag}-a`, `${tag}-b`], "one on each");

  const [survivor, lost] = agents as [RunningSkiff, RunningSkiff];
  await lost.kill();
  await server.kubectl("wait", "--for=condition=Ready=Unknown", `node/${tag}-b`, patience);
  const keys = () =>
    server.kubectl("get", "node", `${tag}-b`, "-o", "jsonpath={.spec.taints[*].key} {.spec.taints[*].effect}");
  await until("the taints", async () => /unreachable.*NoExecute/.test(await keys()), 120_000);
  const ready = await until(
    "two ready pods",
    async () => {
      const found = (await pods()).filter(isReady);
      return found.length === 2 ? found : undefined;
    },
    120_000,
  );
  t.same(
    ready.map(({ spec }) => spec.nodeName),
    [`${tag}-a`, `${tag}-a`],
    "both on the node that is left",
  );
  const gone = before.find(({ spec }) => spec.nodeName === `${tag}-b`)?.metadata.name ?? "";
  t.ok(
    (await pods()).find(({ metadata }) => metadata.name === gone)?.metadata.deletionTimestamp,
    "nobody says it ended",
  );

  agents[1] = await start(lost.dataDir, "b");
  await server.kubectl("wait", "--for=condition=Ready", `node/${tag}-b`, patience);
  await server.kubectl("wait", "--for=delete", `pod/${gone}`, patience);
  await until("no taints", async () => !(await keys()).includes("unreachable"), 120_000);
  t.equal((await pods()).length, 2);
  t.equal(survivor.process.exitCode, null);
});
