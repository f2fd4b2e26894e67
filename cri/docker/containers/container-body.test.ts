import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { allCapabilities } from "../../api/capabilities.ts";
import * as cri from "../../api/gen/runtime.js";
import type { HostFacts } from "../docker.ts";
import { containerBody } from "./container-body.ts";

const host: HostFacts = {
  capabilities: allCapabilities,
  hasAllCapabilities: true,
  lowestOomScoreAdj: -1000,
  hasAppArmor: false,
};

type Config = Parameters<typeof cri.ContainerConfig.create>[0];

const bodyOf = (
  config: Config,
  changes: { host?: HostFacts; sandbox?: Config | object; knowsRecursive?: boolean } = {},
) =>
  containerBody({
    config: cri.ContainerConfig.create(config),
    sandboxId: "s",
    sandboxConfig: cri.PodSandboxConfig.create(changes.sandbox ?? {}),
    imageId: "sha256:1",
    labels: {},
    cgroupParent: "/pod",
    hasLog: true,
    host: changes.host ?? host,
    knowsRecursive: changes.knowsRecursive ?? false,
  });

const security = (securityContext: Parameters<typeof cri.LinuxContainerSecurityContext.create>[0]) => ({
  linux: { securityContext },
});

t.test("containerBody() keeps to CRI's command and argument rules", async (t) => {
  const told = bodyOf({ command: ["a"], args: ["b"] });
  t.match(told, { Entrypoint: ["a"], Cmd: ["b"] });
  const image = bodyOf({});
  t.notOk("Entrypoint" in image || "Cmd" in image, "the image's own");
});

t.test("containerBody() joins the pod's namespaces, or the node's, or another container's", async (t) => {
  const { POD, NODE, CONTAINER, TARGET } = cri.NamespaceMode;
  t.match(bodyOf(security({ namespaceOptions: { pid: CONTAINER } })).HostConfig, {
    NetworkMode: "container:s",
    IpcMode: "container:s",
    PidMode: "",
  });
  t.match(bodyOf(security({ namespaceOptions: { pid: POD } })).HostConfig, { PidMode: "container:s" });
  t.match(bodyOf(security({ namespaceOptions: { pid: TARGET, targetId: "t" } })).HostConfig, {
    PidMode: "container:t",
  });
  const sandbox = security({ namespaceOptions: { network: NODE, ipc: NODE, pid: NODE } });
  t.match(bodyOf(security({ namespaceOptions: { pid: NODE } }), { sandbox }).HostConfig, {
    NetworkMode: "host",
    UTSMode: "host",
    IpcMode: "host",
    PidMode: "host",
  });
});

t.test("containerBody() maps capabilities, privilege and what a host cannot give", async (t) => {
  t.match(bodyOf(security({ privileged: true })).HostConfig, { Privileged: true, CapAdd: [], CapDrop: [] });
  const poor = {
    ...host,
    capabilities: ["CAP_CHOWN", "CAP_SYS_ADMIN", "CAP_BPF"],
    hasAllCapabilities: false,
    lowestOomScoreAdj: 0,
  };
  const degraded = bodyOf(
    { linux: { securityContext: { privileged: true }, resources: { oomScoreAdj: -900 } } },
    { host: poor },
  );
  t.match(degraded.HostConfig, {
    Privileged: false,
    CapDrop: ["ALL"],
    CapAdd: ["CAP_CHOWN", "CAP_SYS_ADMIN"],
    DeviceCgroupRules: ["a *:* rwm"],
    SecurityOpt: ["seccomp=unconfined"],
    OomScoreAdj: 0,
  });
  t.same(
    bodyOf(security({ capabilities: { dropCapabilities: ["ALL"], addCapabilities: ["BPF"] } })).HostConfig.CapAdd,
    ["CAP_BPF"],
  );
});

t.test("containerBody() maps seccomp, no-new-privileges, users and groups", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-seccomp-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const localhostRef = join(dir, "profile.json");
  writeFileSync(localhostRef, '{ "defaultAction": "SCMP_ACT_ALLOW" }');
  const { Localhost, RuntimeDefault, Unconfined } = cri.SecurityProfile_ProfileType;
  const options = (profileType: cri.SecurityProfile_ProfileType, ref = "") =>
    bodyOf(security({ seccomp: { profileType, localhostRef: ref } })).HostConfig.SecurityOpt;
  t.same(options(RuntimeDefault), [], "the daemon's own");
  t.same(options(Unconfined), ["seccomp=unconfined"]);
  t.same(options(Localhost, localhostRef), ['seccomp={"defaultAction":"SCMP_ACT_ALLOW"}']);
  t.throws(() => options(Localhost, join(dir, "absent.json")), { code: "invalid" });
  const told = bodyOf(
    security({ runAsUser: { value: 5 }, runAsGroup: { value: 6 }, supplementalGroups: [7], noNewPrivs: true }),
  );
  t.match(told, {
    User: "5:6",
    HostConfig: { GroupAdd: ["7"], SecurityOpt: ["no-new-privileges", "seccomp=unconfined"] },
  });
  t.throws(() => bodyOf(security({ runAsGroup: { value: 6 } })), { code: "invalid" });
  const localhost = { profileType: Localhost, localhostRef: "localhost/x" };
  t.throws(() => bodyOf(security({ apparmor: localhost })), { code: "unsupported" });
});

t.test("containerBody() maps mounts, and refuses what the daemon cannot do", async (t) => {
  const mount = { hostPath: "/tmp", containerPath: "/data", readonly: true };
  const bidirectional = cri.MountPropagation.PROPAGATION_BIDIRECTIONAL;
  t.match(bodyOf({ mounts: [{ ...mount, propagation: bidirectional }] }).HostConfig.Mounts, [
    { Type: "bind", Source: "/tmp", Target: "/data", ReadOnly: true, BindOptions: { Propagation: "rshared" } },
  ]);
  const recursive = { mounts: [{ ...mount, recursiveReadOnly: true }] };
  t.throws(() => bodyOf(recursive), { code: "unsupported" });
  t.match(bodyOf(recursive, { knowsRecursive: true }).HostConfig.Mounts, [
    { BindOptions: { ReadOnlyForceRecursive: true } },
  ]);
  t.match(bodyOf({ mounts: [mount] }, { knowsRecursive: true }).HostConfig.Mounts, [
    { BindOptions: { ReadOnlyNonRecursive: true } },
  ]);
  t.throws(() => bodyOf({ mounts: [{ containerPath: "/x", image: { image: "y" } }] }), { code: "unsupported" });
  t.throws(() => bodyOf({ mounts: [{ hostPath: "data", containerPath: "/x" }] }), { code: "invalid" });
});

t.test("containerBody() gives no swap unless told, and names signals as the daemon does", async (t) => {
  const limited = bodyOf({ linux: { resources: { memoryLimitInBytes: 10, cpuQuota: -1 } } });
  t.match(limited.HostConfig, { Memory: 10, MemorySwap: 10, CpuQuota: -1 });
  t.match(bodyOf({ stopSignal: cri.Signal.SIGRTMINPLUS3 }), { StopSignal: "SIGRTMIN+3" });
  t.notOk("StopSignal" in bodyOf({}), "the image's own");
});
