// Skiff on the kernel and the system that its users have: a whole Debian machine with cgroup v2, AppArmor and systemd, an
// installation there, limits that the kernel keeps, profiles that it enforces, VLANs, volumes of an NFS server and an iSCSI target,
// a reboot, power that is pulled while it writes, and an uninstall.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImageName } from "../harness/images.ts";
import { installationState, leavesNothing, unpackRelease } from "../harness/installation.ts";
import { until } from "../harness/until.ts";
import { bootMachine, noVirtualMachine, type VirtualMachine } from "../harness/virtual-machine.ts";

/** An emulated processor takes its time. */
const patienceMs = 400_000;
const skip =
  process.env["SKIFF_LONG"] === "1" ? noVirtualMachine() : "takes a quarter of an hour and more (npm run test:long)";

/** Packs the release and unpacks it inside. */
async function bringRelease(machine: VirtualMachine): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "skiff-release-"));
  try {
    await unpackRelease(scratch);
    await machine.put("/srv/release.tar", execFileSync("tar", ["-C", scratch, "-c", "."], { maxBuffer: 1 << 30 }));
    await machine.run("tar", "-C", "/srv", "-xf", "/srv/release.tar");
    const kubectl = execFileSync("sh", ["-c", 'readlink -f "$(command -v kubectl)"'], { encoding: "utf8" }).trim();
    await machine.put("/srv/kubectl", readFileSync(kubectl));
    await machine.run("chmod", "+x", "/srv/kubectl");
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function pod(name: string, script: string, more: { container?: object; spec?: object } = {}): object {
  const command = ["sh", "-c", script];
  const container = { name: "c", image: busyboxImageName, imagePullPolicy: "Never", command, ...more.container };
  const spec = { terminationGracePeriodSeconds: 5, containers: [container], ...more.spec };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

const sleeps = "sleep 100000 & wait";
const profile = (appArmorProfile: object) => ({ container: { securityContext: { appArmorProfile } } });
const tellProfile = `cat /proc/self/attr/current; ${sleeps}`;
const ownProfile = "profile skiff-test flags=(attach_disconnected) { file, signal, deny /etc/hostname r, }";

/** An NFS share, and an iSCSI disk that wants a password. */
const storageServers = `set -e
systemctl start nfs-server tgt
mkdir -p /srv/share && chmod 777 /srv/share && echo from the server >/srv/share/note
exportfs -o rw,no_root_squash,insecure,fsid=1 127.0.0.1:/srv/share
truncate -s 64M /srv/disk.img
tgt() { tgtadm --lld iscsi --mode "$@"; }
tgt target --op new --tid 1 -T iqn.2026-11.test:disk
tgt logicalunit --op new --tid 1 --lun 1 -b /srv/disk.img
tgt account --op new --user me --password a-long-password
tgt account --op bind --tid 1 --user me
tgt target --op bind --tid 1 -I ALL`;
/** Nothing is refused: it is as if the server had no power. */
const cutShare = `nft -f - <<END
add table inet cut
add chain inet cut in { type filter hook input priority 0; }
add rule inet cut in tcp dport 2049 drop
add rule inet cut in tcp sport 2049 drop
END`;
const chap = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "chap" },
  stringData: { "node.session.auth.username": "me", "node.session.auth.password": "a-long-password" },
};
const iscsi = { targetPortal: "127.0.0.1", iqn: "iqn.2026-11.test:disk", lun: 1, chapAuthSession: true };

/** Makes config maps as quickly as it can, and tells each name once the server has acknowledged it. */
const writer = `
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
const text = readFileSync("/var/lib/skiff/admin.kubeconfig", "utf8");
const field = (name) => Buffer.from(new RegExp(name + '"?: *"?([A-Za-z0-9+/=]+)').exec(text)[1], "base64");
const agent = new Agent({
  keepAlive: true, ca: field("certificate-authority-data"), cert: field("client-certificate-data"), key: field("client-key-data"),
});
const path = "/api/v1/namespaces/default/configmaps";
const create = (name) => new Promise((resolve, reject) => {
  const call = request({ host: "127.0.0.1", port: 6443, path, method: "POST", agent, headers: { "content-type": "application/json" } }, (answer) => {
    answer.resume().on("end", () => (answer.statusCode === 201 ? resolve() : reject(new Error(answer.statusCode))));
  });
  call.on("error", reject).end(JSON.stringify({ metadata: { name }, data: { filler: "x".repeat(500) } }));
});
const worker = async (which) => {
  for (let count = 0; ; count++) {
    const name = [process.argv[2], which, count].join("-");
    await create(name);
    console.log(name);
  }
};
await Promise.all(Array.from({ length: 8 }, (_, which) => worker(which)));
`;

t.test("Skiff on a Debian machine", { skip: skip ?? false, timeout: 7_200_000 }, async (t) => {
  const machine = await bootMachine();
  t.teardown(() => machine.remove());
  const kubectl = (...args: string[]) =>
    machine.run("/srv/kubectl", "--cache-dir=/srv/cache", "--kubeconfig", "/var/lib/skiff/admin.kubeconfig", ...args);
  const apply = async (...objects: object[]) => {
    await machine.put("/srv/objects.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    await kubectl("apply", "-f", "/srv/objects.json");
  };
  const field = (name: string, path: string) => kubectl("get", "pod", name, "-o", `jsonpath={${path}}`);
  const isReady = (...names: string[]) => {
    const pods = names.map((name) => `pod/${name}`);
    return until(
      "pods to be ready",
      () => kubectl("wait", ...pods, "--for=condition=Ready", "--timeout=5s"),
      patienceMs,
    );
  };
  /** What the kernel was told for the pod, and for its container. */
  const limits = async (name: string, file: string) => {
    const uid = await field(name, ".metadata.uid");
    const script = 'cd $(find /sys/fs/cgroup/skiff -name "pod$1") && cat "$2" */"$2"';
    const [ofPod, ofContainer] = (await machine.run("sh", "-c", script, "sh", uid, file)).trim().split("\n");
    return { ofPod, ofContainer };
  };

  const before = await installationState(machine);
  t.equal((await machine.run("stat", "-fc", "%T", "/sys/fs/cgroup")).trim(), "cgroup2fs");
  t.match(await machine.run("cat", "/sys/kernel/security/lsm"), /apparmor/);
  await bringRelease(machine);

  await t.test("install.sh installs and starts it", async () => {
    await machine.run("sh", "/srv/skiff/install.sh");
    await until("the node", async () => /machine +Ready/.test(await machine.run("skiff", "status")), patienceMs);
    await until(
      "the image",
      async () => /imported images/.test(await machine.run("journalctl", "-u", "skiff", "--no-pager")),
      patienceMs,
    );
  });

  if (!t.passing()) return;
  await t.test("the kernel keeps the limits of pods by cgroup v2", async (t) => {
    const resources = { limits: { memory: "64Mi", cpu: "200m" }, requests: { memory: "32Mi", cpu: "100m" } };
    const small = { container: { resources: { limits: { memory: "32Mi" } } }, spec: { restartPolicy: "Never" } };
    await apply(pod("limited", sleeps, { container: { resources } }), pod("greedy", "tail /dev/zero", small));
    await isReady("limited");
    t.same(await limits("limited", "memory.max"), { ofPod: "67108864", ofContainer: "67108864" });
    t.same(await limits("limited", "cpu.max"), { ofPod: "20000 100000", ofContainer: "20000 100000" });
    t.equal((await limits("limited", "memory.oom.group")).ofContainer, "1", "a container dies as a whole");
    t.equal((await limits("limited", "memory.swap.max")).ofContainer, "0", "and does not swap");
    const reason = () => field("greedy", ".status.containerStatuses[0].state.terminated.reason");
    await until("the greedy one to be ended", async () => (await reason()) !== "", patienceMs);
    t.equal(await reason(), "OOMKilled");

    const more = { limits: { memory: "80Mi", cpu: "300m" }, requests: { memory: "40Mi", cpu: "150m" } };
    const patch = JSON.stringify({ spec: { containers: [{ name: "c", resources: more }] } });
    await kubectl("patch", "pod", "limited", "--subresource", "resize", "-p", patch);
    const resized = async () =>
      (await field("limited", ".status.containerStatuses[0].resources.limits.cpu")) === "300m";
    await until("the resize", resized, patienceMs);
    t.same(await limits("limited", "memory.max"), { ofPod: "83886080", ofContainer: "83886080" });
    t.same(await limits("limited", "cpu.max"), { ofPod: "30000 100000", ofContainer: "30000 100000" });
    t.equal(await field("limited", ".status.containerStatuses[0].restartCount"), "0");
    const metrics = await kubectl("get", "--raw", "/api/v1/nodes/machine/proxy/metrics/cadvisor");
    t.match(metrics, /container_pressure_memory_waiting_seconds_total\{container="c",.*pod="limited"/);
  });

  if (!t.passing()) return;
  await t.test("AppArmor profiles are in force", async (t) => {
    await machine.put("/srv/own-profile", ownProfile);
    await machine.run("apparmor_parser", "-r", "-K", "/srv/own-profile");
    await apply(
      pod("plain", tellProfile),
      pod("runtime", tellProfile, profile({ type: "RuntimeDefault" })),
      pod("unconfined", tellProfile, profile({ type: "Unconfined" })),
      pod("own", `cat /etc/hostname; ${tellProfile}`, profile({ type: "Localhost", localhostProfile: "skiff-test" })),
      pod("missing", sleeps, profile({ type: "Localhost", localhostProfile: "not-there" })),
    );
    await isReady("plain", "runtime", "unconfined", "own");
    t.match(await kubectl("logs", "plain"), /^skiff-default \(enforce\)/);
    t.match(await kubectl("logs", "runtime"), /^skiff-default \(enforce\)/);
    t.match(await kubectl("logs", "unconfined"), /^unconfined/);
    t.match(await kubectl("logs", "own"), /Permission denied.*skiff-test \(enforce\)/s);
    const waiting = await until(
      "the refusal",
      () => field("missing", ".status.containerStatuses[0].state.waiting.message"),
      patienceMs,
    );
    t.match(waiting, /AppArmor profile "not-there": it is not loaded/);
    await kubectl("delete", "pod", "runtime", "unconfined", "own", "missing", "greedy");
    await machine.run("apparmor_parser", "-R", "/srv/own-profile");
  });

  if (!t.passing()) return;
  await t.test("bridges keep VLANs apart", async (t) => {
    const node = "/opt/skiff/runtime/node --disable-warning=ExperimentalWarning";
    const said = await machine.run("sh", "-c", `cd /srv/checkout && ${node} cni/invoke/bridge-vlans.test.ts`);
    t.match(said, /^ +ok \d+ - pods of one VLAN .* # time=/m);
    t.match(said, /^ +ok \d+ - a trunk .* # time=/m);
  });

  if (!t.passing()) return;
  await t.test("systemctl reboot gives pods their grace, and they come back", async (t) => {
    const volumes = [{ name: "kept", hostPath: { path: "/srv/kept", type: "DirectoryOrCreate" } }];
    const container = { volumeMounts: [{ name: "kept", mountPath: "/kept" }] };
    const script = "trap 'sleep 2; echo ended in order >>/kept/told; exit' TERM; sleep 100000 & wait";
    await apply(pod("graceful", script, { container, spec: { terminationGracePeriodSeconds: 20, volumes } }));
    await isReady("graceful");
    await machine.reboot();
    t.equal(await machine.run("cat", "/srv/kept/told"), "ended in order\n");
    await isReady("graceful", "plain", "limited");
    t.equal((await limits("limited", "memory.max")).ofContainer, "83886080", "also what was resized");
  });

  if (!t.passing()) return;
  await t.test("what was acknowledged is there after the power was cut", async (t) => {
    await machine.put("/srv/writer.mjs", writer);
    for (const round of ["first", "second"]) {
      const storm = machine.start("/opt/skiff/runtime/node", "/srv/writer.mjs", round);
      const acknowledged = () =>
        storm
          .output()
          .split("\n")
          .slice(0, -1)
          .filter((line) => line.startsWith(round));
      await until("writes", () => acknowledged().length > 300, patienceMs);
      await machine.cutPower();
      await storm.ended;
      await machine.powerOn();
      await isReady("plain");
      const present = new Set((await kubectl("get", "configmaps", "-o", "name")).split("\n"));
      t.same(
        acknowledged().filter((name) => !present.has(`configmap/${name}`)),
        [],
        `${acknowledged().length} writes`,
      );
    }
    t.match(await machine.run("skiff", "status"), /machine +Ready/);
  });

  if (!t.passing()) return;
  await t.test("skiff uninstall leaves the machine as it was", async (t) => {
    await machine.run("skiff", "uninstall", "--yes");
    await leavesNothing(t, machine, before);
  });

  if (!t.passing()) return;
  await t.test("a share of an NFS server and a disk of an iSCSI target come, are shared, and go", async (t) => {
    // After everything else: the servers leave traces of their own.
    await machine.run("sh", "/srv/skiff/install.sh");
    await machine.run("sh", "-c", storageServers);
    const mounts = (...more: object[]) => ({ volumeMounts: [{ name: "v", mountPath: "/v" }, ...more] });
    const share = { spec: { volumes: [{ name: "v", nfs: { server: "127.0.0.1", path: "/srv/share" } }] } };
    const below = mounts({ name: "v", mountPath: "/below", subPath: "below" });
    const disk = {
      container: mounts(),
      spec: {
        securityContext: { fsGroup: 2000 },
        volumes: [{ name: "v", iscsi: { ...iscsi, secretRef: { name: "chap" } } }],
      },
    };
    await apply(
      chap,
      pod("share", `cat /v/note; echo from the pod >/below/answer; ${sleeps}`, { container: below, ...share }),
      pod("disk", `echo one >>/v/log; ${sleeps}`, disk),
    );
    await isReady("share", "disk");
    t.equal(await kubectl("logs", "share"), "from the server\n");
    t.equal(await machine.run("cat", "/srv/share/below/answer"), "from the pod\n");
    // The scheduler would keep two pods from one disk.
    const beside = { ...disk, spec: { ...disk.spec, nodeName: "machine" } };
    await apply(pod("second", `cat /v/log; ls -ldn /v; ${sleeps}`, beside));
    await isReady("second");
    t.match(
      await kubectl("logs", "second"),
      /^one\ndrwxrwsr-x .* 2000 /,
      "both see one file system, which is the group's",
    );
    const sessions = (await machine.run("iscsiadm", "-m", "session")).trim().split("\n");
    t.equal(sessions.length, 1, "one session for both");

    await machine.run("systemctl", "kill", "-s", "KILL", "skiff");
    await machine.run("sh", "-c", cutShare);
    const restarts = () => field("share", ".status.containerStatuses[0].state.waiting.reason");
    await until("Skiff to be back", () => kubectl("get", "pod", "share"), patienceMs);
    await machine.run("pkill", "-9", "-f", "^sh -c cat /v/note");
    await until("the container that cannot start again", async () => (await restarts()) !== "", patienceMs);
    const summary = await kubectl("get", "--raw", "/api/v1/nodes/machine/proxy/stats/summary");
    t.match(summary, /"name": *"disk"/, "a server that is gone holds up nobody else");
    await kubectl("delete", "pod", "share", "disk", "second", "--timeout=300s");
    t.notMatch(await machine.run("mount"), / type nfs4 |^\/dev\/sd/m);
    await t.rejects(machine.run("iscsiadm", "-m", "session"), /No active sessions/);
  });
});
