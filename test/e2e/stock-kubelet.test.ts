// Kubernetes' own kubelet on `skiff cri native`, as a node of a Skiff server that it joins by bootstrap token. Needs kubelet on PATH.

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { bearerOf, parseJoinToken } from "../../plugins/kit/join-token.ts";
import { writeYaml } from "../../plugins/kit/yaml.ts";
import { startCriProcess } from "../harness/cri-process.ts";
import { busyboxImage, busyboxImageName as image, imageArchive } from "../harness/images.ts";
import { withoutNative } from "../harness/native.ts";
import { startSkiff } from "../harness/skiff.ts";
import { noStockKubelet, startStockKubelet } from "../harness/stock-kubelet.ts";
import { until } from "../harness/until.ts";

t.setTimeout(600_000);
const launcher = join(import.meta.dirname, "../../skiff");
const skip = noStockKubelet || withoutNative();

t.test("a stock kubelet on skiff cri native", { skip, timeout: 600_000 }, async (t) => {
  const server = await startSkiff({ command: "server" });
  t.teardown(async () => {
    await server.stop();
    server.remove();
  });
  const { dir, socket } = await startCriProcess(t, { runtime: "native" });
  writeFileSync(join(dir, "data", "images", "box.tar"), await imageArchive(busyboxImage()));
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
  const manifests = join(dir, "manifests");
  mkdirSync(manifests);
  const kubelet = await startStockKubelet(t, {
    nodeName: "stock",
    dir,
    socket,
    ca,
    kubeconfig: { bootstrap },
    settings: {
      serverTLSBootstrap: true,
      staticPodPath: manifests,
      featureGates: { UserNamespacesSupport: true },
    },
  });
  const pod = (name: string, script: string, more = {}) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", `${script}; sleep 1000000`],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", emptyDir: {} }],
      ...more,
    },
  });
  const kubectl = (...words: string[]) => server.kubectl(...words).catch(() => "");
  const isRunning = (name: string) => async () => /\bRunning\b/.test(await kubectl("get", "pod", name));
  try {
    await until("the node to be ready", async () => / Ready /.test(await kubectl("get", "node", "stock")), 120_000);
    writeFileSync(join(manifests, "static.yaml"), writeYaml(pod("static", "echo from a file")));
    await server.apply(
      pod("plain", "echo hello"),
      pod("own-users", "echo mine > /data/mine; ls -n /data; cat /proc/self/uid_map", { hostUsers: false }),
    );
    for (const name of ["plain", "own-users", "static-stock"]) await until(`${name} to run`, isRunning(name), 120_000);
  } catch (error) {
    t.comment(kubelet.said().slice(-5000), await kubectl("get", "pods,events", "-A"));
    throw error;
  }
  const logs = (name: string, words: string) => async () => (await kubectl("logs", name)).includes(words);
  await until("logs of a pod", logs("plain", "hello"), 60_000);
  await until("logs of a static pod", logs("static-stock", "from a file"), 60_000);
  t.match(await server.kubectl("logs", "own-users"), / 0 +0 .* mine\n +0 +[1-9]\d+ +65536/, "its volume is its own");
  t.equal(await server.kubectl("exec", "plain", "--", "hostname"), "plain\n");
  await t.rejects(server.kubectl("exec", "plain", "--", "sh", "-c", "exit 3"), { code: 3 });
  const isMeasured = async () => (await kubectl("top", "pod", "static-stock")).includes("Mi");
  await until("what the static pod uses", isMeasured, 120_000);

  writeFileSync(join(manifests, "static.yaml"), "");
  await server.kubectl("delete", "pod", "plain", "own-users", "--wait");
  await until("all of them to be gone", async () => (await kubectl("get", "pods", "-o", "name")) === "", 120_000);
});
