import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { until } from "../../../../test/harness/until.ts";
import { isFault } from "../../base/fault.ts";
import { lockFile, readBounded, writeFileAtomic } from "./files.ts";
import { selfCommand } from "./runtime.ts";

function folder(t: { teardown(end: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-files-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  return dir;
}

t.test("writeFileAtomic() replaces whole, with the mode asked for, and leaves nothing behind", async (t) => {
  const dir = folder(t);
  const path = join(dir, "key.pem");
  await writeFileAtomic(path, "one");
  t.equal(statSync(path).mode & 0o777, 0o600);
  await writeFileAtomic(path, new TextEncoder().encode("two"), { mode: 0o644 });
  t.equal(readFileSync(path, "utf8"), "two");
  t.equal(statSync(path).mode & 0o777, 0o644);
  t.same(readdirSync(dir), ["key.pem"]);
});

t.test("writeFileAtomic() keeps the old content when it fails", async (t) => {
  const dir = folder(t);
  await t.rejects(writeFileAtomic(join(dir, "missing", "x"), "1"), { code: "not-found", message: /missing\/x/ });
  // A folder in the place of the file: the rename fails after everything was written.
  await t.rejects(writeFileAtomic(dir, "1"), { name: "Fault" });
  t.same(readdirSync(dir), []);
});

t.test("many writers of one file leave one whole content", async (t) => {
  const dir = folder(t);
  const path = join(dir, "f");
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
  await Promise.all(contents.map((content) => writeFileAtomic(path, content)));
  t.ok(contents.includes(readFileSync(path, "utf8")));
  t.same(readdirSync(dir), ["f"]);
});

t.test("readBounded() reads up to the bound", async (t) => {
  const path = join(folder(t), "f");
  writeFileSync(path, "x".repeat(100_000));
  t.equal(readBounded(path, 100_000).length, 100_000);
  t.throws(() => readBounded(path, 99_999), { code: "invalid" });
  t.throws(() => readBounded(`${path}.none`, 10), { code: "not-found" });
  t.ok(readBounded("/proc/self/status", 1_000_000).length > 0, "files without a size can be read");
});

t.test("lockFile() keeps a second holder out, and is free again after release", async (t) => {
  const path = join(folder(t), "lock");
  const first = await lockFile(path);
  await t.rejects(lockFile(path), { code: "already-exists", message: new RegExp(`process ${process.pid} has it`) });
  first.release();
  first.release();
  (await lockFile(path)).release();
});

t.test("lockFile() is free again the moment its holder is killed", async (t) => {
  const path = join(folder(t), "lock");
  const script = fileURLToPath(new URL("../../../../test/fixtures/hold-lock.ts", import.meta.url));
  const [command, ...args] = selfCommand(script, [path]);
  const holder = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => void holder.kill("SIGKILL"));
  await new Promise((resolve) => holder.stdout.once("data", resolve));
  await t.rejects(lockFile(path), { code: "already-exists", message: new RegExp(String(holder.pid)) });
  holder.kill("SIGKILL");
  const lock = await until("the lock", async () => {
    try {
      return await lockFile(path);
    } catch (error) {
      if (isFault(error, "already-exists")) return undefined;
      throw error;
    }
  });
  lock.release();
});
