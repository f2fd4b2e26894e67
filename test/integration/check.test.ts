// `skiff check` as it is called, in a box of its own mount and network namespace where everything that can be is wrong at once, and in
// one where nothing has to be mended: what it finds in the real places, its words, its JSON and its exit code.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";

const project = join(import.meta.dirname, "../..");
const program = process.versions["deno"]
  ? [process.execPath, "run", "-A", "--quiet", "skiff.ts"]
  : [process.execPath, "--disable-warning=ExperimentalWarning", "skiff.ts"];

// Files of the kernel are hidden behind others, programs taken away from a /usr that only this box sees; the disk is one in memory; the network is new, with no way out.
const wrong = `
hide() { # a path, which must not be that of the machine's own file
  case $(readlink -f "$1") in /usr/*) rm -f "$(readlink -f "$1")" ;; *) echo "cannot hide $1" >&2; exit 2 ;; esac
}
mount -t tmpfs tmpfs /sys/fs/cgroup
printf 'memory\\t0\\t1\\t0\\n' >cgroups
printf 'nodev\\ttmpfs\\n' >filesystems
printf 'Filename Type Size Used Priority\\n/var/swap file 102396 0 -2\\n' >swaps
echo 16 >instances
echo 4096 >watches
for pair in cgroups:cgroups filesystems:filesystems swaps:swaps instances:sys/fs/inotify/max_user_instances watches:sys/fs/inotify/max_user_watches; do
  mount --bind "\${pair%%:*}" "/proc/\${pair#*:}"
done
echo 0 >/proc/sys/net/ipv4/ip_forward
mkdir upper work
mount -t overlay -o "lowerdir=/usr,upperdir=$PWD/upper,workdir=$PWD/work" overlay /usr
for name in runc conmon nft; do hide "$(PATH=$PATH:/usr/sbin command -v $name)"; done
for library in $(PATH=$PATH:/usr/sbin ldconfig -p | awk '/libnftables/ { print $NF }'); do hide "$library"; done
mount -t tmpfs -o size=64m tmpfs data
socat -u TCP-LISTEN:6443 /dev/null & listener=$!
until grep -q ' 0A ' /proc/net/tcp; do sleep 0.05; done
`;

const right = `
mount -t tmpfs tmpfs /sys/fs/cgroup
echo cpu memory pids >/sys/fs/cgroup/cgroup.controllers
printf 'nodev\\toverlay\\n' >filesystems
mount --bind filesystems /proc/filesystems
mount -t tmpfs -o size=8g tmpfs data
listener=
`;

const script = `
set -e
folder=$1 setting=$2
shift 2
mkdir -p "$folder/memory/data"
mount -t tmpfs tmpfs "$folder/memory"
cd "$folder/memory"
mkdir data
ip link set lo up
eval "$setting"
cd "$OLDPWD"
status=0
"$@" --data-dir="$folder/memory/data" || status=$?
[ -z "$listener" ] || kill "$listener"
exit $status
`;

interface Report {
  readonly findings: readonly { readonly name: string; readonly status: string; message: string; fix: string }[];
}

function check(t: Test, setting: string, ...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "skiff-check-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const command = [...program, "check", "--runtime=native", "--config=/dev/null", ...flags];
  const { status, stdout, stderr } = spawnSync(
    "unshare",
    ["-m", "-n", "sh", "-c", script, "sh", folder, setting, ...command],
    { cwd: project, encoding: "utf8" },
  );
  return { status, stdout, stderr };
}

const missing = ["socat", "runc", "conmon", "nft"].filter(
  (name) => spawnSync("sh", ["-c", `PATH=$PATH:/usr/sbin command -v ${name}`]).status !== 0,
);
const cannot =
  process.getuid?.() !== 0
    ? "namespaces and mounts need root"
    : missing.length > 0 && `there is no ${missing.join(", ")}`;

const expected: Record<string, [status: string, message: RegExp, fix: RegExp]> = {
  "memory-cgroup": ["fail", /the memory cgroup is off/, /cgroup_enable=memory cgroup_memory=1/],
  overlay: ["warn", /no overlay file systems/, /modprobe overlay/],
  "ip-forwarding": ["warn", /IP forwarding is off/, /sysctl -w net\.ipv4\.ip_forward=1/],
  "inotify-max-user-instances": ["warn", /max_user_instances is 16/, /sysctl -w fs\.inotify\.max_user_instances=/],
  "inotify-max-user-watches": ["warn", /max_user_watches is 4096/, /sysctl -w fs\.inotify\.max_user_watches=/],
  network: ["fail", /nf_tables cannot be used, so there are no services/, /apt-get install nftables/],
  "default-route": ["warn", /there is no default route/, /node-ip/],
  swap: ["warn", /swap is on \(\/var\/swap\)/, /swapoff -a/],
  runc: ["fail", /runc is missing: it starts containers/, /apt-get install runc/],
  conmon: ["fail", /conmon is missing/, /apt-get install conmon/],
  "disk-room": ["fail", /the disk is full: only 0\.1 GiB of 0\.1 GiB/, /data-dir to a larger disk/],
  "port-6443": ["fail", /port 6443 \(API server\) is taken by socat \(process \d+\)/, /stop socat/],
};

t.test("skiff check finds what is wrong in the real places", { skip: cannot }, async (t) => {
  const { status, stdout, stderr } = check(t, wrong, "-o", "json");
  t.equal(status, 1, stderr);
  const { findings } = JSON.parse(stdout) as Report;
  for (const [name, [state, message, fix]] of Object.entries(expected))
    t.match(
      findings.find((one) => one.name === name),
      { status: state, message, fix },
      name,
    );
});

t.test("skiff check says it in lines, each with its fix", { skip: cannot }, async (t) => {
  const { status, stdout } = check(t, wrong);
  t.equal(status, 1);
  for (const [name, [state, message]] of Object.entries(expected)) {
    const line = stdout.split("\n").findIndex((text) => text.startsWith(`${state.padEnd(4)}  ${name}: `));
    t.match(stdout.split("\n")[line], message, name);
    t.match(stdout.split("\n")[line + 1], /^ {6}fix: /);
  }
  t.match(stdout, /\d+ ok, \d+ to mind, \d+ to mend\n$/);
});

t.test("skiff check ends well when nothing has to be mended", { skip: cannot }, async (t) => {
  const { status, stdout } = check(t, right);
  t.match(stdout, /\d+ ok, \d+ to mind, 0 to mend\n$/);
  t.equal(status, 0);
});
