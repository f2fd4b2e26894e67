// A node dies with its pods on it: it is missed, its pods are made anew on the other one, and when it comes back it ends what is
// no longer wanted.

import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../skiff");
const patience = "--timeout=120s";

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

t.test("pods of a node that is lost run again elsewhere", { timeout: 400_000 }, async (t) => {
  const server = await startSkiff({ command: "server", flags: ["--node-monitor-grace-period=16s"] });
  const agents: RunningSkiff[] = [];
  t.teardown(async () => {
    if (!t.passing())
      for (const one of [server, ...agents]) process.stderr.write(one.log().split("\n").slice(-40).join("\n"));
    for (const agent of agents) await agent.stop();
    await server.stop();
    for (const one of [...agents, server]) one.remove();
  });
  const token = (await run(launcher, ["token", "create", "--data-dir", server.dataDir])).stdout.trim();
  const tag = server.nodeName;
  const archive = await imageArchive(busyboxImage());
  // Two nodes on one box cannot share networks. The pods use the box's own, so the second one's need not be the cluster's.
  const own = `10.${randomInt(44, 64)}`;
  const networks: Record<string, { cidr: string; dns: string }> = {
    a: { cidr: server.clusterCidr, dns: server.clusterDns },
    b: { cidr: `${own}.0.0/17`, dns: `${own}.128.10` },
  };
  const start = (dataDir: string, name: string) =>
    startSkiff({
      command: "agent",
      dataDir,
      flags: [
        "--runtime=native",
        `--server=https://127.0.0.1:${server.ports.https}`,
        `--token=${token}`,
        `--cluster-cidr=${networks[name]?.cidr}`,
        `--cluster-dns=${networks[name]?.dns}`,
        `--node-name=${tag}-${name}`,
      ],
    });
  for (const name of ["a", "b"]) {
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
