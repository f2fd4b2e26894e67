// Sub paths of image volumes: an image is somebody else's, and its links must not lead to the host's files.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { mountsBelow } from "../../../plugins/kit/os/platform/mount.ts";
import { busyboxImage, busyboxImageName } from "../../../test/harness/images.ts";
import { startNative, type TestNative, withoutNative } from "../../../test/harness/native.ts";
import * as cri from "../../api/gen/runtime.js";

const content = "skiff.test/content:1";
const files = [
  { path: "data/sub/file", data: "the image's" },
  { path: "x", link: "/" },
  { path: "up", link: "../../../.." },
  { path: "etc-of-host", link: "/etc" },
  { path: "inside", link: "data/sub" },
];

async function sandboxOf({ current, dir }: TestNative) {
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "v", uid: "v", namespace: "test", attempt: 0 },
    logDirectory: join(dir, "logs"),
    linux: {},
  });
  const { podSandboxId } = await current().runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  return { config, podSandboxId };
}

t.test("the sub path of an image volume stays inside the image", { skip: withoutNative() ?? false }, async (t) => {
  const native = await startNative(t, { images: [busyboxImage(), busyboxImage({ name: content, files })] });
  const { runtime } = native.current();
  const { config: sandboxConfig, podSandboxId } = await sandboxOf(native);
  let attempt = 0;
  const start = async (imageSubPath: string) => {
    const mounts = [{ image: { image: content }, imageSubPath, containerPath: "/volume" }];
    const config = cri.ContainerConfig.create({
      metadata: { name: "c", attempt: ++attempt },
      image: { image: busyboxImageName },
      command: ["sleep", "1000"],
      logPath: `c-${attempt}.log`,
      mounts: mounts.map((mount) => cri.Mount.create(mount)),
      linux: {},
    });
    const request = cri.CreateContainerRequest.create({ podSandboxId, sandboxConfig, config });
    const { containerId } = await runtime.createContainer(request, call);
    await runtime.startContainer({ containerId }, call);
    return containerId;
  };
  const run = async (containerId: string, command: string) => {
    const request = cri.ExecSyncRequest.create({ containerId, cmd: ["sh", "-c", command], timeout: 20n });
    const { stdout, stderr } = await runtime.execSync(request, call);
    return `${stdout}${stderr}`.trim();
  };

  for (const [path, listing] of [
    ["data/sub", "file"],
    ["data", "sub"],
    ["inside", "file"],
  ] as const)
    t.equal(await run(await start(path), "ls /volume"), listing, path);
  const file = await start("data/sub/file");
  t.equal(await run(file, "cat /volume"), "the image's");
  t.match(await run(file, "echo x > /volume"), /Read-only/);
  t.match(await run(await start("data"), "touch /volume/x"), /Read-only/);

  for (const path of ["x", "x/etc", "up", "etc-of-host", "etc-of-host/passwd", "../..", "/etc", "data/../../.."])
    await t.rejects(start(path), { code: "invalid" }, path);
  await t.rejects(start("absent"), { code: "not-found" });

  await runtime.removePodSandbox({ podSandboxId }, call);
  t.same(
    mountsBelow(native.dir).filter((point) => point.includes("volume-")),
    [],
  );
  t.notOk(existsSync(join(native.dir, "containers")) && readdirSync(join(native.dir, "containers")).length > 0);
});
