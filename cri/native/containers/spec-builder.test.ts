import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  ContainerConfig,
  LinuxContainerSecurityContext,
  MountPropagation,
  SecurityProfile_ProfileType,
  Signal,
  SupplementalGroupsPolicy,
} from "../../api/gen/runtime.js";
import { allCapabilities, capabilitySets, hostCapabilities } from "../../api/capabilities.ts";
import { readInRoot } from "../../../plugins/kit/os/safe-files/regular-file.ts";
import type { HostFacts } from "./host-facts.ts";
import { resolveUser } from "./image-user.ts";
import { defaultSeccomp } from "./seccomp.ts";
import { buildSpec, type SpecInput } from "./spec-builder.ts";
import { stopSignalOf } from "./stop-signal.ts";

const host: HostFacts = {
  cgroupVersion: 2,
  controllers: new Set(["memory", "cpu", "cpuset", "hugetlb"]),
  capabilities: allCapabilities,
  lowestOomScoreAdj: -1000,
  maxOpenFiles: 1024,
  devices: () => [{ path: "/dev/host", type: "c", major: 9, minor: 9 }],
};

type Changes = Parameters<typeof ContainerConfig.create>[0];

function spec(changes: Changes = {}, more: Partial<SpecInput> = {}) {
  return buildSpec({
    config: ContainerConfig.create({ metadata: { name: "c" }, command: ["run"], ...changes }),
    image: { os: "linux", architecture: "amd64", rootfs: { diffIds: [] }, config: {} },
    identity: { uid: 0, gid: 0, groups: [0], home: "/root" },
    host,
    rootfs: "/r",
    cgroup: "/pods/c",
    hostname: "web-0",
    join: { network: "/ns/net", ipc: "/ns/ipc", uts: "/ns/uts" },
    own: ["pid"],
    sandboxFiles: { "/etc/hosts": "/s/hosts", "/etc/resolv.conf": "/s/resolv.conf" },
    shmPath: "/s/shm",
    ...more,
  });
}

t.test("buildSpec() takes command and arguments from CRI before the image's", async (t) => {
  const image = {
    os: "linux",
    architecture: "",
    rootfs: { diffIds: [] },
    config: { Entrypoint: ["entry"], Cmd: ["cmd"] },
  };
  const rows: [name: string, command: string[], args: string[], expected: string[]][] = [
    ["neither", [], [], ["entry", "cmd"]],
    ["args only", [], ["a"], ["entry", "a"]],
    ["command only", ["c"], [], ["c"]],
    ["both", ["c"], ["a"], ["c", "a"]],
  ];
  for (const [name, command, args, expected] of rows)
    t.same(spec({ command, args }, { image }).process.args, expected, name);
  t.throws(() => spec({ command: [] }), { code: "invalid", message: /names a command/ });
});

t.test("buildSpec() lays CRI's variables over the image's and fills in what is missing", async (t) => {
  const image = {
    os: "linux",
    architecture: "",
    rootfs: { diffIds: [] },
    config: { Env: ["A=image", "B=image", "PATH=/x"] },
  };
  const { env } = spec({ envs: [{ key: "B", value: "cri=1" }] }, { image }).process;
  t.same(env.toSorted(), ["A=image", "B=cri=1", "HOME=/root", "HOSTNAME=web-0", "PATH=/x"]);
  t.ok(spec({ tty: true }).process.env.includes("TERM=xterm"));
});

t.test("buildSpec() joins the sandbox's namespaces and makes its own of the rest", async (t) => {
  t.same(spec().linux.namespaces, [
    { type: "mount" },
    { type: "pid" },
    { type: "network", path: "/ns/net" },
    { type: "ipc", path: "/ns/ipc" },
    { type: "uts", path: "/ns/uts" },
  ]);
});

t.test("buildSpec() orders mounts by depth, and CRI's replace the sandbox's", async (t) => {
  const mounts = [
    { containerPath: "/data/deep/er", hostPath: "/b", readonly: true },
    { containerPath: "/data/", hostPath: "/a" },
    { containerPath: "/etc/hosts", hostPath: "/mine" },
    { containerPath: "/rro", hostPath: "/c", readonly: true, recursiveReadOnly: true },
    { containerPath: "/shared", hostPath: "/d", propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL },
  ];
  const built = spec({ mounts });
  const places = built.mounts.map(({ destination }) => destination);
  t.ok(places.indexOf("/data") < places.indexOf("/data/deep/er"));
  t.equal(places.filter((place) => place === "/etc/hosts").length, 1);
  const at = (place: string) => built.mounts.find(({ destination }) => destination === place);
  t.equal(at("/etc/hosts")?.source, "/mine");
  t.same(at("/data/deep/er")?.options, ["rbind", "rprivate", "ro"]);
  t.same(at("/rro")?.options, ["rbind", "rprivate", "rro"]);
  t.same(at("/shared")?.options, ["rbind", "rshared", "rw"]);
  t.equal(built.linux.rootfsPropagation, "rshared");
  t.throws(() => spec({ mounts: [{ containerPath: "rel", hostPath: "/a" }] }), { code: "invalid" });
  t.throws(() => spec({ mounts: [{ containerPath: "/../a", hostPath: "/a" }] }), { code: "invalid" });
  t.throws(() => spec({ mounts: [{ containerPath: "/a", hostPath: "/a", recursiveReadOnly: true }] }), {
    code: "invalid",
  });
});

t.test("buildSpec() gives a privileged container everything, and any other little", async (t) => {
  const security = (privileged: boolean) => ({
    linux: {
      securityContext: {
        privileged,
        maskedPaths: ["/proc/kcore"],
        seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
      },
    },
  });
  const free = spec(security(true));
  t.same(free.process.capabilities.bounding, allCapabilities);
  t.same(free.linux.devices, host.devices());
  t.same(free.linux.resources.devices, [{ allow: true, access: "rwm" }]);
  t.equal(free.linux.seccomp, undefined);
  t.equal(free.linux.maskedPaths, undefined);
  const bound = spec(security(false));
  t.notOk(bound.process.capabilities.bounding.includes("CAP_SYS_ADMIN"));
  t.same(bound.process.capabilities.inheritable, []);
  t.same(bound.linux.resources.devices, [{ allow: false, access: "rwm" }]);
  t.equal(bound.linux.seccomp?.defaultAction, "SCMP_ACT_ERRNO");
  t.same(bound.linux.maskedPaths, ["/proc/kcore"]);
});

t.test("buildSpec() never asks for an oom score below what the host allows", async (t) => {
  const score = (oomScoreAdj: bigint, lowestOomScoreAdj: number) =>
    spec({ linux: { resources: { oomScoreAdj } } }, { host: { ...host, lowestOomScoreAdj } }).process.oomScoreAdj;
  t.equal(score(-997n, -1000), -997);
  t.equal(score(-997n, 0), 0);
  t.equal(score(1000n, 0), 1000);
});

t.test("buildSpec() carries resources, unified keys only where the kernel has them", async (t) => {
  const resources = {
    cpuShares: 512n,
    cpuQuota: 50_000n,
    cpuPeriod: 100_000n,
    memoryLimitInBytes: 1n << 20n,
    cpusetCpus: "0",
    unified: { "memory.high": "9" },
  };
  const v2 = spec({ linux: { resources } }).linux.resources;
  t.match(v2, {
    cpu: { shares: 512, quota: 50_000, period: 100_000, cpus: "0" },
    memory: { limit: 1 << 20 },
    unified: { "memory.high": "9" },
  });
  t.equal(spec({ linux: { resources } }, { host: { ...host, cgroupVersion: 1 } }).linux.resources.unified, undefined);
});

t.test("buildSpec() leaves out limits whose controller the kernel lacks", async (t) => {
  const resources = {
    cpuShares: 512n,
    memoryLimitInBytes: 1n << 20n,
    cpusetCpus: "0",
    hugepageLimits: [{ pageSize: "2MB", limit: 0n }],
    unified: { "memory.high": "9", "cpu.idle": "1" },
  };
  const built = spec({ linux: { resources } }, { host: { ...host, controllers: new Set(["cpu"]) } });
  const { devices: _, ...limits } = built.linux.resources;
  t.same(limits, { cpu: { shares: 512 }, unified: { "cpu.idle": "1" } });
});

t.test("buildSpec() refuses devices that are none and AppArmor where there is none", async (t) => {
  t.throws(() => spec({ devices: [{ hostPath: "/etc/passwd", containerPath: "/dev/x", permissions: "r" }] }), {
    code: "invalid",
  });
  const built = spec({ devices: [{ hostPath: "/dev/null", containerPath: "/dev/x", permissions: "rw" }] });
  t.match(built.linux.devices, [{ path: "/dev/x", type: "c", major: 1, minor: 3 }]);
  t.match(built.linux.resources.devices?.[1], { allow: true, type: "c", major: 1, minor: 3, access: "rw" });
  const apparmor = { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: "localhost/p" };
  t.throws(() => spec({ linux: { securityContext: { apparmor } } }), { code: "unsupported" });
});

t.test("buildSpec() names the AppArmor profile that is asked for, else the host's default", async (t) => {
  const appArmor = { defaultProfile: "ours", isLoaded: (profile: string) => profile === "p" };
  const { Localhost, RuntimeDefault, Unconfined } = SecurityProfile_ProfileType;
  const localhost = (localhostRef: string) => ({ apparmor: { profileType: Localhost, localhostRef } });
  const profileOf = (securityContext: LinuxContainerSecurityContext | undefined, more: Partial<HostFacts>) =>
    spec({ linux: { securityContext } }, { host: { ...host, ...more } }).process.apparmorProfile;
  const security = (changes: Parameters<typeof LinuxContainerSecurityContext.create>[0]) =>
    LinuxContainerSecurityContext.create(changes);
  const rows: [name: string, LinuxContainerSecurityContext | undefined, expected: string | undefined][] = [
    ["nothing asked", undefined, "ours"],
    ["nothing asked, privileged", security({ privileged: true }), undefined],
    ["the default", security({ apparmor: { profileType: RuntimeDefault } }), "ours"],
    ["the default, privileged", security({ privileged: true, apparmor: { profileType: RuntimeDefault } }), "ours"],
    ["none", security({ apparmor: { profileType: Unconfined } }), undefined],
    ["one of the host", security(localhost("p")), "p"],
    ["one of the host, in the old form", security(localhost("localhost/p")), "p"],
  ];
  for (const [name, asked, expected] of rows) {
    t.equal(profileOf(asked, { appArmor }), expected, name);
    if (expected !== "p") t.equal(profileOf(asked, {}), undefined, `${name}, on a host without AppArmor`);
  }
  t.throws(() => profileOf(security(localhost("q")), { appArmor }), { code: "invalid", message: /not loaded/ });
});

t.test("capabilitySets() adds, drops and knows ALL", async (t) => {
  const sets = (add: string[], drop: string[], ambient: string[] = []) =>
    capabilitySets(
      { addCapabilities: add, dropCapabilities: drop, addAmbientCapabilities: ambient },
      false,
      allCapabilities,
    );
  t.ok(sets(["NET_ADMIN"], []).bounding.includes("CAP_NET_ADMIN"));
  t.ok(sets(["cap_net_admin"], []).bounding.includes("CAP_NET_ADMIN"));
  t.notOk(sets([], ["CHOWN"]).bounding.includes("CAP_CHOWN"));
  t.same(sets(["NET_BIND_SERVICE"], ["ALL"]).bounding, ["CAP_NET_BIND_SERVICE"]);
  t.same(
    sets(["ALL"], ["SYS_ADMIN"]).bounding,
    allCapabilities.filter((name) => name !== "CAP_SYS_ADMIN"),
  );
  t.same(sets([], [], ["NET_RAW"]).ambient, ["CAP_NET_RAW"]);
  t.throws(() => sets(["NO_SUCH"], []), { code: "invalid" });
  t.same(capabilitySets(undefined, true, ["CAP_CHOWN"]).bounding, ["CAP_CHOWN"], "never more than the host has");
  t.same(hostCapabilities("CapBnd:\t0000000000000005\n"), ["CAP_CHOWN", "CAP_DAC_READ_SEARCH"]);
});

t.test("defaultSeccomp() opens calls with the capability that guards them", async (t) => {
  const names = (capabilities: string[]) =>
    new Set(defaultSeccomp(capabilities, "x64").syscalls?.flatMap((rule) => rule.names));
  t.notOk(names([]).has("mount"));
  t.ok(names(["CAP_SYS_ADMIN"]).has("mount"));
  t.notOk(names([]).has("keyctl"));
  t.notOk(names(["CAP_SYS_ADMIN"]).has("kexec_load"));
  const clone = defaultSeccomp([], "x64").syscalls?.find((rule) => rule.names.includes("clone"));
  t.match(clone?.args, [{ index: 0, op: "SCMP_CMP_MASKED_EQ" }]);
  t.match(defaultSeccomp([], "arm64").architectures, ["SCMP_ARCH_AARCH64"]);
});

t.test("stopSignalOf() takes CRI's signal, then the image's, then SIGTERM", async (t) => {
  t.equal(stopSignalOf(Signal.SIGUSR1, "SIGINT"), 10);
  t.equal(stopSignalOf(Signal.RUNTIME_DEFAULT, "SIGINT"), 2);
  t.equal(stopSignalOf(Signal.RUNTIME_DEFAULT, "3"), 3);
  t.equal(stopSignalOf(Signal.RUNTIME_DEFAULT, "SIGRTMIN+3"), 37);
  t.equal(stopSignalOf(Signal.SIGRTMAXMINUS1, undefined), 63);
  t.equal(stopSignalOf(Signal.RUNTIME_DEFAULT, undefined), 15);
});

t.test("resolveUser() reads the image's own files, whatever they link to", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "skiff-user-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, "etc"));
  mkdirSync(join(root, "real"));
  writeFileSync(join(root, "real/passwd"), "root:x:0:0::/root:/bin/sh\nweb:x:1000:1001::/home/web:/bin/sh\n");
  writeFileSync(join(root, "etc/group"), "web:x:1001:\nextra:x:2000:web\nops:x:3000:root\n");
  symlinkSync("/real/passwd", join(root, "etc/passwd"));
  const wanted = { imageUser: "", supplementalGroups: [], policy: SupplementalGroupsPolicy.Merge };
  t.same(resolveUser(root, { ...wanted, imageUser: "web" }), {
    uid: 1000,
    gid: 1001,
    groups: [1001, 2000],
    home: "/home/web",
  });
  t.same(resolveUser(root, { ...wanted, imageUser: "1000:extra" }), {
    uid: 1000,
    gid: 2000,
    groups: [2000],
    home: "/home/web",
  });
  t.same(resolveUser(root, { ...wanted, runAsUser: 7, runAsGroup: 8, supplementalGroups: [9] }), {
    uid: 7,
    gid: 8,
    groups: [8, 9],
    home: "/",
  });
  const strict = { ...wanted, imageUser: "web", policy: SupplementalGroupsPolicy.Strict, supplementalGroups: [5] };
  t.same(resolveUser(root, strict).groups, [1001, 5]);
  t.same(resolveUser(root, { ...wanted, runAsUsername: "web" }).uid, 1000);
  t.throws(() => resolveUser(root, { ...wanted, imageUser: "ghost" }), { code: "invalid", message: /ghost/ });
  symlinkSync("../../../../../etc/hostname", join(root, "etc/out"));
  t.equal(readInRoot(root, "/etc/out", 1024), "", "a link that climbs out finds nothing of the host");
});
