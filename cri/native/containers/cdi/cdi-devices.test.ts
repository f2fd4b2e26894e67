import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { within } from "../../../../plugins/kit/base/call.ts";
import { busyboxImageName } from "../../../../test/harness/images.ts";
import { startNative, withoutNative } from "../../../../test/harness/native.ts";
import { until } from "../../../../test/harness/until.ts";
import * as cri from "../../../api/gen/runtime.js";
import type { OciSpec } from "../oci-spec.ts";
import { withCdiDevices } from "./cdi-devices.ts";

const plain: OciSpec = {
  ociVersion: "1.0.2",
  process: {
    terminal: false,
    user: { uid: 1000, gid: 1000, additionalGids: [5] },
    args: ["run"],
    env: ["A=image", "B=image"],
    cwd: "/",
    capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
    noNewPrivileges: true,
  },
  root: { path: "/r", readonly: false },
  mounts: [{ destination: "/proc" }, { destination: "/opt/vendor", source: "/other" }],
  linux: {
    namespaces: [],
    cgroupsPath: "/c",
    devices: [{ path: "/dev/cam0", type: "c", major: 9, minor: 9 }],
    resources: { devices: [{ allow: false, access: "rwm" }] },
  },
};

function folders(t: { teardown(run: () => unknown): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-cdi-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const [etc, run] = [join(dir, "etc"), join(dir, "run")];
  for (const folder of [etc, run]) mkdirSync(folder);
  const put = (folder: string, file: string, spec: unknown) =>
    writeFileSync(join(folder, file), typeof spec === "string" ? spec : JSON.stringify(spec));
  return { dir, etc, run, both: [etc, run], put };
}

const camera = (containerEdits: unknown, more: object = {}) => ({
  cdiVersion: "0.6.0",
  kind: "example.com/camera",
  devices: [{ name: "0", containerEdits }],
  ...more,
});

t.test("withCdiDevices() makes every kind of edit, the file's own once", async (t) => {
  const { etc, both, put } = folders(t);
  const device = {
    env: ["B=cdi", "CAMERA=0"],
    deviceNodes: [{ path: "/dev/cam0", hostPath: "/dev/null", permissions: "rw" }],
    mounts: [{ hostPath: "/usr/lib/vendor", containerPath: "/opt/vendor", options: ["ro", "nosuid"] }],
    additionalGids: [44, 0, 5],
  };
  const whole = {
    env: ["VENDOR=yes"],
    hooks: [{ hookName: "createContainer", path: "/usr/bin/hook", args: ["hook", "x"], timeout: 3 }],
  };
  put(etc, "camera.json", {
    ...camera(device, { containerEdits: whole }),
    devices: [{ name: "0", containerEdits: device }, { name: "1" }],
  });
  const names = ["example.com/camera=0", "example.com/camera=1", "example.com/camera=0"];
  const spec = withCdiDevices(plain, names, both);
  t.same(spec.process.env, ["A=image", "VENDOR=yes", "B=cdi", "CAMERA=0"]);
  t.same(spec.process.user.additionalGids, [5, 44]);
  t.match(spec.linux.devices, [{ path: "/dev/cam0", type: "c", major: 1, minor: 3, uid: 1000 }]);
  t.same(spec.linux.resources.devices?.[1], { allow: true, type: "c", major: 1, minor: 3, access: "rw" });
  t.same(spec.mounts.slice(1), [
    { destination: "/opt/vendor", source: "/usr/lib/vendor", type: "bind", options: ["rbind", "ro", "nosuid"] },
  ]);
  t.same(spec.hooks, { createContainer: [{ path: "/usr/bin/hook", args: ["hook", "x"], timeout: 3 }] });
  t.equal(withCdiDevices(plain, [], both), plain, "none asked for, none read");
});

t.test("withCdiDevices() takes a device from the later folder, and from YAML too", async (t) => {
  const { etc, run, both, put } = folders(t);
  put(etc, "camera.json", camera({ env: ["FROM=etc"] }));
  put(
    run,
    "camera.yaml",
    'cdiVersion: "0.5.0"\nkind: example.com/camera\ndevices:\n- name: "0"\n  containerEdits:\n    env: [FROM=run]\n',
  );
  t.ok(withCdiDevices(plain, ["example.com/camera=0"], both).process.env.includes("FROM=run"));
  put(run, "again.json", camera({ env: ["FROM=again"] }));
  t.throws(() => withCdiDevices(plain, ["example.com/camera=0"], both), { code: "conflict", message: /twice/ });
});

t.test("withCdiDevices() names what is missing or wrong", async (t) => {
  const rows: [name: string, spec: unknown, why: RegExp][] = [
    ["nothing", camera({}, { kind: "example.com/other" }), /no specification in .* has it/],
    ["kind", camera({}, { kind: "camera" }), /vendor\/class/],
    ["version", { kind: "example.com/camera", devices: [] }, /cdiVersion/],
    ["devices", camera({}, { devices: "all" }), /no devices/],
    ["name", camera({}, { devices: [{ name: "a b" }] }), /name/],
    ["env", camera({ env: ["A"] }), /NAME=value/],
    ["node", camera({ deviceNodes: [{ path: "dev/x" }] }), /absolute path/],
    ["mount", camera({ mounts: [{ hostPath: "/x" }] }), /containerPath/],
    ["hook", camera({ hooks: [{ hookName: "someday", path: "/x" }] }), /no hook "someday"/],
    ["edit", camera({ intelRdt: {} }), /intelRdt is not supported/],
    ["not YAML", "{", /Cannot read .*camera\.json/],
  ];
  for (const [name, spec, message] of rows) {
    const { etc, both, put } = folders(t);
    put(etc, "camera.json", spec);
    t.throws(() => withCdiDevices(plain, ["example.com/camera=0"], both), { code: "not-found", message }, name);
  }
  const { etc, both, put } = folders(t);
  put(etc, "broken.json", "{");
  put(etc, "camera.json", camera({ env: ["FINE=1"] }));
  t.ok(
    withCdiDevices(plain, ["example.com/camera=0"], both).process.env.includes("FINE=1"),
    "a wrong file spoils no other",
  );
  put(etc, "camera.json", camera({ deviceNodes: [{ path: "/dev/none-of-this-host" }] }));
  t.throws(() => withCdiDevices(plain, ["example.com/camera=0"], both), { code: "invalid", message: /not a device/ });
});

t.test("a container has its CDI device, and hooks run from first to last", { skip: withoutNative() }, async (t) => {
  const { dir, etc, both, put } = folders(t);
  const told = join(dir, "told");
  const hook = join(dir, "hook.sh");
  writeFileSync(hook, `#!/bin/sh\necho $1 >> ${told}\n`);
  chmodSync(hook, 0o755);
  mkdirSync(join(dir, "files"));
  writeFileSync(join(dir, "files", "driver"), "version 7");
  const moments = ["createRuntime", "poststart", "poststop"];
  put(
    etc,
    "camera.json",
    camera({
      env: ["CAMERA=zero"],
      deviceNodes: [{ path: "/dev/camera", hostPath: "/dev/zero" }],
      mounts: [{ hostPath: join(dir, "files"), containerPath: "/opt/camera", options: ["ro", "rbind"] }],
      hooks: moments.map((hookName) => ({ hookName, path: hook, args: ["hook", hookName] })),
    }),
  );
  const native = await startNative(t, { changes: { cdiFolders: both } });
  const { runtime } = native.current();
  const call = within(60_000);
  const own = { namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } };
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "cdi", uid: "cdi", namespace: "test", attempt: 0 },
    linux: { securityContext: own },
  });
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const create = (name: string) =>
    runtime.createContainer(
      cri.CreateContainerRequest.create({
        podSandboxId,
        sandboxConfig: config,
        config: {
          metadata: { name: "main", attempt: 0 },
          image: { image: busyboxImageName },
          command: ["sleep", "1000"],
          CDIDevices: [{ name }],
          linux: { securityContext: own },
        },
      }),
      call,
    );
  await t.rejects(create("example.com/camera=7"), { code: "not-found", message: /example.com\/camera=7/ });
  const { containerId } = await create("example.com/camera=0");
  await runtime.startContainer({ containerId }, call);
  const script = "echo $CAMERA; cat /opt/camera/driver; echo; head -c 3 /dev/camera | od -An -tx1";
  const cmd = ["sh", "-c", script];
  const { stdout } = await runtime.execSync(cri.ExecSyncRequest.create({ containerId, cmd, timeout: 30n }), call);
  t.equal(Buffer.from(stdout).toString(), "zero\nversion 7\n 00 00 00\n");
  await runtime.stopContainer({ containerId, timeout: 0n }, call);
  await until("the last hook", () => existsSync(told) && readFileSync(told, "utf8").includes("poststop"));
  await runtime.removeContainer({ containerId }, call);
  t.same(readFileSync(told, "utf8").trim().split("\n"), moments);
});
