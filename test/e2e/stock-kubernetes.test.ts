// `skiff agent --kubeconfig` as a node of Kubernetes' own control plane: kube-apiserver, kube-controller-manager and kube-scheduler on etcd.
// Needs these programs on PATH.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, busyboxImageName as image, imageArchive } from "../harness/images.ts";
import { withoutNative } from "../harness/native.ts";
import { startSkiff } from "../harness/skiff.ts";
import { noStockKubernetes, startStockKubernetes } from "../harness/stock-kubernetes.ts";
import { until } from "../harness/until.ts";

t.setTimeout(600_000);
const patienceMs = 120_000;

t.test(
  "a Skiff node in a stock cluster",
  { skip: noStockKubernetes || withoutNative(), timeout: 600_000 },
  async (t) => {
    const stock = await startStockKubernetes(t);
    const dataDir = mkdtempSync(join(tmpdir(), "skiff-in-stock-"));
    mkdirSync(join(dataDir, "images"));
    writeFileSync(join(dataDir, "images", "box.tar"), await imageArchive(busyboxImage()));
    const kubeconfig = stock.kubeconfigFor("system:node:pi", ["system:nodes"]);
    const ip = Object.values(networkInterfaces())
      .flat()
      .find((found) => found?.family === "IPv4" && !found.internal)?.address;
    const skiff = await startSkiff({
      command: "agent",
      dataDir,
      flags: [
        `--kubeconfig=${kubeconfig}`,
        "--node-name=pi",
        "--runtime=native",
        `--cluster-cidr=${stock.clusterCidr}`,
        `--cluster-dns=${stock.clusterCidr.replace(/\.0\.0\/17$/, ".128.10")}`,
        ...(ip ? [`--node-ip=${ip}`] : []),
      ],
    });
    t.teardown(async () => {
      await skiff.stop();
      skiff.remove();
    });
    t.match(await stock.kubectl("get", "node", "pi"), /pi +Ready/);
    await until("the kubelet's signing request", async () => (await stock.kubectl("get", "csr")).includes("Pending"));
    await stock.kubectl(
      "certificate",
      "approve",
      await stock.kubectl("get", "csr", "-o", "jsonpath={.items[0].metadata.name}"),
    );

    const command = ["sh", "-c", "echo hello; sleep 1000000"];
    const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 1 };
    await stock.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image, command, readinessProbe }] },
        },
      },
    });
    await stock.kubectl("rollout", "status", "deployment/web", "--timeout=120s").catch(async (error: unknown) => {
      t.comment(await stock.kubectl("get", "pods,events"));
      throw error;
    });
    const [pod = ""] = (await stock.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}")).split(" ");
    await until("logs by the signed certificate", async () =>
      (await stock.kubectl("logs", pod).catch(() => "")).includes("hello"),
    );
    t.equal(await stock.kubectl("exec", pod, "--", "hostname"), `${pod}\n`);
    await t.rejects(stock.kubectl("exec", pod, "--", "sh", "-c", "exit 3"), { code: 3 });
    const summary = await stock.kubectl("get", "--raw", "/api/v1/nodes/pi/proxy/stats/summary");
    t.match(JSON.parse(summary), { node: { nodeName: "pi" } });

    await stock.kubectl("delete", "deployment", "web", "--wait");
    const areGone = async () => (await stock.kubectl("get", "pods", "-o", "name")) === "";
    await until("the pods to be gone", areGone, patienceMs);
  },
);
