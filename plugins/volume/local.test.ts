import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../kit/base/call.ts";
import type { PersistentVolume, Pod, Volume } from "../kit/kube/objects/types.ts";
import { mountsBelow, unmount } from "../kit/os/platform/mount.ts";
import type { VolumeMountRequest } from "../kit/contracts/volume.ts";
import { local } from "./local.ts";

const dir = mkdtempSync(join(tmpdir(), "skiff-local-"));
const image = join(dir, "image");
writeFileSync(image, "");
truncateSync(image, 8 << 20);
const device = (() => {
  try {
    return execFileSync("losetup", ["-f", "--show", image], { stdio: ["ignore", "pipe", "ignore"] })
      .toString()
      .trim();
  } catch {
    return "";
  }
})();
t.teardown(() => {
  for (const path of mountsBelow(dir).reverse()) unmount(path);
  if (device) execFileSync("losetup", ["-d", device]);
  rmSync(dir, { recursive: true, force: true });
});
const skip = device === "" && "needs root and a loop device";

t.test("local: a block device is made ready once, bound into each pod, and let go by the last", { skip }, async (t) => {
  mkdirSync(join(dir, "pods"));
  const open = () => local.open({ stateDir: join(dir, "state") } as never, call);
  const request = (pod: string, more: Partial<VolumeMountRequest> = {}): VolumeMountRequest => ({
    pod: { metadata: { name: pod } } as Pod,
    volume: { name: "disk", local: { path: device } } as Volume,
    path: join(dir, "pods", pod),
    readOnly: false,
    ...more,
  });
  const first = await open();
  const one = request("one", { fsGroup: 2000 });
  await first.mount(one, call);
  await first.mount(one, call);
  t.equal(first.hostPath?.(one), one.path);
  writeFileSync(join(one.path, "note"), "kept");
  t.equal(statSync(one.path).gid, 2000);
  const two = request("two", { readOnly: true });
  await first.mount(two, call);
  t.equal(readFileSync(join(two.path, "note"), "utf8"), "kept", "both see one file system");
  t.throws(() => writeFileSync(join(two.path, "x"), ""), { code: "EROFS" });

  const later = await open();
  await later.unmount(one.path, call);
  t.equal(readFileSync(join(two.path, "note"), "utf8"), "kept");
  await later.unmount(two.path, call);
  await later.unmount(two.path, call);
  t.same(mountsBelow(dir), []);
  t.notOk(existsSync(two.path));

  const whole = { metadata: {}, spec: { volumeMode: "Block" } } as PersistentVolume;
  const raw = request("raw", { persistentVolume: whole });
  await later.mount(raw, call);
  t.equal(later.hostPath?.(raw), device, "a claim for the device itself gets it");
  await t.rejects(
    later.mount(request("other", { volume: { name: "disk", local: { path: device, fsType: "xfs" } } as Volume }), call),
    /it holds ext4, which is left as it is/,
  );
});
