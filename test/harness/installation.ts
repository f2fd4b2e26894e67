// What a test of an installation needs: the release as its archive holds it, and a look at everything it could leave behind.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Test } from "tap";
import { type Arch, fillRelease } from "../../release/contents.ts";
import { busyboxImage, imageArchive } from "./images.ts";
import { until } from "./until.ts";

const project = join(import.meta.dirname, "../..");
const run = promisify(execFile);

/** Where something is installed: a booted box, or a virtual machine. */
interface Box {
  run(...command: string[]): Promise<string>;
}

/** What the archive for this machine holds in `skiff` below the folder, and beside it the image of the tests. */
export async function unpackRelease(folder: string): Promise<void> {
  await run(join(project, "skiff"), ["setup", "run"]);
  const image = join(folder, "busybox.tar");
  writeFileSync(image, await imageArchive(busyboxImage()));
  const cache = join(project, ".cache/release");
  const arch = process.arch as Arch;
  fillRelease({ project, arch, images: [image], packages: false, cache, folder: join(folder, "skiff") });
}

/** Everything that an installation could leave behind: files, mounts, network, rules, cgroups, processes. */
export async function installationState(box: Box): Promise<Record<string, string[]>> {
  const look: Record<string, string> = {
    // But for what changes by itself: logs, temporary files, and what systemd keeps over a reboot.
    files: `find / -xdev \\( -path /srv -o -path '/tmp/systemd-private-*' -o -path /var/log -o -path /var/tmp -o -path /var/lib/systemd \\) -prune -o \\( -type d -printf '%p %m %u\\n' -o -printf '%p %y %m %u %s %l\\n' \\)`,
    "run files": "find /run -maxdepth 1; ls /run/netns 2>/dev/null || true",
    mounts: "cut -d' ' -f2,3 /proc/mounts",
    links: "ip -br link; ip -br -4 address; ip route; ip rule",
    rules: "nft list ruleset",
    // Without the looks themselves, without the kernel's own threads, and without what udev starts for a moment.
    cgroups: "find /sys/fs/cgroup -type d -not -name 'control@*'",
    processes: "ps -e -o args= | cut -d' ' -f1 | grep -vE '^(\\[.*|\\(udev-worker\\)|ps|cut|grep|(/bin/)?sh)$'",
    profiles: "cat /sys/kernel/security/apparmor/profiles 2>/dev/null || true",
  };
  const state: Record<string, string[]> = {};
  for (const [what, script] of Object.entries(look))
    state[what] = (await box.run("sh", "-c", script)).split("\n").sort();
  return state;
}

/** What ends takes a moment to be gone. */
export async function leavesNothing(t: Test, box: Box, before: Record<string, string[]>): Promise<void> {
  const difference = async () => {
    const now = await installationState(box);
    return Object.entries(before).flatMap(([what, was]) => [
      ...(now[what] ?? []).filter((line) => !was.includes(line)).map((line) => `${what}: left behind: ${line}`),
      ...was.filter((line) => !now[what]?.includes(line)).map((line) => `${what}: missing: ${line}`),
    ]);
  };
  await until("the box to be as it was", async () => (await difference()).length === 0, 30_000).catch(() => {});
  t.same(await difference(), []);
}
