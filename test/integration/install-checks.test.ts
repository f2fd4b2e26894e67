// Each thing that install.sh looks at before it changes anything, gone wrong one at a time: a box of its own mount and network
// namespace, where the kernel's files and the programs asked are stand-ins and whatever is written can be seen.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";

const project = join(import.meta.dirname, "../..");

/** What install.sh asks of other programs. Here they say what is well unless the environment says otherwise. */
const programs: Record<string, string> = {
  uname: 'case $1 in -s) echo "${SYSTEM:-Linux}" ;; -m) echo "${MACHINE:-x86_64}" ;; *) echo of-no-release ;; esac',
  getconf: 'echo "${BITS:-64}"',
  id: 'echo "${USER_ID:-0}"',
  date: 'case $2 in +%Y) echo "${TODAY:-2026-11-16}" | cut -c 1-4 ;; *) echo "${TODAY:-2026-11-16}" ;; esac',
  modprobe: "exit 1",
  nft: "exit 1",
  systemctl: '[ "$1" != is-active ] || { echo "${SERVICE:-inactive}"; exit 3; }; echo "systemctl $*"',
};

// Everything is well in this box; then $spoil; then the installation, and a list of all that it wrote.
const script = `
set -e
folder=$1 spoil=$2
shift 2
mkdir "$folder/memory"
mount -t tmpfs tmpfs "$folder/memory"
cd "$folder/memory"
for written in /etc /opt /usr/local /var/lib; do
  mkdir -p "upper$written" "work$written"
  mount -t overlay -o "lowerdir=$written,upperdir=$PWD/upper$written,workdir=$PWD/work$written" overlay "$written"
done
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/module
mkdir /sys/module/nf_tables
printf 'nodev\\ttmpfs\\nnodev\\toverlay\\n' >filesystems
printf '#subsys_name\\thierarchy\\tnum_cgroups\\tenabled\\nmemory\\t4\\t1\\t1\\n' >cgroups
mount --bind filesystems /proc/filesystems
mount --bind cgroups /proc/cgroups
PATH=$folder/programs:$PATH
export PATH
eval "$spoil"
list() { find upper \${DESTDIR:-} -type f -printf '%p changed %C@\\n' -o -type l -printf '%p made %C@\\n'; }
list >before
status=0
sh "$folder/source/install.sh" "$@" 2>&1 || status=$?
[ -z "\${listener:-}" ] || kill "$listener"
echo "status $status"
list | grep -vxFf before | sed 's/^/wrote /; s/ [a-z]* [0-9.]*$//' || true
`;

// In this box's own network, which has no other listener.
const listen = (port: number) =>
  `socat -u TCP-LISTEN:${port} /dev/null & listener=$!; until grep -q ' 0A ' /proc/net/tcp; do sleep 0.05; done`;

const cannot =
  process.getuid?.() !== 0
    ? "namespaces and mounts need root"
    : spawnSync("socat", ["-V"]).status !== 0 && "there is no socat to take a port";

function installIn(t: Test, spoil: string, args: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "skiff-install-checks-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "source"));
  mkdirSync(join(folder, "programs"));
  cpSync(join(project, "install.sh"), join(folder, "source/install.sh"));
  const program = (path: string, text: string) => {
    writeFileSync(join(folder, path), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, path), 0o755);
  };
  program("source/skiff", 'echo "skiff $*"');
  for (const [name, text] of Object.entries(programs)) program(join("programs", name), text);
  const { stdout, stderr } = spawnSync("unshare", ["-m", "-n", "sh", "-c", script, "sh", folder, spoil, ...args], {
    encoding: "utf8",
  });
  const lines = `${stdout}${stderr}`.split("\n");
  const isWritten = (line: string) => line.startsWith("wrote ");
  return {
    said: lines.filter((line) => !isWritten(line)).join("\n"),
    written: lines.filter(isWritten).map((line) => line.replace(/^wrote (upper)?/, "")),
  };
}

t.test("install.sh installs where all is well", { skip: cannot }, async (t) => {
  const { said, written } = installIn(t, "", []);
  t.match(said, /skiff setup run\n.*systemctl daemon-reload\n.*systemctl enable.*systemctl restart.*status 0/s);
  t.notMatch(said, /problem|fix:/);
  const expected = ["/etc/skiff/config.yaml", "/etc/systemd/system/skiff.service", "/opt/skiff/skiff"];
  for (const path of [...expected, "/usr/local/bin/skiff"]) t.ok(written.includes(path), path);
});

const memoryOff = "printf 'memory\\t0\\t1\\t0\\n' >cgroups";
const fullDisk = "mkdir small; mount -t tmpfs -o size=100m tmpfs small; export DESTDIR=$PWD/small";

const provoked: { what: string; spoil: string; args?: string[]; message: RegExp; fix: RegExp }[] = [
  {
    what: "another system than Linux",
    spoil: "export SYSTEM=FreeBSD",
    message: /install: this is FreeBSD, and a Kubernetes node needs Linux/,
    fix: /Linux VM/,
  },
  {
    what: "a 32-bit machine",
    spoil: "export MACHINE=armv7l",
    message: /install: this is a armv7l machine, and no current Node exists for it/,
    fix: /64-bit x86 or ARM/,
  },
  {
    what: "a 32-bit system on a 64-bit kernel",
    spoil: "export MACHINE=aarch64 BITS=32",
    message: /install: this system's programs are 32-bit/,
    fix: /64-bit Raspberry Pi OS/,
  },
  {
    what: "somebody who is not root",
    spoil: "export USER_ID=1000",
    message: /install: installing needs root/,
    fix: /sudo .*install\.sh/,
  },
  {
    what: "no systemd",
    spoil: "rmdir /run/systemd/system",
    message: /problem: systemd does not run here/,
    fix: /run .*skiff up by hand/,
  },
  {
    what: "a clock before its time",
    spoil: "export TODAY=1970-01-01",
    message: /problem: the clock says 1970-01-01: certificates of servers and registries would be refused/,
    fix: /timedatectl set-ntp true/,
  },
  {
    what: "the memory cgroup off, version 1",
    spoil: memoryOff,
    message: /problem: the memory cgroup is off/,
    fix: /on a Pi add cgroup_enable=memory cgroup_memory=1 to \/boot\/firmware\/cmdline\.txt/,
  },
  {
    what: "the memory cgroup off, version 2",
    spoil: `${memoryOff}; echo cpu io pids >/sys/fs/cgroup/cgroup.controllers`,
    message: /problem: the memory cgroup is off/,
    fix: /cgroup_enable=memory/,
  },
  {
    what: "no overlay file systems",
    spoil: "printf 'nodev\\ttmpfs\\n' >filesystems",
    message: /problem: the kernel has no overlay file systems/,
    fix: /CONFIG_OVERLAY_FS/,
  },
  {
    what: "no nf_tables",
    spoil: "rmdir /sys/module/nf_tables",
    message: /problem: the kernel has no nf_tables, so there would be no services/,
    fix: /CONFIG_NF_TABLES/,
  },
  {
    what: "a full disk",
    spoil: fullDisk,
    message: /problem: only 100 MiB are free on the disk/,
    fix: /1024 MiB is the least/,
  },
  {
    what: "the API server's port taken",
    spoil: listen(6443),
    message: /problem: port 6443 is taken/,
    fix: /ss -ltnp sport = :6443; or --set https-port=<other>/,
  },
  {
    what: "the kubelet's port taken",
    spoil: listen(10250),
    args: ["agent"],
    message: /problem: port 10250 is taken/,
    fix: /ss -ltnp sport = :10250; or --set kubelet-port=<other>/,
  },
  {
    what: "a port that it was told to use taken",
    spoil: listen(7443),
    args: ["--set", "https-port=7443"],
    message: /problem: port 7443 is taken/,
    fix: /--set https-port=<other>/,
  },
  {
    what: "a port of the settings that are there taken",
    spoil: `mkdir -p /etc/skiff; echo 'kubelet-port: 7250' >/etc/skiff/config.yaml; ${listen(7250)}`,
    message: /problem: port 7250 is taken/,
    fix: /set kubelet-port in \/etc\/skiff\/config\.yaml/,
  },
];

for (const { what, spoil, args = [], message, fix } of provoked) {
  t.test(`install.sh names ${what}, and changes nothing`, { skip: cannot }, async (t) => {
    const { said, written } = installIn(t, spoil, args);
    t.match(said, message);
    t.match(said, fix);
    t.match(said, /^status 1$/m);
    t.equal([...said.matchAll(/^(problem|install): (?!nothing was changed)/gm)].length, 1, "and names nothing else");
    t.notMatch(said, /skiff setup|systemctl/, "nothing is set up or started");
    t.same(written, []);
  });
}

const unminded: { what: string; spoil: string; args: string[] }[] = [
  {
    what: "memory cgroup of version 2",
    spoil: `${memoryOff}; echo cpu memory >/sys/fs/cgroup/cgroup.controllers`,
    args: [],
  },
  { what: "server without what only pods need", spoil: `${memoryOff}; rmdir /sys/module/nf_tables`, args: ["server"] },
  { what: "server beside another kubelet", spoil: listen(10250), args: ["server"] },
  { what: "another port than the taken one", spoil: listen(6443), args: ["--set=https-port=7443"] },
  { what: "its own service has the port", spoil: `export SERVICE=activating; ${listen(6443)}`, args: [] },
  { what: "agent beside an API server", spoil: listen(6443), args: ["agent"] },
  { what: "--force, whatever is wrong", spoil: "export TODAY=1970-01-01", args: ["--force"] },
];

for (const { what, spoil, args } of unminded) {
  t.test(`install.sh goes on: ${what}`, { skip: cannot }, async (t) => {
    const { said, written } = installIn(t, spoil, args);
    t.match(said, /^status 0$/m, said);
    t.ok(written.includes("/etc/skiff/config.yaml"));
  });
}

t.test(
  "install.sh --dry-run names what is wrong and what it would do, and changes nothing",
  { skip: cannot },
  async (t) => {
    const { said, written } = installIn(t, `${memoryOff}; export USER_ID=1000`, ["--dry-run"]);
    t.match(said, /problem: the memory cgroup is off.*dry run: nothing is changed.*writing the service.*status 0/s);
    t.same(written, []);
  },
);
