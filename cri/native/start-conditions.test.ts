// runtimes: node
// (Each case takes something away from a process of its own; how that is started is Node's.)
// The native runtime on a host where no container can be created, on a real kernel.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { StatusRequest } from "../api/gen/runtime.js";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { startNative, withoutNative } from "../../test/harness/native.ts";

const skip = withoutNative();
const program = join(import.meta.dirname, "../../test/fixtures/native-status.ts");

function folder(t: { teardown(then: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-conditions-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function readiness(shell: string, dir: string): { status: boolean; reason: string; message: string } {
  const command = `${shell} exec "$0" --disable-warning=ExperimentalWarning "$@"`;
  const printed = execFileSync("unshare", ["-m", "sh", "-ec", command, process.execPath, program, dir], {
    encoding: "utf8",
  });
  const conditions = JSON.parse(printed.trim().split("\n").at(-1) ?? "") as { type: string }[];
  return conditions.find(({ type }) => type === "RuntimeReady") as never;
}

t.test("the runtime is not ready where no container can be created, and says why", { skip }, async (t) => {
  t.match(readiness("", folder(t)), { status: true, reason: "", message: "" });
  t.match(readiness("umount -R /sys/fs/cgroup;", folder(t)), {
    status: false,
    reason: "CgroupsNotMounted",
    message: /^no control groups are mounted at \/sys\/fs\/cgroup/,
  });

  const dir = folder(t);
  for (const name of ["lower", "upper", "work", "data"]) mkdirSync(join(dir, name));
  // The kernel takes no overlay file system for the writable part of another one.
  const options = ["lower", "upper", "work"].map((name) => `${name}dir=${join(dir, name)}`).join();
  t.match(readiness(`mount -t overlay overlay -o ${options} ${join(dir, "data")};`, join(dir, "data")), {
    status: false,
    reason: "OverlayNotAvailable",
    message: /^cannot mount an overlay file system below .*: /,
  });
});

t.test("the runtime is not ready while its OCI runtime is missing", { skip }, async (t) => {
  const dir = folder(t);
  const copy = join(dir, "runc");
  const [runc = ""] = execFileSync("sh", ["-c", "command -v runc || command -v crun"], { encoding: "utf8" }).split(
    "\n",
  );
  const install = () => {
    copyFileSync(runc, copy);
    chmodSync(copy, 0o755);
  };
  install();
  const native = await startNative(t, { changes: { ociRuntime: copy } });
  const { runtime } = native.current();
  const ready = async () => {
    const { status } = await runtime.status(StatusRequest.create({}), uninterrupted);
    return status?.conditions.find(({ type }) => type === "RuntimeReady");
  };
  t.match(await ready(), { status: true });
  rmSync(copy);
  t.match(await ready(), { status: false, reason: "ProgramMissing", message: `cannot run ${copy}: ENOENT` });
  install();
  t.match(await ready(), { status: true });
});
