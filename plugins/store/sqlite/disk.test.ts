import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted as call } from "../../kit/base/call.ts";
import { isFault } from "../../kit/base/fault.ts";
import { openSqliteStore } from "../sqlite.ts";

const skip = process.getuid?.() === 0 ? false : "only root may mount a small disk";

/** A file system of its own with so many KiB, gone with the test. */
function smallDisk(t: Test, kib: number): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-disk-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kib}k`, "skiff-test", folder]);
  t.teardown(() => {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

t.test("a full disk refuses writes by name, loses nothing, and recovers", { skip }, async (t) => {
  const disk = smallDisk(t, 4096);
  const filler = join(disk, "filler");
  writeFileSync(filler, new Uint8Array(2 * 1024 * 1024));
  const options = { folder: join(disk, "store"), lazyPrefixes: ["/lazy/"] };
  const store = await openSqliteStore(options);
  t.teardown(() => store.close());
  const acknowledged = new Map<string, number>();
  let fault: unknown;
  const put = async (key: string) => {
    const result = await store.put(key, new Uint8Array(8000).fill(acknowledged.size), "any", call);
    if (result.ok) acknowledged.set(key, result.entry.revision);
  };
  for (let i = 0; !fault && i < 5000; i++) await put(`/a/${i}`).catch((error: unknown) => (fault = error));
  t.ok(isFault(fault, "unavailable"), String(fault));
  t.match(
    (fault as Error).message,
    new RegExp(`disk mounted at "${disk}" is full.*; writes succeed again once there is room$`),
  );
  const before = store.revision;
  await t.rejects(put("/more"), { code: "unavailable" }, "stays so while the disk is full");
  t.equal(store.revision, before, "a refused write is not visible");
  await t.rejects(store.put("/lazy/firm", new Uint8Array(100_000), "absent", call, { durable: true }), {
    code: "unavailable",
  });
  t.equal(await store.get("/lazy/firm", call), undefined);
  t.equal((await store.put("/lazy/a", new Uint8Array(10), "any", call)).ok, true, "lazy prefixes need no disk");
  rmSync(filler);
  await store.check(call);
  await put("/after");
  t.ok(acknowledged.has("/after"), "writes succeed again once there is room");
  await store.close();
  const again = await openSqliteStore(options);
  t.teardown(() => again.close());
  const found = new Map(
    (await again.list("", {}, call)).entries.map((entry) => [entry.key, entry.revision] as [string, number]),
  );
  for (const [key, revision] of acknowledged) if (found.get(key) !== revision) t.fail(`${key} is lost`);
  t.equal(found.has("/lazy/a"), true);
  t.equal(found.size, acknowledged.size + 1);
});

t.test("a disk that is full at the first start is named", { skip }, async (t) => {
  const disk = smallDisk(t, 64);
  writeFileSync(join(disk, "filler"), new Uint8Array(60 * 1024));
  await t.rejects(openSqliteStore({ folder: join(disk, "store") }), {
    code: "unavailable",
    message: /is full.*; make room and start again$/,
  });
});

t.test("a read-only disk is named", { skip }, async (t) => {
  const disk = smallDisk(t, 1024);
  const folder = join(disk, "store");
  await (await openSqliteStore({ folder })).close();
  execFileSync("mount", ["-o", "remount,ro", disk]);
  await t.rejects(openSqliteStore({ folder }), { code: "forbidden", message: /not writable/ });
});
