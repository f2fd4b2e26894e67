// A control plane and a node as two programs: the node joins by token at whichever server answers, runs a pod, and comes back without one.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const run = promisify(execFile);
const launcher = join(import.meta.dirname, "../../skiff");

/** What the program says on standard error when it refuses. */
async function refusal(...args: string[]): Promise<string> {
  try {
    await run(launcher, args);
    return "it did not refuse";
  } catch (error) {
    return (error as { stderr: string }).stderr.trim();
  }
}

t.test("skiff agent joins a skiff server", async (t) => {
  const server = await startSkiff({ command: "server" });
  t.teardown(async () => {
    await server.stop();
    server.remove();
  });
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-agent-"));
  let agent: RunningSkiff | undefined;
  t.teardown(async () => {
    await agent?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));

  const token = (await run(launcher, ["token", "create", "--data-dir", server.dataDir])).stdout.trim();
  const url = `https://127.0.0.1:${server.ports.https}`;
  const [hash = "", secret = ""] = token.split("::");

  await t.test("each mistake is one clear line", async (t) => {
    const as = (given: string, to = url) =>
      refusal("agent", "--data-dir", dataDir, "--server", to, "--token", given, "--node-name", "n");
    t.match(
      await as(`K10${"0".repeat(64)}::${secret}`),
      /^skiff: Cannot join .*: the server's CA has the hash .*, the token pins 0{16}…/,
    );
    t.match(
      await as(`${hash}::abcdef.0123456789abcdef`),
      /^skiff: Cannot join .*: the server does not know the token, or it has expired/,
    );
    t.match(await as("nonsense"), /^skiff: .*token/i);
    t.match(
      await as(token, "https://127.0.0.1:1"),
      /^skiff: Cannot join https:\/\/127\.0\.0\.1:1: .*nothing listens there/,
    );
  });

  const flags = [
    "--runtime=native",
    // Nothing listens at the first: joining and everything after it must go on with the next.
    "--server=https://127.0.0.1:1",
    `--server=${url}`,
  ];
  agent = await startSkiff({ command: "agent", dataDir, flags: [...flags, `--token=${token}`] });
  const spec = {
    terminationGracePeriodSeconds: 1,
    nodeName: agent.nodeName,
    containers: [
      {
        name: "c",
        image: busyboxImageName,
        imagePullPolicy: "Never",
        command: ["sh", "-c", "echo started; exec sleep 100000"],
      },
    ],
  };
  await server.kubectl("wait", "--for=condition=Ready", `node/${agent.nodeName}`, "--timeout=60s");
  await server.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
  await server.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=60s");
  // The node serves with a stopgap until the cluster has signed its certificate.
  const logs = await until("the node's certificate", () => server.kubectl("logs", "p"));
  t.equal(logs, "started\n", "the API server reaches the node with certificates of the cluster");

  await t.test("the node's own box shows its node and pods, and says what it may not", async (t) => {
    const config = join(dataDir, "config.yaml");
    writeFileSync(config, JSON.stringify({ "data-dir": dataDir, server: [url], "node-name": spec.nodeName }));
    const { stdout } = await run(launcher, ["status", "--config", config]);
    t.match(stdout, new RegExp(`${spec.nodeName} +Ready .*default +p +1/1 +Running`, "s"));
    t.match(await refusal("logs", "p", "--config", config), /^skiff: .*forbidden.*only its node's identity.*$/);
  });

  await t.test("a second box cannot take the name of a node that is alive", async (t) => {
    const other = mkdtempSync(join(tmpdir(), "skiff-agent-"));
    t.teardown(() => rmSync(other, { recursive: true, force: true }));
    const said = await refusal(
      "agent",
      "--data-dir",
      other,
      "--server",
      url,
      "--token",
      token,
      "--node-name",
      spec.nodeName,
    );
    t.match(said, /^skiff: Cannot join as node ".*": node name ".*" is taken by a node that is alive$/);
  });

  await agent?.kill();
  const nodeName = `--node-name=${spec.nodeName}`;
  agent = undefined;
  agent = await startSkiff({ command: "agent", dataDir, flags: [...flags, nodeName] });
  await server.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=60s");
  t.pass("after a kill the node comes back without a token");
  await server.kubectl("delete", "pod", "p", "--timeout=60s");
});
