// What a person can get wrong on the command line: each mistake is one clear line that names the thing, and loses nothing.

import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { freePort, startSkiff } from "../harness/skiff.ts";

const root = join(import.meta.dirname, "../..");
const dir = mkdtempSync(join(tmpdir(), "skiff-bad-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

function skiff(
  args: readonly string[],
  env: Record<string, string> = {},
  starter: readonly string[] = [],
): Promise<{ code: number; stderr: string }> {
  const [program = "", ...words] = [...starter, join(root, "skiff"), ...args];
  return new Promise((resolve) => {
    execFile(program, words, { env: { ...process.env, ...env } }, (error, _, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stderr: stderr.trim() });
    });
  });
}

function file(name: string, content: string, mode = 0o644): string {
  writeFileSync(join(dir, name), content);
  chmodSync(join(dir, name), mode);
  return join(dir, name);
}

t.test("wrong words on the command line", async (t) => {
  const rows = [
    { name: "unknown command", args: ["frobnicate"], says: "skiff: unknown command 'frobnicate'" },
    {
      name: "unknown flag",
      args: ["up", "--https-prt=1"],
      says: /^skiff: unknown option '--https-prt=1' \(Did you mean --https-port\?\)$/,
    },
    {
      name: "wrong type",
      args: ["up", "--https-port=abc"],
      says: 'skiff: Bad value for --https-port: expected a number, got "abc"',
    },
    {
      name: "no such port",
      args: ["up", "--https-port=70000"],
      says: "skiff: Bad value for --https-port: a port is a whole number from 0 to 65535",
    },
    {
      name: "one port for two servers",
      args: ["up", `--data-dir=${join(dir, "ports")}`, "--https-port=16443", "--kubelet-port=16443"],
      says: "skiff: Bad value for --kubelet-port: 16443 is --https-port already; choose two ports",
    },
    {
      name: "no such config file",
      args: ["up", `--config=${join(dir, "none.yaml")}`],
      says: `skiff: Cannot read the config file ${dir}/none.yaml of --config: there is no such file`,
    },
    {
      name: "a server without a scheme",
      args: ["kubeconfig", `--data-dir=${dir}`, "--server=pi"],
      says: 'skiff: Bad value for --server: "pi" is not an address such as https://pi:6443',
    },
    {
      name: "unknown key",
      args: ["up", "--config", file("a.yaml", "htps-port: 1\n")],
      says: `skiff: Unknown setting "htps-port" in ${dir}/a.yaml; did you mean "https-port"?`,
    },
    {
      name: "wrong type in the file",
      args: ["up", "--config", file("b.yaml", "https-port: six\n")],
      says: `skiff: Bad value for https-port in ${dir}/b.yaml: expected a number, got "six"`,
    },
    {
      name: "settings of no plugin",
      args: [
        "server",
        "--data-dir",
        join(dir, "p"),
        `--config=${file("ps.yaml", "plugin-settings: {PodSecurty: {}}")}`,
      ],
      says: 'skiff: Settings name an unknown plugin "PodSecurty"; did you mean "PodSecurity"?',
    },
    {
      name: "an unknown key among a built-in plugin's settings",
      args: [
        "server",
        "--data-dir",
        join(dir, "q"),
        `--config=${file("sq.yaml", "plugin-settings: {sqlite: {flushSecond: 1}}")}`,
      ],
      says: /^skiff: Cannot configure plugin "store\/sqlite": unknown key "flushSecond" \(known: .*flushSeconds/,
    },
    {
      name: "plugins named by a file that anyone can write",
      args: ["server", "--data-dir", join(dir, "w"), `--config=${file("w.yaml", "plugins: [./x.ts]\n", 0o666)}`],
      says: new RegExp(
        `^skiff: Cannot load the plugins that ${dir}/w.yaml names: the file ${dir}/w.yaml can be written by others \\(owner \\d+:\\d+, mode 0666\\); fix: chmod go-w ${dir}/w.yaml$`,
      ),
    },
    {
      name: "a plugin that anyone can write",
      args: [
        "server",
        "--data-dir",
        join(dir, "x"),
        `--config=${file("x.yaml", `plugins: [${file("x.js", "", 0o666)}]\n`)}`,
      ],
      says: new RegExp(`^skiff: Cannot load plugin "${dir}/x.js": the file ${dir}/x.js can be written by others`),
    },
    {
      name: "no YAML",
      args: ["up", "--config", file("c.yaml", "a: [1\n")],
      says: new RegExp(`^skiff: Cannot read ${dir}/c.yaml: `),
    },
    {
      name: "no such file",
      args: ["up", "--config", join(dir, "absent.yaml")],
      says: new RegExp(`^skiff: .*${dir}/absent.yaml`),
    },
    {
      name: "a store nobody knows",
      args: ["server", "--data-dir", join(dir, "s"), "--store=paper"],
      says: `skiff: Bad value for --store: "paper" is neither sqlite, etcd=https://host:2379 nor a plugin's name`,
    },
    {
      name: "a runtime nobody knows",
      args: ["agent", "--data-dir", join(dir, "r"), "--manifest-dir", dir, "--runtime=podman"],
      says: /^skiff: Bad value for --runtime: "podman" is not/,
    },
    {
      name: "an agent with nothing to do",
      args: ["agent", "--data-dir", join(dir, "n")],
      says: /^skiff: Nothing to do: give --server and --token/,
    },
    {
      name: "a service range that is none",
      args: ["server", "--data-dir", join(dir, "c"), "--service-cidr=10.1.2.3"],
      says: /^skiff: Bad value for --service-cidr: "10\.1\.2\.3" is not a CIDR/,
    },
  ];
  for (const row of rows) {
    const { code, stderr } = await skiff(row.args);
    t.not(code, 0, `${row.name}: exits non-zero`);
    t.match(stderr, row.says, row.name);
    t.equal(stderr.split("\n").length, 1, `${row.name}: one line`);
  }
});

t.test("a plugin that throws while opening is named", async (t) => {
  const plugin = join(root, "test/fixtures/plugin-that-throws.ts");
  const { code, stderr } = await skiff([
    "server",
    "--data-dir",
    join(dir, "p"),
    `--https-port=${await freePort()}`,
    `--plugins=${plugin}`,
  ]);
  t.equal(code, 1);
  t.match(stderr, /^skiff: .*Broken.*the moon is in the wrong house$/);
  const absent = await skiff(["server", "--data-dir", join(dir, "p"), "--plugins=./absent.ts"]);
  t.match(absent.stderr, /^skiff: .*absent\.ts/);
});

t.test("two instances on one data dir: the second says who has it", async (t) => {
  const first = await startSkiff({ command: "server" });
  t.teardown(async () => {
    await first.stop();
    first.remove();
  });
  const { code, stderr } = await skiff(["server", "--data-dir", first.dataDir, `--https-port=${await freePort()}`]);
  t.equal(code, 1);
  t.match(stderr, /^skiff: Cannot use the data dir .*: another Skiff \(process \d+\) runs on it/);
  const taken = await skiff(["server", "--data-dir", join(dir, "t"), `--https-port=${first.ports.https}`]);
  const owner = new RegExp(
    `^skiff: Cannot listen on .*: the address is in use by .*, process ${first.process.pid}; stop that one, or choose another port with --https-port$`,
  );
  t.match(taken.stderr, owner);
});

t.test("a start that ends because a port is in use leaves nothing of its address ranges behind", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as { port: number };
  const dataDir = join(dir, "aborted");
  for (const [command, flag, other] of [
    ["server", "https-port", []],
    ["up", "kubelet-port", [`--https-port=${await freePort()}`, "--runtime=native"]],
  ] as const) {
    const args = [`--data-dir=${dataDir}`, `--${flag}=${port}`, "--service-cidr=172.30.0.0/16", ...other];
    const { code, stderr } = await skiff([command, ...args]);
    t.equal(code, 1, flag);
    t.match(stderr, new RegExp(`choose another port with --${flag}$`));
  }
  const next = await startSkiff({ command: "server", dataDir });
  t.teardown(async () => {
    await next.stop();
    next.remove();
  });
  const address = await next.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}");
  t.equal(address, next.clusterDns.replace(/10$/, "1"), "the next start may have others");
});

t.test("what is for root alone says so", { skip: process.getuid?.() === 0 ? false : "needs root" }, async (t) => {
  const data = join(dir, "of-another");
  mkdirSync(data);
  const kubeconfig = file("of-another/admin.kubeconfig", "", 0o600);
  chownSync(kubeconfig, 65_534, 65_534);
  // Root that may read only what its user may read.
  const caps = "-dac_override,-dac_read_search";
  const lower = ["setpriv", `--inh-caps=${caps}`, `--bounding-set=${caps}`];
  for (const [args, says] of [
    [["status"], /^skiff: .*admin\.kubeconfig: permission denied; run it as root, or give --kubeconfig$/],
    [["token", "list"], /^skiff: Cannot find a server on this box: .*: permission denied; run it as root$/],
  ] as const) {
    const { code, stderr } = await skiff([...args, `--data-dir=${data}`], {}, lower);
    t.equal(code, 1);
    t.match(stderr, says);
  }
});

t.test("a data dir that cannot be written, and a full disk", async (t) => {
  const place = join(dir, "small");
  mkdirSync(place);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place]);
  t.teardown(() => execFileSync("umount", [place]));
  writeFileSync(join(place, "filler"), Buffer.alloc(56_000));
  const full = await skiff(["server", "--data-dir", join(place, "data"), `--https-port=${await freePort()}`]);
  t.equal(full.code, 1);
  t.match(full.stderr, /^skiff: .*(no space left|disk|full)/i);
  t.equal(full.stderr.split("\n").length, 1);
  execFileSync("mount", ["-o", "remount,ro", place]);
  const readOnly = await skiff(["server", "--data-dir", join(place, "data"), `--https-port=${await freePort()}`]);
  t.equal(readOnly.code, 1);
  t.match(readOnly.stderr, /^skiff: Cannot use the data dir .*: .*read-only/);
});
