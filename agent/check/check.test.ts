import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { checkCommand } from "../assemble/check-command.ts";
import { checkBox, findingLines } from "./check.ts";
import type { CheckFacts } from "./finding.ts";

const gib = 1024 ** 3;
const listener =
  "  0: 00000000:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0";
const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";

/** A box on which everything is well. */
const wellTree: Record<string, string> = {
  "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
  "proc/filesystems": "nodev\ttmpfs\nnodev\toverlay\n",
  "proc/sys/net/ipv4/ip_forward": "1\n",
  "proc/sys/fs/inotify/max_user_instances": "128\n",
  "proc/sys/fs/inotify/max_user_watches": "65536\n",
  "proc/net/route":
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
  "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
  "proc/net/tcp": `${header}\n`,
};

function box(t: Test, tree: Record<string, string | undefined> = {}, facts: Partial<CheckFacts> = {}): CheckFacts {
  const root = mkdtempSync(join(tmpdir(), "skiff-check-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries({ ...wellTree, ...tree })) {
    if (text === undefined) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return {
    root,
    dataDir: join(root, "data"),
    ports: [{ port: 6443, use: "API server" }],
    now: () => Date.UTC(2026, 1, 1),
    madeAt: Date.UTC(2026, 0, 15),
    disk: () => ({ bytes: 32 * gib, availableBytes: 20 * gib, inodes: 1000, freeInodes: 900 }),
    syncMs: async () => 3,
    version: async (program) => `${program} version ${program === "runc" ? "1.1.5+ds1" : "2.1.6"}`,
    network: async () => [],
    ...facts,
  };
}

async function wrong(facts: CheckFacts) {
  return (await checkBox(facts)).filter(({ status }) => status !== "ok");
}

t.test("checkBox() finds nothing on a box where all is well", async (t) => {
  t.same(await wrong(box(t)), []);
});

const provoked: {
  what: string;
  tree?: Record<string, string | undefined>;
  facts?: Partial<CheckFacts>;
  expected: object;
}[] = [
  {
    what: "the memory cgroup missing on a Pi",
    tree: { "sys/fs/cgroup/cgroup.controllers": "cpu pids\n", "boot/firmware/cmdline.txt": "quiet" },
    expected: { name: "memory-cgroup", status: "fail", fix: /\/boot\/firmware\/cmdline\.txt: cgroup_enable=memory/ },
  },
  {
    what: "the memory cgroup missing elsewhere",
    tree: { "sys/fs/cgroup/cgroup.controllers": "cpu pids\n" },
    expected: { name: "memory-cgroup", status: "fail", fix: /GRUB_CMDLINE_LINUX/ },
  },
  {
    what: "control groups that are not mounted here",
    tree: { "proc/self/mountinfo": "22 27 0:21 / /sys rw - sysfs sysfs rw\n" },
    expected: { name: "memory-cgroup", status: "fail", message: /no control groups are mounted/, fix: /nsenter/ },
  },
  {
    what: "overlay missing",
    tree: { "proc/filesystems": "nodev\ttmpfs\n" },
    expected: { name: "overlay", status: "warn", fix: /modprobe overlay/ },
  },
  {
    what: "forwarding off",
    tree: { "proc/sys/net/ipv4/ip_forward": "0\n" },
    expected: { name: "ip-forwarding", status: "warn", fix: /net\.ipv4\.ip_forward=1/ },
  },
  {
    what: "low inotify limits",
    tree: { "proc/sys/fs/inotify/max_user_instances": "16\n" },
    expected: { name: "inotify-max-user-instances", status: "warn", message: /is 16/ },
  },
  {
    what: "nf_tables missing",
    facts: {
      network: async () => [{ severity: "fatal", problem: "nf_tables cannot be used", fix: "modprobe nf_tables" }],
    },
    expected: { name: "network", status: "fail", fix: "modprobe nf_tables" },
  },
  {
    what: "br_netfilter missing",
    facts: {
      network: async () => [
        { severity: "warning", problem: "br_netfilter is not loaded", fix: "modprobe br_netfilter" },
      ],
    },
    expected: { name: "network", status: "warn", fix: "modprobe br_netfilter" },
  },
  {
    what: "a clock far off",
    facts: { now: () => 0 },
    expected: {
      name: "clock",
      status: "fail",
      message: /1970-01-01.*certificates of servers and registries are refused/,
      fix: /timedatectl/,
    },
  },
  {
    what: "a clock that stands before this program was made",
    facts: { now: () => Date.UTC(2026, 0, 1) },
    expected: { name: "clock", status: "fail", message: /says 2026-01-01, and this program was made on 2026-01-15/ },
  },
  {
    what: "an old containerd",
    facts: { daemon: async () => ({ name: "containerd", version: "1.4.13~ds1", least: [1, 6] }) },
    expected: { name: "runtime", status: "fail", message: /1\.4\.13~ds1 is too old: 1\.6/, fix: /runtime: native/ },
  },
  {
    what: "an old Docker",
    facts: { daemon: async () => ({ name: "Docker API", version: "1.40", least: [1, 41] }) },
    expected: { name: "runtime", status: "fail", message: /Docker API 1\.40 is too old/ },
  },
  {
    what: "a daemon that does not answer",
    facts: { daemon: async () => ({ name: "docker", problem: "nothing listens there" }) },
    expected: { name: "runtime", status: "fail", message: /docker does not answer: nothing listens/, fix: /start it/ },
  },
  {
    what: "an old runc",
    facts: { version: async (program) => (program === "runc" ? "runc version 1.0.0-rc93" : "conmon version 2.1.6") },
    expected: { name: "runc", status: "fail", message: /1\.0\.0-rc93 is too old: 1\.1/ },
  },
  {
    what: "no room for more files",
    facts: { disk: () => ({ bytes: 32 * gib, availableBytes: 20 * gib, inodes: 1000, freeInodes: 10 }) },
    expected: { name: "disk-room", status: "warn", message: /only 10 more files/ },
  },
  {
    what: "few inotify watches",
    tree: { "proc/sys/fs/inotify/max_user_watches": "4096\n" },
    expected: { name: "inotify-max-user-watches", status: "warn", message: /is 4096/ },
  },
  {
    what: "no default route",
    tree: { "proc/net/route": "Iface\tDestination\n" },
    expected: { name: "default-route", status: "warn", fix: /node-ip/ },
  },
  {
    what: "swap on a disk",
    tree: {
      "proc/swaps": "Filename Type Size Used Priority\n/var/swap file 102396 0 -2\n/dev/zram0 partition 1 0 5\n",
    },
    expected: { name: "swap", status: "warn", message: /\/var\/swap\)/ },
  },
  {
    what: "runc missing",
    facts: { version: async (program) => (program === "runc" ? undefined : "conmon version 2.1.6") },
    expected: { name: "runc", status: "fail", message: /missing/, fix: /apt-get install runc/ },
  },
  {
    what: "a runc that does not say its version",
    facts: { version: async (program) => (program === "runc" ? "" : "conmon version 2.1.6") },
    expected: { name: "runc", status: "fail", message: /of unknown version is too old/, fix: /apt-get install runc/ },
  },
  {
    what: "an old conmon",
    facts: { version: async (program) => (program === "runc" ? "runc version 1.2.0" : "conmon version 1.0.9") },
    expected: { name: "conmon", status: "fail", message: /1\.0\.9 is too old/ },
  },
  {
    what: "a full disk",
    facts: { disk: () => ({ bytes: 8 * gib, availableBytes: gib / 10, inodes: 0, freeInodes: 0 }) },
    expected: { name: "disk-room", status: "fail", message: /full/ },
  },
  {
    what: "a nearly full disk",
    facts: { disk: () => ({ bytes: 64 * gib, availableBytes: 5 * gib, inodes: 0, freeInodes: 0 }) },
    expected: { name: "disk-room", status: "warn", message: /nearly full: 5\.0 GiB of 64\.0 GiB/ },
  },
  {
    what: "a slow disk",
    facts: { syncMs: async () => 800 },
    expected: { name: "disk-speed", status: "warn", message: /800 ms/ },
  },
];

for (const { what, tree, facts, expected } of provoked) {
  t.test(`checkBox() names ${what}, and the fix`, async (t) => {
    const findings = await wrong(box(t, tree, facts));
    t.equal(findings.length, 1);
    t.match(findings[0], expected);
    t.match(findingLines(findings).join("\n"), /fix: /);
  });
}

t.test("checkBox() names who has a port, and knows Skiff itself", async (t) => {
  const facts = box(t, { "proc/net/tcp": `${header}\n${listener}\n`, "proc/77/comm": "nginx\n" });
  mkdirSync(join(facts.root, "proc/77/fd"));
  symlinkSync("socket:[4711]", join(facts.root, "proc/77/fd/3"));
  t.match(await wrong(facts), [
    {
      name: "port-6443",
      status: "fail",
      message: "port 6443 (API server) is taken by nginx (process 77)",
      fix: /stop nginx/,
    },
  ]);
  for (const [words, called] of [
    ["/usr/bin/python3.11\0-m\0http.server\0", "http.server"],
    ["/opt/skiff/node\0--no-warnings\0/opt/skiff/dist/skiff.js\0up\0", "another Skiff"],
    ["/usr/sbin/lighttpd\0-D\0", "lighttpd"],
  ] as const) {
    writeFileSync(join(facts.root, "proc/77/cmdline"), words);
    t.match(await wrong(facts), [{ message: `port 6443 (API server) is taken by ${called} (process 77)` }]);
  }
  mkdirSync(facts.dataDir);
  writeFileSync(join(facts.dataDir, "lock"), "77\n");
  t.same(await wrong(facts), []);
});

t.test("checkBox() names a port whose owner cannot be seen, and how to see it", async (t) => {
  t.match(await wrong(box(t, { "proc/net/tcp": `${header}\n${listener}\n` })), [
    {
      name: "port-6443",
      status: "fail",
      message: /is taken by a process that cannot be seen from here/,
      fix: /ss -ltnp/,
    },
  ]);
});

t.test("checkCommand() looks at this very box and finds a port of our own taken", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const said: string[] = [];
  const settings = { "data-dir": tmpdir(), "https-port": port, "kubelet-port": 0, output: "json" };
  t.equal(await checkCommand(settings, (line) => said.push(line), call), false);
  const { findings } = JSON.parse(said.join("\n")) as { findings: { name: string; message: string }[] };
  t.match(
    findings.find(({ name }) => name === `port-${port}`)?.message,
    new RegExp(`taken by .* \\(process ${process.pid}\\)`),
  );
});
