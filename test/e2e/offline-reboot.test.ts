// A node that joined a server, rebooted while nothing can be reached: what it was running is back as it was, from what it remembers.

import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { killAll, processesNaming, unmountBelow, withDescendants } from "../harness/left-behind.ts";
import { withoutNative } from "../harness/native.ts";
import { noNetworkReason } from "../harness/network.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../skiff");
const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Writes down what it was started with. */
const script = `
{ env | grep -E '^(FROM_|KUBERNETES_SERVICE_HOST)' | sort; cat /config/file /secret/file; } >/told/started
cat ${account}/ca.crt ${account}/namespace >>/told/started
tail -c 20 ${account}/token >/told/token
exec sleep 100000`;

const objects = (nodeName: string, told: string) => {
  const meta = (name: string) => ({ name, namespace: "default" });
  const volumes = [
    { name: "config", configMap: { name: "config" } },
    { name: "secret", secret: { secretName: "secret" } },
    { name: "told", hostPath: { path: told } },
  ];
  const container = {
    name: "c",
    image: busyboxImageName,
    imagePullPolicy: "IfNotPresent",
    command: ["sh", "-c", script],
    envFrom: [{ configMapRef: { name: "config" }, prefix: "FROM_" }],
    volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })),
  };
  const spec = { nodeName, terminationGracePeriodSeconds: 1, containers: [container], volumes };
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: meta("config"), data: { file: "config\n" } },
    { apiVersion: "v1", kind: "Secret", metadata: meta("secret"), stringData: { file: "secret\n" } },
    { apiVersion: "v1", kind: "Pod", metadata: meta("p"), spec },
  ];
};

t.setTimeout(300_000);
const skip = noNetworkReason() || withoutNative();
t.test("a node rebooted with no server in reach runs its pods as before", { skip, timeout: 300_000 }, async (t) => {
  let server: RunningSkiff | undefined = await startSkiff({ command: "server" });
  const { dataDir: serverDir, ports } = server;
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-agent-"));
  const told = mkdtempSync(join(tmpdir(), "skiff-told-"));
  let agent: RunningSkiff | undefined;
  t.teardown(async () => {
    await agent?.stop();
    await server?.stop();
    for (const dir of [dataDir, serverDir, told]) rmSync(dir, { recursive: true, force: true });
  });
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const token = (await run(launcher, ["token", "create", "--data-dir", serverDir])).stdout.trim();
  const url = `https://127.0.0.1:${ports.https}`;
  // The cluster's networks are learned the first time, and remembered when the server is away.
  const flags = ["--runtime=native", `--server=${url}`];
  agent = await startSkiff({ command: "agent", dataDir, flags: [...flags, `--token=${token}`] });
  const { nodeName } = agent;
  await server.apply(...objects(nodeName, told));
  await server.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=60s");
  const read = (name: string) => (existsSync(join(told, name)) ? readFileSync(join(told, name), "utf8") : "");
  const before = await until("what it was started with", () => (read("token") === "" ? undefined : read("started")));
  t.match(before, /^FROM_file=config\n.*KUBERNETES_SERVICE_HOST=.*config\nsecret\n-----BEGIN CERTIFICATE.*default$/s);
  const uid = await server.kubectl("get", "pod", "p", "-o", "jsonpath={.metadata.uid}");
  // Changes are written together, two seconds after the first.
  const writtenAt = () => statSync(join(dataDir, "agent", "checkpoint")).mtimeMs;
  await until("the checkpoint to settle", () => Date.now() - writtenAt() > 4000);

  await server.kill();
  server = undefined;
  await agent.kill();
  agent = undefined;
  killAll(withDescendants(processesNaming(dataDir)));
  await until("all to end", () => processesNaming(dataDir).length === 0);
  const { runDir } = instancePaths(dataDir);
  for (const dir of [dataDir, runDir]) unmountBelow(dir);
  rmSync(runDir, { recursive: true, force: true });
  for (const name of readdirSync(told)) rmSync(join(told, name));

  agent = await startSkiff({
    command: "agent",
    dataDir,
    flags: [...flags, `--node-name=${nodeName}`],
    says: "running the pods that this node remembers",
  });
  await until("the pod to be back", () => read("token") !== "", 60_000);
  t.equal(read("started"), before);
  const complaints = agent
    .log()
    .split("\n")
    .filter((line) => line.includes("cannot report"));
  t.equal(complaints.length, 1, "what is out of reach is told once");

  server = await startSkiff({
    command: "server",
    dataDir: serverDir,
    flags: [`--https-port=${ports.https}`],
  });
  const kubectl = server.kubectl;
  const restarts = () =>
    kubectl(
      "get",
      "pod",
      "p",
      "-o",
      "jsonpath={.metadata.uid} {.status.containerStatuses[0].restartCount} {.status.conditions[?(@.type=='Ready')].status}",
    );
  await until("the server to hear of it", async () => (await restarts()) === `${uid} 1 True`, 60_000);
  await kubectl("delete", "pod", "p", "--timeout=60s");
});
