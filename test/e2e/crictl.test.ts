// crictl, the operator's command of kubernetes-sigs/cri-tools, on `skiff cri native` and `skiff cri docker`. Needs the program on PATH.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { type CriProcess, startCriProcess } from "../harness/cri-process.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImage } from "../harness/image-builder.ts";
import { withoutNative } from "../harness/native.ts";
import { TestRegistry } from "../harness/registry.ts";
import { without } from "../harness/stock-kubernetes.ts";
import { until } from "../harness/until.ts";

t.setTimeout(600_000);
const noCrictl = without("crictl");

t.test("crictl on skiff cri native", { skip: noCrictl || withoutNative(), timeout: 300_000 }, async (t) => {
  const registry = await startRegistry(t);
  await operates(t, registry, await startCriProcess(t, { runtime: "native", registry: registry.host }));
});

t.test("crictl on skiff cri docker", { skip: noCrictl || withoutDocker(), timeout: 300_000 }, async (t) => {
  const registry = await startRegistry(t);
  const docker = await startDocker(t, { images: [], registry: { host: registry.host, standsFor: [] } });
  const flags = [`--docker-socket=${docker.socket}`];
  await operates(t, registry, await startCriProcess(t, { runtime: "docker", flags }));
});

async function startRegistry(t: Test): Promise<TestRegistry> {
  const registry = await TestRegistry.start();
  t.teardown(() => registry.stop());
  return registry;
}

/** A pod's whole life by the operator's hand. */
async function operates(t: Test, registry: TestRegistry, { dir, socket }: CriProcess): Promise<void> {
  const config = join(dir, "crictl.yaml");
  writeFileSync(config, `runtime-endpoint: unix://${socket}\nimage-endpoint: unix://${socket}\ntimeout: 60\n`);
  const crictl = async (...words: string[]) => {
    const { stdout } = await promisify(execFile)("crictl", ["--config", config, ...words]);
    return stdout.trim();
  };
  const write = (name: string, content: object) => {
    writeFileSync(join(dir, name), JSON.stringify(content));
    return join(dir, name);
  };
  const image = registry.add("crictl/busybox", "1", busyboxImage());
  t.match(await crictl("version"), /RuntimeApiVersion: +v1/);
  t.match(JSON.parse(await crictl("info")), { status: { conditions: [{ status: true }, { status: true }] } });
  await crictl("pull", image);
  t.match(await crictl("images"), /crictl\/busybox +1 /);
  t.match(JSON.parse(await crictl("inspecti", image)), { status: { repoTags: [image] } });

  const podFile = write("pod.json", {
    metadata: { name: "by-hand", namespace: "default", uid: "by-hand", attempt: 1 },
    log_directory: dir,
    linux: {},
  });
  const containerFile = write("container.json", {
    metadata: { name: "main" },
    image: { image },
    command: ["sh", "-c", "echo hello; sleep 1000"],
    log_path: "main.log",
    linux: {},
  });
  const pod = await crictl("runp", podFile);
  const container = await crictl("create", pod, containerFile, podFile);
  await crictl("start", container);
  t.match(await crictl("pods"), /Ready +by-hand +default/);
  t.match(await crictl("ps"), /Running +main/);
  t.match(JSON.parse(await crictl("inspectp", pod)), { status: { id: pod, network: { ip: /^10\./ } } });
  t.match(JSON.parse(await crictl("inspect", container)), { status: { id: container, state: "CONTAINER_RUNNING" } });
  await until("its log", async () => (await crictl("logs", container)) === "hello");
  t.equal(await crictl("exec", container, "echo", "in a session"), "in a session");
  t.equal(await crictl("exec", "--sync", container, "echo", "at once"), "at once");
  await t.rejects(crictl("exec", container, "sh", "-c", "exit 3"), /exit code 3|exit status 3/);
  await until("what it uses", async () => {
    const { stats } = JSON.parse(await crictl("stats", "-o", "json")) as { stats: { memory?: Used }[] };
    return Number(stats[0]?.memory?.workingSetBytes?.value ?? 0) > 0;
  });
  t.match(JSON.parse(await crictl("statsp", "-o", "json")), { stats: [{ attributes: { id: pod } }] });
  t.match(JSON.parse(await crictl("imagefsinfo")), { status: { imageFilesystems: [{ usedBytes: {} }] } });
  await crictl("update", "--memory", String(64 << 20), container);

  await crictl("stop", "--timeout", "0", container);
  t.match(JSON.parse(await crictl("inspect", container)), { status: { state: "CONTAINER_EXITED", exitCode: 137 } });
  await crictl("rm", container);
  await crictl("stopp", pod);
  await crictl("rmp", pod);
  await crictl("rmi", image);
  t.equal(await crictl("ps", "--all", "--quiet"), "");
  t.equal(await crictl("pods", "--quiet"), "");
  t.notMatch(await crictl("images"), /crictl\/busybox/);
}

interface Used {
  readonly workingSetBytes?: { readonly value: string };
}
