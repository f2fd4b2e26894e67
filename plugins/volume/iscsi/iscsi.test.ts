import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { within } from "../../kit/base/call.ts";
import { systemClock } from "../../kit/base/clock.ts";
import { noLog } from "../../kit/base/log.ts";
import type { Pod } from "../../kit/kube/objects/types.ts";
import { mountsBelow, unmount } from "../../kit/os/platform/mount.ts";
import { podObjectsKind } from "../../kit/contracts/pod-objects.ts";
import type { VolumeMountRequest } from "../../kit/contracts/volume.ts";
import { iscsi } from "./iscsi.ts";

const call = () => within(60_000);
const iqn = "iqn.2026-11.test:disk";

// Keeps sessions as files, shows a session's disk as the kernel would, and writes down what it was asked. `refuse` names portals that do
// not answer.
const fakeProgram = (dir: string) => `#!/bin/sh
printf '%s\\n' "$*" >> ${dir}/asked
while [ $# -gt 0 ]; do
  case $1 in
    -p) portal=$2; shift ;; -T) target=$2; shift ;; -o) op=$2; shift ;; -m) mode=$2; shift ;;
    --login) op=login ;; --logout) op=logout ;;
  esac
  shift
done
grep -qx "$portal" ${dir}/refuse 2>/dev/null && { echo "iscsiadm: connection to $portal failed" >&2; exit 4; }
session=${dir}/sessions/$portal
case $mode:$op in
  iface:show) echo "iface.iscsi_ifacename = default"; echo "iface.transport_name = tcp"; echo "iface.net_ifacename = <empty>" ;;
  node:login)
    [ -e "$session" ] && exit 15
    touch "$session"; ln -s "$(cat ${dir}/device)" "${dir}/by-path/ip-$portal-iscsi-$target-lun-0" ;;
  node:logout)
    [ -e "$session" ] || exit 21
    rm "$session" "${dir}/by-path/ip-$portal-iscsi-$target-lun-0" ;;
esac
exit 0
`;

function loopDevice(file: string): string | undefined {
  try {
    return execFileSync("losetup", ["-f", "--show", file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return undefined;
  }
}

async function openRoom(t: { teardown(then: () => void): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-iscsi-"));
  for (const name of ["sessions", "by-path", "pods"]) mkdirSync(join(dir, name));
  const image = join(dir, "image");
  writeFileSync(image, "");
  truncateSync(image, 8 << 20);
  const device = loopDevice(image);
  writeFileSync(join(dir, "device"), device ?? "");
  writeFileSync(join(dir, "asked"), "");
  const program = join(dir, "iscsiadm");
  writeFileSync(program, fakeProgram(dir));
  chmodSync(program, 0o755);
  t.teardown(() => {
    for (const path of mountsBelow(dir).reverse()) unmount(path);
    if (device) execFileSync("losetup", ["-d", device]);
    rmSync(dir, { recursive: true, force: true });
  });
  const data = Object.fromEntries(
    Object.entries({
      "node.session.auth.username": "me",
      "node.session.auth.password": "hush",
      "discovery.sendtargets.auth.username": "you",
    }).map(([key, value]) => [key, btoa(value)]),
  );
  const objects = { secret: async () => ({ metadata: {}, data }) };
  const open = (settings = { program, devices: join(dir, "by-path") }) =>
    iscsi.open(
      {
        settings,
        log: noLog,
        clock: systemClock,
        stateDir: join(dir, "state"),
        all: ((of: { name: string }) => (of.name === podObjectsKind.name ? [objects] : [])) as never,
        onClose: () => {},
      },
      call(),
    );
  const request = (pod: string, source: object = {}): VolumeMountRequest => ({
    pod: { metadata: { name: pod, namespace: "default", uid: pod } } as Pod,
    volume: { name: "disk", iscsi: { targetPortal: "10.0.0.1", iqn, lun: 0, ...source } },
    path: join(dir, "pods", pod),
    readOnly: false,
  });
  const asked = () => readFileSync(join(dir, "asked"), "utf8").trim().split("\n");
  return { dir, open, request, asked };
}

const withoutLoop = (() => {
  if (process.getuid?.() !== 0) return "needs root";
  for (const program of ["losetup", "mkfs.ext4", "blkid"]) {
    try {
      execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    } catch {
      return `needs ${program}`;
    }
  }
  const file = join(mkdtempSync(join(tmpdir(), "skiff-loop-")), "image");
  writeFileSync(file, Buffer.alloc(4096));
  const device = loopDevice(file);
  if (device) execFileSync("losetup", ["-d", device]);
  rmSync(join(file, ".."), { recursive: true });
  return device ? false : "the kernel gives no loop device";
})();

t.test(
  "iscsi: a disk is made ready once, bound into each pod, and let go by the last",
  { skip: withoutLoop },
  async (t) => {
    const { dir, open, request, asked } = await openRoom(t);
    const volume = await open();
    await volume.mount(request("one"), call());
    writeFileSync(join(dir, "pods", "one", "note"), "kept");
    await volume.mount(request("one"), call());
    await volume.mount(request("two"), call());
    t.equal(readFileSync(join(dir, "pods", "two", "note"), "utf8"), "kept", "both see one file system");
    t.equal(asked().filter((line) => line.includes("--login")).length, 1, "one session");
    t.ok(asked().includes(`-m node -p 10.0.0.1:3260 -T ${iqn} -I default --login`), "the portal's port is filled in");

    const later = await open();
    await later.unmount(request("one").path, call());
    t.notOk(
      asked().some((line) => line.includes("--logout")),
      "another pod uses it",
    );
    await later.unmount(request("two").path, call());
    t.ok(asked().some((line) => line.includes("--logout")));
    t.ok(asked().some((line) => line.endsWith("-o delete")));
    t.same(mountsBelow(dir), []);
    t.notOk(existsSync(request("two").path));
    await later.unmount(request("two").path, call());

    await later.mount(request("three"), call());
    t.equal(
      readFileSync(join(dir, "pods", "three", "note"), "utf8"),
      "kept",
      "a disk that holds something is not formatted",
    );
    await later.unmount(request("three").path, call());
  },
);

t.test("iscsi: several portals, CHAP and an initiator's name", { skip: withoutLoop }, async (t) => {
  const { dir, open, request, asked } = await openRoom(t);
  const volume = await open();
  writeFileSync(join(dir, "refuse"), "10.0.0.1:3260\n10.0.0.2:3261\n");
  const source = {
    portals: ["10.0.0.2:3261"],
    chapAuthSession: true,
    chapAuthDiscovery: true,
    secretRef: { name: "chap" },
    initiatorName: "iqn.2026-11.test:me",
  };
  const failed = await volume.mount(request("one", source), call()).then(
    () => undefined,
    (error: Error) => error,
  );
  t.match(failed?.message, /10\.0\.0\.1:3260.*failed; .*10\.0\.0\.2:3261/, "each portal says what is wrong");
  t.notMatch(failed?.message, "hush");

  writeFileSync(join(dir, "refuse"), "10.0.0.1:3260\n");
  await volume.mount(request("one", source), call());
  const lines = asked();
  const iface = "10.0.0.1:3260:disk";
  const node = `-m node -p 10.0.0.2:3261 -T ${iqn} -I ${iface}`;
  for (const line of [
    `-m iface -I ${iface} -o update -n iface.initiatorname -v iqn.2026-11.test:me`,
    `-m iface -I ${iface} -o update -n iface.transport_name -v tcp`,
    `-m discoverydb -t sendtargets -p 10.0.0.2:3261 -I ${iface} -o update -n discovery.sendtargets.auth.username -v you`,
    `-m discoverydb -t sendtargets -p 10.0.0.2:3261 -I ${iface} --discover`,
    `${node} -o update -n node.session.auth.authmethod -v CHAP`,
    `${node} -o update -n node.session.auth.password -v hush`,
    `${node} --login`,
  ])
    t.ok(lines.includes(line), line);
  writeFileSync(join(dir, "refuse"), "");
  await volume.unmount(request("one").path, call());
  t.ok(asked().includes(`-m iface -I ${iface} -o delete`));
  t.same(mountsBelow(dir), []);
});

t.test(
  "iscsi: what failed half-way is taken away, also by an agent that was started since",
  { skip: withoutLoop },
  async (t) => {
    const { dir, open, request, asked } = await openRoom(t);
    writeFileSync(join(dir, "refuse"), "10.0.0.1:3260\n");
    await t.rejects((await open()).mount(request("one"), call()), { code: "unavailable" });
    writeFileSync(join(dir, "refuse"), "");
    await (await open()).unmount(request("one").path, call());
    t.notOk(existsSync(request("one").path));

    const volume = await open();
    await volume.mount(request("one"), call());
    writeFileSync(join(dir, "refuse"), "10.0.0.1:3260\n");
    await t.rejects(volume.unmount(request("one").path, call()), /Cannot log out/);
    t.ok(existsSync(request("one").path), "somebody will come again");
    writeFileSync(join(dir, "refuse"), "");
    await (await open()).unmount(request("one").path, call());
    t.ok(asked().at(-1)?.endsWith("-o delete"));
    t.same(mountsBelow(dir), []);
  },
);

t.test("iscsi: without the initiator's program, one line that says what to do", async (t) => {
  const { dir, open, request } = await openRoom(t);
  const volume = await open({ program: join(dir, "nowhere"), devices: dir });
  await t.rejects(volume.mount(request("one"), call()), {
    code: "unsupported",
    message: /^Cannot use iSCSI volumes: there is no .*nowhere \(fix: apt-get install open-iscsi\)$/,
  });
  await volume.unmount(request("one").path, call());
  t.notOk(existsSync(request("one").path), "and nothing that keeps the pod from going");
});
