// Mounts: both ways, read-only, files, and what propagates into and out of a container.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as cri from "../../../cri/api/gen/runtime.js";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import type { Workbench } from "./workbench.ts";

const { PROPAGATION_BIDIRECTIONAL, PROPAGATION_HOST_TO_CONTAINER, PROPAGATION_PRIVATE } = cri.MountPropagation;

export function mounts(t: Test, bench: Workbench): void {
  const skip = bench.lacks("kernel");
  const folder = () => {
    mkdirSync(join(bench.setup.dir, "volumes"), { recursive: true });
    return mkdtempSync(join(bench.setup.dir, "volumes", "v-"));
  };

  t.test("a folder is mounted for both to write", { skip }, async (t) => {
    const pod = await bench.pod();
    const hostPath = folder();
    writeFileSync(join(hostPath, "from-host"), "hello");
    const mounts = [{ hostPath, containerPath: "/data" }];
    const id = await bench.started(pod, { mounts });
    t.equal(await bench.sh(id, "cat /data/from-host; echo back > /data/from-container"), "hello");
    t.equal(readFileSync(join(hostPath, "from-container"), "utf8"), "back\n");
    t.match((await bench.status(id)).mounts, mounts);
    await bench.removePod(pod.id);
    t.equal(readFileSync(join(hostPath, "from-host"), "utf8"), "hello", "what was mounted stays");
  });

  t.test("read-only holds, for folders and single files", { skip }, async (t) => {
    const pod = await bench.pod();
    const hostPath = folder();
    writeFileSync(join(hostPath, "file"), "content");
    const mounts = [
      { hostPath, containerPath: "/ro", readonly: true },
      { hostPath: join(hostPath, "file"), containerPath: "/etc/config-file", readonly: true },
    ];
    const id = await bench.started(pod, { mounts });
    await t.rejects(bench.sh(id, "echo x > /ro/y"), /Read-only/);
    t.equal(await bench.sh(id, "cat /etc/config-file"), "content");
    await t.rejects(bench.sh(id, "echo x > /etc/config-file"), /Read-only/);
    await bench.removePod(pod.id);
  });

  t.test("a mount inside a mount, in any order of the list", { skip }, async (t) => {
    const pod = await bench.pod();
    const outer = folder();
    const inner = folder();
    mkdirSync(join(outer, "in"));
    writeFileSync(join(inner, "here"), "");
    const mounts = [
      { hostPath: inner, containerPath: "/data/in" },
      { hostPath: outer, containerPath: "/data" },
    ];
    const id = await bench.started(pod, { mounts });
    t.equal(await bench.sh(id, "ls /data/in"), "here");
    await bench.removePod(pod.id);
  });

  t.test("what the node mounts later is seen where it was asked for", { skip }, async (t) => {
    const pod = await bench.pod();
    const hostPath = shared(t, folder());
    const id = await bench.started(pod, {
      mounts: [
        { hostPath, containerPath: "/follows", propagation: PROPAGATION_HOST_TO_CONTAINER },
        { hostPath, containerPath: "/private", propagation: PROPAGATION_PRIVATE },
      ],
    });
    tmpfs(t, join(hostPath, "late"));
    writeFileSync(join(hostPath, "late", "file"), "");
    await until("the mount to be seen", () => bench.sh(id, "ls /follows/late").then((text) => text === "file"));
    t.equal(await bench.sh(id, "ls /private/late"), "");
    await bench.removePod(pod.id);
  });

  t.test("what a privileged container mounts is seen by the node where it was asked for", { skip }, async (t) => {
    const pod = await bench.pod({ linux: { securityContext: { privileged: true } } });
    const hostPath = shared(t, folder());
    const mounts = [{ hostPath, containerPath: "/out", propagation: PROPAGATION_BIDIRECTIONAL }];
    const linux = { securityContext: { privileged: true } };
    const id = await bench.started(pod, { mounts, linux });
    await bench.sh(id, "mkdir /out/new && mount -t tmpfs none /out/new && echo seen > /out/new/file");
    t.teardown(() => unmount(join(hostPath, "new")));
    t.equal(readFileSync(join(hostPath, "new", "file"), "utf8"), "seen\n");
    await bench.removePod(pod.id);
  });

  t.test(
    "read-only goes all the way down where asked",
    { skip: skip || bench.lacks("recursiveReadOnly") },
    async (t) => {
      const pod = await bench.pod();
      const hostPath = shared(t, folder());
      tmpfs(t, join(hostPath, "below"));
      const mounts = [{ hostPath, containerPath: "/ro", readonly: true, recursiveReadOnly: true }];
      const id = await bench.started(pod, { mounts });
      await t.rejects(bench.sh(id, "touch /ro/below/x"), /Read-only/);
      await bench.removePod(pod.id);
    },
  );

  t.test("an image is mounted as a volume", { skip: skip || bench.lacks("imageVolumes") }, async (t) => {
    const pod = await bench.pod();
    const mounts = [{ image: { image: bench.setup.images.namedUser }, containerPath: "/image", readonly: true }];
    const id = await bench.started(pod, { mounts });
    t.match(await bench.sh(id, "ls /image/bin/busybox"), "/image/bin/busybox");
    await t.rejects(bench.sh(id, "touch /image/x"), /Read-only/);
    await bench.removePod(pod.id);
  });

  t.test("a device is there with the given rights", { skip }, async (t) => {
    const pod = await bench.pod();
    const devices = [{ hostPath: "/dev/zero", containerPath: "/dev/nought", permissions: "rwm" }];
    const id = await bench.started(pod, { devices });
    t.equal(await bench.sh(id, "head -c 4 /dev/nought | wc -c"), "4");
    await bench.removePod(pod.id);
  });
}

type Cleanup = { teardown(then: () => void): void };

/** A mount point whose mounts propagate. */
function shared(t: Cleanup, path: string): string {
  execFileSync("mount", ["--bind", path, path]);
  execFileSync("mount", ["--make-rshared", path]);
  t.teardown(() => unmount(path));
  return path;
}

function tmpfs(t: Cleanup, path: string): void {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "none", path]);
  t.teardown(() => unmount(path));
}

function unmount(path: string): void {
  execFileSync("umount", ["-l", path], { stdio: "ignore" });
}
