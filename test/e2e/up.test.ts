// `skiff up` as a newcomer meets it: a cluster on this box, a deployment on real containers, and nothing left behind.

import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t, { type Test } from "tap";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { leaks, machineState } from "../harness/machine-state.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

/** What is used of node-pty here. */
interface PtyModule {
  spawn(
    path: string,
    args: string[],
    options: { cols: number; rows: number },
  ): {
    write(text: string): void;
    resize(columns: number, rows: number): void;
    onData(then: (text: string) => void): void;
    onExit(then: (end: { exitCode: number }) => void): void;
  };
}

const project = join(import.meta.dirname, "../..");

const before = machineState();

const podSpec = {
  terminationGracePeriodSeconds: 1,
  containers: [{ name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] }],
};
const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec },
  },
});

async function dataDirWithImages(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-up-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  return dataDir;
}

async function withSkiff(t: { teardown(then: () => Promise<void>): void }, dataDir: string): Promise<RunningSkiff> {
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  return skiff;
}

/** `skiff status`, `logs` and `exec`, as on a box that has no kubectl. */
async function looksWithoutKubectl(t: Test, { dataDir, nodeName, apply, kubectl }: RunningSkiff): Promise<void> {
  const script = "echo first; echo second; trap exit TERM; sleep 100000 & wait";
  await apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "talker" },
    spec: {
      ...podSpec,
      containers: [{ ...podSpec.containers[0], command: ["sh", "-c", script] }],
    },
  });
  await kubectl("wait", "--for=condition=Ready", "pod/talker", "--timeout=60s");
  const ask = (args: string[], input = "") =>
    askSkiff([...args.slice(0, 1), `--data-dir=${dataDir}`, ...args.slice(1)], input);
  const status = await ask(["status"]);
  t.equal(status.code, 0, status.err);
  t.match(status.out, new RegExp(`^NODE.*\\n${nodeName} +Ready `));
  t.match(status.out, new RegExp(`default +talker +1/1 +Running +0 +\\S+ +${nodeName} `));
  const isMeasured = async () => /talker .* \d+m +\d+Mi\n/.test((await ask(["status"])).out);
  t.ok(await until("what the pod uses", isMeasured, 120_000), "usage is shown once it was measured");

  t.same(await ask(["logs", "talker", "--tail=1"]), { code: 0, out: "second\n", err: "" });
  t.match(await ask(["logs", "nobody"]), { code: 1, out: "", err: /^skiff: .*pods "nobody" not found\n$/ });
  const exec = await ask(["exec", "-i", "talker", "--", "sh", "-c", "cat; echo beside >&2; exit 3"], "through");
  t.same(exec, { code: 3, out: "through", err: "beside\n" });

  const watched = `exec 2>&1; "$0" status --watch --data-dir="$1" | head -n 1`;
  const { stdout: seen } = await promisify(execFile)("sh", ["-c", watched, join(project, "skiff"), dataDir]);
  t.match(seen, /^NODE[^\n]*\n$/, "it ends in silence when its reader leaves");

  // @ts-expect-error The package declares its types under the name it was published with, not under ours.
  const { spawn: openTerminal } = (await import("node-pty")) as PtyModule;
  const args = ["exec", `--data-dir=${dataDir}`, "-it", "talker", "--", "sh"];
  const terminal = openTerminal(join(project, "skiff"), args, { cols: 91, rows: 37 });
  let shown = "";
  terminal.onData((data) => (shown += data));
  const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  await until("a prompt", () => shown.includes("#"));
  terminal.write("stty size\r");
  await until("the size of the terminal", () => shown.includes("37 91"));
  terminal.resize(120, 40);
  await until("the new size", () => {
    terminal.write("stty size\r");
    return shown.includes("40 120");
  });
  terminal.write("exit 5\r");
  t.equal(await ended, 5, "the shell's exit code");
  await kubectl("delete", "pod", "talker");
}

function askSkiff(args: string[], input: string): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(join(project, "skiff"), args);
  const collected = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (collected.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (collected.err += text));
  child.stdin.end(input);
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...collected })));
}

t.test("skiff up runs a deployment that kubectl created, and takes everything away when it stops", async (t) => {
  const dataDir = await dataDirWithImages();
  await t.test("from create to Ready to gone", async (t) => {
    const skiff = await withSkiff(t, dataDir);
    t.match(skiff.ready, /^ready node=\S+ runtime=native seconds=[\d.]+ kubeconfig=\S+$/);
    t.match(
      await skiff.kubectl(
        "get",
        "node",
        skiff.nodeName,
        "-o",
        "jsonpath={.status.conditions[?(@.type=='Ready')].status}",
      ),
      "True",
    );
    t.match(await skiff.kubectl("get", "nodes"), new RegExp(`${skiff.nodeName} +Ready +control-plane `));

    await skiff.apply(deployment("web", 2));
    await skiff.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const pods = JSON.parse(await skiff.kubectl("get", "pods", "-o", "json")) as {
      items: { status: { phase: string; podIP: string } }[];
    };
    t.same(
      pods.items.map(({ status }) => status.phase),
      ["Running", "Running"],
    );
    t.equal(new Set(pods.items.map(({ status }) => status.podIP)).size, 2, "each pod has an address of its own");

    await looksWithoutKubectl(t, skiff);
    await skiff.kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=60s");
    t.equal(await skiff.kubectl("get", "pods", "-o", "name"), "", "no pod is left");
  });
  // Other tests may run beside this one: only what bears this instance's names is its own.
  const { bridge } = instancePaths(dataDir);
  const id = bridge.replace("skiff-", "");
  const own = leaks(before, machineState()).filter((leak) => leak.includes(id) || leak.includes(dataDir));
  t.same(own, [], "the machine is as it was");
});

t.test("skiff up keeps containers running while it is away, and finds them again", async (t) => {
  const dataDir = await dataDirWithImages();
  const first = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  await first.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "keep" }, spec: podSpec });
  await first.kubectl("wait", "--for=condition=Ready", "pod/keep", "--timeout=60s");
  const idOf = async (skiff: RunningSkiff) =>
    skiff.kubectl(
      "get",
      "pod",
      "keep",
      "-o",
      "jsonpath={.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}",
    );
  const id = await idOf(first);
  await first.kill();

  const second = await startSkiff({ dataDir, flags: ["--runtime=native", `--node-name=${first.nodeName}`] });
  t.teardown(async () => {
    await second.stop();
    second.remove();
  });
  await second.kubectl("wait", "--for=condition=Ready", "pod/keep", "--timeout=60s");
  t.equal(await idOf(second), id, "the same container, never restarted");
});
