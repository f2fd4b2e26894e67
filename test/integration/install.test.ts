// install.sh on a private root, the unit under systemd's own eyes, and what the program tells its service manager.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import { freeOctet, freePort } from "../harness/skiff.ts";

const project = join(import.meta.dirname, "../..");

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-install-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A small program to install, a root to install it on, and a folder for programs that come before the box's own. */
function checkout(t: Test) {
  const folder = temporary(t);
  const source = join(folder, "source");
  const root = join(folder, "root");
  mkdirSync(join(source, "agent"), { recursive: true });
  mkdirSync(root);
  cpSync(join(project, "install.sh"), join(source, "install.sh"));
  writeFileSync(join(source, "skiff"), "#!/bin/sh\necho one\n", { mode: 0o755 });
  writeFileSync(join(source, "agent", "a.ts"), "");
  const programs = join(folder, "bin");
  mkdirSync(programs);
  const install = (...args: string[]) => {
    const env = { ...process.env, DESTDIR: root, PATH: `${programs}:${process.env["PATH"]}` };
    const { status, stdout, stderr } = spawnSync("sh", [join(source, "install.sh"), ...args, "--force"], { env });
    return { status, said: `${stdout}${stderr}` };
  };
  return { source, root, programs, install };
}

t.test(
  "install.sh puts program, settings and service in place, and running it again updates only the program",
  async (t) => {
    const { source, root, install } = checkout(t);
    const first = install("agent", "--set", "server=https://a:6443", "--set=kubelet-port=10251", "--set=token=it's");
    t.equal(first.status, 0, first.said);
    const config = join(root, "etc/skiff/config.yaml");
    t.same(readYaml(readFileSync(config, "utf8"), config), {
      server: "https://a:6443",
      "kubelet-port": 10251,
      token: "it's",
    });
    t.equal(statSync(config).mode & 0o777, 0o600);
    const unit = join(root, "etc/systemd/system/skiff.service");
    t.equal(statSync(unit).mode & 0o777, 0o644);
    t.match(readFileSync(unit, "utf8"), /ExecStart=\/opt\/skiff\/skiff agent --config \/etc\/skiff\/config\.yaml/);
    t.ok(existsSync(join(root, "opt/skiff/agent/a.ts")));

    rmSync(join(source, "agent"), { recursive: true });
    writeFileSync(join(source, "skiff"), "#!/bin/sh\necho two\n");
    writeFileSync(config, "node-name: mine\n");
    const second = install("up");
    t.equal(second.status, 0, second.said);
    t.match(second.said, /keeping the settings/);
    t.equal(readFileSync(config, "utf8"), "node-name: mine\n");
    t.match(readFileSync(join(root, "opt/skiff/skiff"), "utf8"), /two/);
    t.notOk(existsSync(join(root, "opt/skiff/agent")), "what the new program does not have is gone");
  },
);

t.test("install.sh takes the pieces of the newest bundle and page, none of before", async (t) => {
  const { source, root, install } = checkout(t);
  for (const folder of ["dist", ".generated/ui"]) {
    mkdirSync(join(source, folder, "release"), { recursive: true });
    for (const name of ["now.js", "before.js", "stamp"]) writeFileSync(join(source, folder, name), "now.js\nstamp\n");
  }
  const { status, said } = install("up");
  t.equal(status, 0, said);
  for (const folder of ["dist", ".generated/ui"])
    t.same(readdirSync(join(root, "opt/skiff", folder)).sort(), ["now.js", "stamp"], folder);
});

t.test("install.sh --dry-run says what it would do and changes nothing; nonsense is refused", async (t) => {
  const { root, install } = checkout(t);
  const { status, said } = install("--dry-run");
  t.equal(status, 0);
  t.match(said, /copying the program to .*\/opt\/skiff/);
  t.notOk(existsSync(join(root, "opt")));
  t.notOk(existsSync(join(root, "etc")));
  t.equal(install("sideways").status, 2);
  t.not(install("--set", "novalue").status, 0);
  t.notOk(existsSync(join(root, "opt")));
});

const withoutSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "there is no systemd-analyze";

t.test("the unit satisfies systemd-analyze verify", { skip: withoutSystemd }, async (t) => {
  const { root, install } = checkout(t);
  t.equal(install("up").status, 0);
  const unit = join(root, "etc/systemd/system/skiff.service");
  // The program is looked for where the service would run it: here it is below the private root.
  writeFileSync(unit, readFileSync(unit, "utf8").replace("ExecStart=/opt", `ExecStart=${root}/opt`));
  const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit]);
  const complaints = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("skiff.service"));
  t.same(complaints, []);
});

t.test("the unit has the pause between restarts grow where systemd knows how", async (t) => {
  const { root, programs, install } = checkout(t);
  for (const { version, grows } of [
    { version: "252 (252.39-1~deb12u2)", grows: false },
    { version: "254 (254.5-1)", grows: true },
    { version: "257 (257~rc1-1)", grows: true },
  ]) {
    writeFileSync(join(programs, "systemctl"), `#!/bin/sh\necho 'systemd ${version}'\n`, { mode: 0o755 });
    t.equal(install("up").status, 0);
    const unit = readFileSync(join(root, "etc/systemd/system/skiff.service"), "utf8");
    t.match(unit, /^RestartSec=5\n[^]*LimitNOFILE=/m);
    t.equal(/^RestartSteps=5\nRestartMaxDelaySec=60$/m.test(unit), grows, version);
  }
});

const cannotListen =
  process.getuid?.() !== 0
    ? "a node needs root"
    : spawnSync("socat", ["-V"]).status !== 0 && "there is no socat to listen on a datagram socket";

t.test("skiff up tells its service manager: ready, alive, stopping", { skip: cannotListen }, async (t) => {
  const folder = temporary(t);
  const socket = join(folder, "notify");
  const manager = spawn("socat", ["-u", `UNIX-RECV:${socket}`, "-"], { stdio: ["ignore", "pipe", "ignore"] });
  t.teardown(() => manager.kill());
  let told = "";
  manager.stdout.on("data", (chunk) => (told += String(chunk)));
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(() => existsSync(socket));
  const runtime = process.versions.deno ? ["run", "-A", "--quiet", "skiff.ts"] : ["skiff.ts"];
  const octet = freeOctet();
  const flags = {
    "data-dir": join(folder, "data"),
    "https-port": await freePort(),
    "bind-address": "127.0.0.1",
    "kubelet-port": await freePort(),
    "healthz-port": 0,
    "proxy-healthz-port": 0,
    "proxy-metrics-port": 0,
    "node-name": `node-${octet}`,
    "cluster-cidr": `10.${octet}.0.0/17`,
    "service-cidr": `10.${octet}.128.0/17`,
    "cluster-dns": `10.${octet}.128.10`,
    runtime: "native",
    "stop-pods-on-exit": true,
  };
  const args = [...runtime, "up", ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`)];
  const env = { ...process.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: "200000" };
  const child = spawn(process.execPath, args, { cwd: project, env, stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await until(() => told.includes("READY=1") && /WATCHDOG=1.*WATCHDOG=1/s.test(told));
  t.notMatch(told, /STOPPING/);
  child.kill("SIGTERM");
  await ended;
  await until(() => told.includes("STOPPING=1"));
});
