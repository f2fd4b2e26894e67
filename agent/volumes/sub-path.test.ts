import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { mountsBelow, unmount } from "../../plugins/kit/os/platform/mount.ts";
import { withoutOpenat2 } from "../../plugins/kit/os/safe-files/calls.ts";
import { startSwapper } from "../../test/harness/racer.ts";
import { bindSubPath, removeBind } from "./sub-path.ts";

function scene(t: { teardown(then: () => void): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-sub-path-"));
  t.teardown(() => {
    for (const point of mountsBelow(root).reverse()) unmount(point);
    rmSync(root, { recursive: true, force: true });
  });
  mkdirSync(join(root, "host/sub"), { recursive: true });
  writeFileSync(join(root, "host/sub/secret"), "");
  mkdirSync(join(root, "volume/swapped/sub"), { recursive: true });
  return { root, volume: join(root, "volume"), host: join(root, "host"), target: join(root, "binds/0") };
}

for (const [name, using] of [
  ["openat2", <T>(work: () => T) => work()],
  ["steps", withoutOpenat2],
] as const) {
  t.test(`bindSubPath() by ${name} never binds what lies outside, whoever swaps links in`, async (t) => {
    const { volume, host, target } = scene(t);
    await startSwapper(t, join(volume, "swapped"), host);
    let bound = 0;
    for (let round = 0; round < 200; round++) {
      try {
        using(() => bindSubPath(volume, `swapped/sub${round % 2 ? "" : `/made-${round}`}`, target));
        bound++;
      } catch {
        continue; // it met the link
      }
      if (readdirSync(target).includes("secret")) t.fail("bound a directory of the host");
      removeBind(target);
    }
    t.same(readdirSync(join(host, "sub")), ["secret"], `nothing was made outside; ${bound} of 200 were bound`);
  });
}

t.test("bindSubPath() refuses an absolute link and leaves nothing", async (t) => {
  const { root, volume, target } = scene(t);
  symlinkSync("/", join(volume, "x"));
  t.throws(() => bindSubPath(volume, "x", target), { code: "forbidden" });
  t.throws(() => bindSubPath(volume, "x/etc", target), { code: "forbidden" });
  t.same(mountsBelow(root), []);
});
