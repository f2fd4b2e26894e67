import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { startSwapper } from "../../../test/harness/racer.ts";
import { libc } from "../kernel/libc.ts";
import { Spawner } from "../kernel/spawn.ts";
import { packChanges } from "./checkpoint-archive.ts";

const charDevice = 0o020000;
const skip =
  process.getuid?.() === 0 ? false : "device nodes, which overlayfs keeps in the place of deleted files, need root";

async function scene(t: { teardown(then: () => unknown): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-checkpoint-"));
  const spawner = await Spawner.open(join(root, "io.sock"));
  t.teardown(async () => {
    await spawner.close();
    rmSync(root, { recursive: true, force: true });
  });
  const [upper, folder, host] = ["upper", "frozen", "host"].map((name) => join(root, name)) as [string, string, string];
  for (const path of [join(upper, "data"), folder, host]) mkdirSync(path, { recursive: true });
  writeFileSync(join(upper, "data/key"), "the container's");
  writeFileSync(join(host, "key"), "the host's");
  return { upper, folder, host, spawner };
}

t.test("packChanges() keeps what was written, and names what was deleted", { skip }, async (t) => {
  const { upper, folder, spawner } = await scene(t);
  libc.mknod(join(upper, "data/gone"), charDevice, 0, 0);
  execFileSync("mkfifo", [join(upper, "fifo")]);
  await packChanges(spawner, { upper, folder }, call);
  t.same(JSON.parse(readFileSync(join(folder, "deleted.files"), "utf8")), ["data/gone"]);
  const names = execFileSync("tar", ["-tf", join(folder, "rootfs-diff.tar")], { encoding: "utf8" });
  t.same(names.trim().split("\n").sort(), ["./", "./data/", "./data/key", "./fifo"]);
});

t.test("packChanges() packs nothing from outside, whoever swaps links in", { skip }, async (t) => {
  const { upper, folder, host, spawner } = await scene(t);
  writeFileSync(join(upper, "file"), "the container's");
  await startSwapper(t, join(upper, "data"), host);
  await startSwapper(t, join(upper, "file"), join(host, "key"));
  let packed = 0;
  for (let round = 0; round < 60; round++) {
    // What is swapped while it is packed may end it.
    await packChanges(spawner, { upper, folder }, call).then(
      () => packed++,
      () => {},
    );
    if (readFileSync(join(folder, "rootfs-diff.tar")).includes("the host's")) t.fail("packed a file of the host");
  }
  t.pass(`${packed} of 60 were packed whole`);
});
