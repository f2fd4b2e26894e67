// Kubernetes' own kubelet on `skiff cri`: on native as a node of a Skiff server that it joins by bootstrap token, on Docker as one of
// Kubernetes' own control plane. Needs these programs on PATH.

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { ListContainersRequest, ListPodSandboxRequest } from "../../cri/api/gen/runtime.js";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { bearerOf, parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { type CriProcess, startCriProcess } from "../harness/cri-process.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImage, busyboxImageName as image, imageArchive } from "../harness/images.ts";
import { withoutNative } from "../harness/native.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { noStockKubelet, startStockKubelet, type StockKubeletOptions } from "../harness/stock-kubelet.ts";
import { noStockKubernetes, startStockKubernetes } from "../harness/stock-kubernetes.ts";
import { until } from "../harness/until.ts";

t.setTimeout(1_200_000);
const launcher = join(import.meta.dirname, "../../skiff");
const patienceMs = 120_000;
const nodeName = "stock";

interface Cluster {
  kubectl(...words: string[]): Promise<string>;
  apply(...objects: object[]): Promise<unknown>;
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly memory?: { workingSetBytes?: number };
  }[];
}

const noNative = noStockKubelet || withoutNative();
t.test("a stock kubelet on skiff cri native, in a Skiff cluster", { skip: noNative, timeout: 600_000 }, async (t) => {
  const server = await startSkiff({ command: "server" });
  t.teardown(async () => {
    await server.stop();
    server.remove();
  });
  const cri = await startCriProcess(t, { runtime: "native" });
  const node = await startNode(t, server, cri, await bootstrapOf(server, cri.dir));
  const script = "echo mine > /data/mine; ls -n /data; cat /proc/self/uid_map";
  await node.runsPods(t, { "own-users": { script, spec: { hostUsers: false } } }, async () => {
    t.match(await server.kubectl("logs", "own-users"), / 0 +0 .* mine\n +0 +[1-9]\d+ +65536/, "its volume is its own");
    const isMeasured = async () => (await node.ask("top", "pod", `static-${nodeName}`)).includes("Mi");
    await until("what the static pod uses", isMeasured, patienceMs);
  });
});

const noDocker = noStockKubelet || noStockKubernetes || withoutDocker();
t.test("a stock kubelet on skiff cri docker, in a stock cluster", { skip: noDocker, timeout: 600_000 }, async (t) => {
  const stock = await startStockKubernetes(t);
  const docker = await startDocker(t, { images: [] });
  const cri = await startCriProcess(t, { runtime: "docker", flags: [`--docker-socket=${docker.socket}`] });
  const own = stock.kubeconfigFor(`system:node:${nodeName}`, ["system:nodes"]);
  const node = await startNode(t, stock, cri, { ca: stock.ca, kubeconfig: { own } });
  await node.runsPods(t, {}, async () => {
    const summaryPath = `/api/v1/nodes/${nodeName}/proxy/stats/summary`;
    await until("what the pod uses", async () => {
      const { pods } = JSON.parse(await node.ask("get", "--raw", summaryPath)) as Summary;
      return (pods.find(({ podRef }) => podRef.name === "plain")?.memory?.workingSetBytes ?? 0) > 0;
    });
  });
});

/** What a kubelet without an identity of its own joins a Skiff server with. */
async function bootstrapOf(server: RunningSkiff, dir: string): Promise<Pick<StockKubeletOptions, "ca" | "kubeconfig">> {
  const { stdout } = await promisify(execFile)(launcher, ["token", "create", "--data-dir", server.dataDir]);
  const ca = join(dir, "ca.crt");
  const authority = /certificate-authority-data: *(\S+)/.exec(readFileSync(server.kubeconfig, "utf8"))?.[1] ?? "";
  writeFileSync(ca, Buffer.from(authority, "base64"));
  const bootstrap = join(dir, "bootstrap.kubeconfig");
  const cluster = { server: `https://127.0.0.1:${server.ports.https}`, "certificate-authority": ca };
  writeFileSync(
    bootstrap,
    writeYaml({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: { token: bearerOf(parseJoinToken(stdout.trim())) } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  return { ca, kubeconfig: { bootstrap } };
}

function podOf(name: string, script: string, { container = {}, spec = {} }: { container?: object; spec?: object }) {
  const command = ["sh", "-c", `${script}; sleep 1000000`];
  const volumeMounts = [{ name: "data", mountPath: "/data" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: "main", image, command, volumeMounts, ...container }],
      volumes: [{ name: "data", emptyDir: {} }],
      ...spec,
    },
  };
}

async function startNode(
  t: Test,
  cluster: Cluster,
  { dir, socket }: CriProcess,
  identity: Pick<StockKubeletOptions, "ca" | "kubeconfig">,
) {
  writeFileSync(join(dir, "data", "images", "box.tar"), await imageArchive(busyboxImage()));
  const manifests = join(dir, "manifests");
  mkdirSync(manifests);
  const kubelet = await startStockKubelet(t, {
    ...identity,
    nodeName,
    dir,
    socket,
    settings: {
      serverTLSBootstrap: true,
      staticPodPath: manifests,
      featureGates: { UserNamespacesSupport: true },
    },
  });
  const ask = (...words: string[]) => cluster.kubectl(...words).catch(() => "");
  const isRunning = (name: string) => async () => /\bRunning\b/.test(await ask("get", "pod", name));

  /** Runs pods of each kind, looks at them, and sees that nothing of them is left. */
  async function runsPods(
    t: Test,
    more: Readonly<Record<string, { script: string; spec: object }>>,
    lookAt: () => Promise<void>,
  ): Promise<void> {
    const livenessProbe = { exec: { command: ["test", "-e", "/data/again"] }, periodSeconds: 1, failureThreshold: 1 };
    const sick = "test -e /data/before && touch /data/again; touch /data/before; echo begun";
    const others = Object.entries(more).map(([name, { script, spec }]) => podOf(name, script, { spec }));
    const names = ["plain", "sick", ...Object.keys(more)];
    try {
      await until("the node to be ready", async () => / Ready /.test(await ask("get", "node", nodeName)), patienceMs);
      await until("the kubelet's certificate", hasCertificate, patienceMs);
      writeFileSync(join(manifests, "static.yaml"), writeYaml(podOf("static", "echo from a file", {})));
      await until("pods to be admitted", () => ask("get", "serviceaccount", "default"), patienceMs);
      await cluster.apply(
        podOf("plain", "echo hello", {}),
        podOf("sick", sick, { container: { livenessProbe } }),
        ...others,
      );
      for (const name of [...names, `static-${nodeName}`]) await until(`${name} to run`, isRunning(name), patienceMs);
    } catch (error) {
      t.comment(kubelet.said().slice(-5000), await ask("get", "pods,events", "-A"));
      throw error;
    }
    const logs = (name: string, words: string) => async () => (await ask("logs", name)).includes(words);
    await until("logs of a pod", logs("plain", "hello"), patienceMs);
    await until("logs of a static pod", logs(`static-${nodeName}`, "from a file"), patienceMs);
    t.equal(await cluster.kubectl("exec", "plain", "--", "hostname"), "plain\n");
    await t.rejects(cluster.kubectl("exec", "plain", "--", "sh", "-c", "exit 3"), { code: 3 });
    const restarts = () => ask("get", "pod", "sick", "-o", "jsonpath={.status.containerStatuses[0].restartCount}");
    await until("the probe to restart its container", async () => (await restarts()) === "1", patienceMs);
    t.equal(await cluster.kubectl("logs", "sick", "--previous"), "begun\n");
    await lookAt();

    writeFileSync(join(manifests, "static.yaml"), "");
    await cluster.kubectl("delete", "pod", ...names, "--wait");
    await until("all of them to be gone", async () => (await ask("get", "pods", "-o", "name")) === "", patienceMs);
    const { runtime, close } = openRemote({ socket });
    const isEmpty = async () => {
      const { items } = await runtime.listPodSandbox(ListPodSandboxRequest.create(), uninterrupted);
      const { containers } = await runtime.listContainers(ListContainersRequest.create(), uninterrupted);
      return items.length + containers.length === 0;
    };
    await until("nothing to be left in the runtime", isEmpty, 2 * patienceMs);
    await close();
  }

  /** Somebody approves it: always where Kubernetes' own control plane signs, and here because server and node share an address. */
  async function hasCertificate(): Promise<boolean> {
    const requests = await ask("get", "csr", "-o", "jsonpath={range .items[*]}{.metadata.name} {.status}{'\\n'}{end}");
    const pending = requests.split("\n").filter((line) => /^\S+ (\{\})?$/.test(line));
    for (const line of pending) await ask("certificate", "approve", line.split(" ")[0] ?? "");
    return requests !== "" && pending.length === 0;
  }

  return { ask, runsPods };
}
