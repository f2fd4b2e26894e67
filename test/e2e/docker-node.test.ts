// A whole node on Docker: what kubectl shows of a pod that runs there, its logs before and after a restart of its container, and commands in it.

import t from "tap";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImageName } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

t.test("skiff up --runtime docker runs pods", { skip: withoutDocker(), timeout: 120_000 }, async (t) => {
  const docker = await startDocker(t);
  process.env.DOCKER_HOST = `unix://${docker.socket}`;
  t.teardown(() => delete process.env.DOCKER_HOST);
  const skiff = await startSkiff({ flags: ["--runtime=docker"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  t.match(skiff.ready, "runtime=docker");
  await skiff.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "main",
          image: busyboxImageName,
          imagePullPolicy: "Never",
          command: ["sh", "-c", "echo started; until [ -e /tmp/go ]; do sleep 0.1; done; exit 3"],
          resources: { limits: { memory: "32Mi" } },
        },
      ],
    },
  });
  const field = (path: string) => skiff.kubectl("get", "pod", "web", "-o", `jsonpath={${path}}`);
  await until(
    "the pod to be ready",
    async () => (await field(".status.containerStatuses[0].ready")) === "true",
    60_000,
  );
  t.match(await field(".status.podIP"), /^10\./);
  t.match(
    await skiff.kubectl("get", "node", "-o", "jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}"),
    /^docker:\/\//,
  );
  t.equal((await skiff.kubectl("logs", "web")).trim(), "started");
  t.equal((await skiff.kubectl("exec", "web", "--", "hostname")).trim(), "web");
  const summary = await skiff.kubectl("get", "--raw", `/api/v1/nodes/${skiff.nodeName}/proxy/stats/summary`);
  const { pods } = JSON.parse(summary) as {
    pods: { podRef: { name: string }; memory?: { workingSetBytes?: number } }[];
  };
  t.ok((pods.find(({ podRef }) => podRef.name === "web")?.memory?.workingSetBytes ?? 0) > 0, "what kubectl top reads");
  await skiff.kubectl("exec", "web", "--", "touch", "/tmp/go");
  await until("the restart", async () => (await field(".status.containerStatuses[0].restartCount")) === "1", 60_000);
  t.equal(await field(".status.containerStatuses[0].lastState.terminated.exitCode"), "3");
  t.equal((await skiff.kubectl("logs", "web", "--previous")).trim(), "started");
  await skiff.kubectl("delete", "pod", "web", "--wait", "--timeout=60s");
});
