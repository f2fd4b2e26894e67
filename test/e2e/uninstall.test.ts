// `skiff uninstall` after a service was stopped with its containers running: the machine is as it was before.

import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { instancePaths } from "../../agent/assemble/paths.ts";
import { masqueradeTable } from "../../cni/bridge/masquerade.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { leaks, machineState } from "../harness/machine-state.ts";
import { startSkiff } from "../harness/skiff.ts";

const project = join(import.meta.dirname, "../..");
const runtime = process.versions.deno ? ["run", "-A", "--quiet", "skiff.ts"] : ["skiff.ts"];

async function skiff(args: string[], env: Record<string, string> = {}): Promise<string> {
  const options = { cwd: project, env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, [...runtime, ...args], options);
  return stdout;
}

/** What it says on a terminal on which this is typed. */
function onTerminal(args: readonly string[], answer: string): string {
  const command = [process.execPath, ...runtime, ...args].join(" ");
  const shell = ["-q", "-e", "-c", command, "/dev/null"];
  return spawnSync("script", shell, { cwd: project, encoding: "utf8", input: `${answer}\n` }).stdout;
}

t.test("skiff uninstall removes every trace of an instance whose pods run on", async (t) => {
  const before = machineState();
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-uninstall-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const running = await startSkiff({ dataDir, flags: ["--runtime=native", "--stop-pods-on-exit=false"] });
  t.teardown(() => running.kill());
  const removal = ["uninstall", `--data-dir=${dataDir}`, "--this-instance-only", "--runtime=native"];
  await running.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "survivor" },
    spec: {
      containers: [{ name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] }],
    },
  });
  await running.kubectl("wait", "pod/survivor", "--for=condition=Ready", "--timeout=60s");
  await t.rejects(skiff([...removal, "--yes"]), /another Skiff/, "not while it runs");
  await running.stop();
  const { bridge } = instancePaths(dataDir);
  const names = [bridge.replace("skiff-", ""), masqueradeTable(bridge), dataDir];
  const own = () => leaks(before, machineState()).filter((leak) => names.some((name) => leak.includes(name)));
  t.ok(
    own().some((leak) => leak.includes(masqueradeTable(bridge))),
    "the pod and its network outlived the program",
  );
  t.match(await skiff([...removal, "--dry-run"]), new RegExp(`would remove: ${dataDir}`));

  await t.rejects(
    skiff(removal),
    new RegExp(`skiff: Cannot ask before deleting everything in ${dataDir}: the cluster's store, .*; give --yes`),
    "without a terminal it needs to be told",
  );
  t.match(onTerminal(removal, "n"), /Delete it\? \[y\/N\] .*Nothing was removed/s, "on a terminal it asks");
  t.match(onTerminal(removal, ""), /Nothing was removed/, "and takes no answer for no");
  t.ok(own().length > 0 && existsSync(join(dataDir, "store", "store.db")), "nothing was removed");
  const onLoopback = () => spawnSync("ip", ["address", "show", "dev", "lo"], { encoding: "utf8" }).stdout;
  t.match(onLoopback(), `inet ${running.clusterDns}/32`);

  const said = await skiff([...removal, "--keep-data"]);
  t.match(said, /removing pod default\/survivor/);
  t.same(own(), [], "the machine is as it was");
  t.notMatch(
    onLoopback(),
    `inet ${running.clusterDns}/32`,
    "the address that the flags of the start named is gone, too",
  );
  t.ok(existsSync(join(dataDir, "store", "store.db")), "the data is kept, without a question");
  t.match(onTerminal(removal, "y"), /removing .*done/s);
  t.notOk(existsSync(dataDir), "and then it is not");
});

t.test("skiff uninstall removes what install.sh made, and nothing else", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-uninstall-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const source = join(root, "source");
  mkdirSync(source);
  // The script of this project, as if it lay beside a small program.
  writeFileSync(join(source, "skiff"), "", { mode: 0o755 });
  copyFileSync(join(project, "install.sh"), join(source, "install.sh"));
  const env = { DESTDIR: root };
  t.equal(
    spawnSync("sh", [join(source, "install.sh"), "up", "--force"], { env: { ...process.env, ...env } }).status,
    0,
  );
  const others = join(root, "etc/skiff/notes.txt");
  writeFileSync(others, "mine");
  await t.rejects(skiff(["uninstall", `--data-dir=${source}`], env), /no Skiff ever ran on it/);
  t.ok(existsSync(join(root, "opt/skiff")), "a wrong data dir stops it before anything is removed");
  await skiff(["uninstall", `--data-dir=${join(root, "never")}`], env);
  for (const path of ["opt/skiff", "etc/skiff/config.yaml", "etc/systemd/system/skiff.service"])
    t.notOk(existsSync(join(root, path)), path);
  t.ok(existsSync(others), "what others put there stays");
});
