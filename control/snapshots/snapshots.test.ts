import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startControl } from "../../test/harness/control.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { claimDataDir } from "../../plugins/kit/os/platform/data-dir.ts";
import { openControl } from "../assemble/control-plane.ts";
import { systemUser } from "../auth/assemble.ts";
import { restoreCommand, snapshotCommand } from "../assemble/snapshot-command.ts";
import { keepNewest, listSnapshots, takeSnapshot, verifySnapshot } from "./files.ts";
import { runSchedule } from "./schedule.ts";

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "skiff-snapshots-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const source = { backup: async (path: string) => writeFileSync(path, "content"), keys: () => '{"keys":[]}' };
const may = Date.UTC(2024, 4, 1, 12);

t.test("takeSnapshot() names by time, keeps others out, and verifySnapshot() sees every damage", async (t) => {
  const folder = temporary(t);
  const first = await takeSnapshot(folder, source, may);
  const second = await takeSnapshot(folder, source, may);
  t.equal(first.name, "skiff-2024-05-01T12-00-00Z.db");
  t.not(second.name, first.name);
  t.equal(first.takenAt, may);
  t.equal(statSync(first.path).mode & 0o777, 0o600);
  await verifySnapshot(first.path);
  writeFileSync(first.path, "contenT");
  await t.rejects(verifySnapshot(first.path), { code: "invalid", message: /damaged/ });
  truncateSync(`${second.path}.keys`, 3);
  await t.rejects(verifySnapshot(second.path), { code: "invalid", message: /\.keys is not what was saved/ });
  rmSync(`${second.path}.sha256`);
  await t.rejects(verifySnapshot(second.path), { code: "invalid", message: /checksums/ });
  t.same(
    listSnapshots(folder).map(({ name }) => name),
    [first.name],
    "one that was never finished is not shown",
  );
});

t.test("takeSnapshot() leaves nothing of one that failed", async (t) => {
  const folder = temporary(t);
  const failing = { ...source, backup: () => Promise.reject(new Error("disk full")) };
  await t.rejects(takeSnapshot(folder, failing, may), /disk full/);
  t.same(listSnapshots(folder), []);
});

t.test("runSchedule() takes one when the last is too old, and keeps the newest", async (t) => {
  const folder = temporary(t);
  for (const hour of [1, 2, 3]) await takeSnapshot(folder, source, may - hour * 3_600_000);
  t.same(keepNewest(folder, 2).length, 1);
  const stop = new AbortController();
  const clock = { ...systemClock, now: () => may, sleep: () => Promise.resolve(stop.abort()) };
  const take = () => takeSnapshot(folder, source, may);
  await runSchedule({ everyMs: 3_600_000, keep: 2 }, { folder, take, clock, log: noLog }, { signal: stop.signal });
  t.same(
    listSnapshots(folder).map(({ takenAt }) => takenAt),
    [may - 3_600_000, may],
  );
});

t.test(
  "snapshotCommand() saves while the server runs and restores when it is stopped, with secrets readable",
  async (t) => {
    const running = await startControl({ keepData: true });
    const { dataDir } = running;
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
    const lock = await claimDataDir(dataDir);
    const said: string[] = [];
    const print = (line: string) => void said.push(line);
    const command = (action: string, file?: string) =>
      snapshotCommand({ action, file }, dataDir, systemClock, print, call);
    const client = new ApiClient({ fetch: running.control.fetchAs(systemUser), clock: systemClock });
    const secret = (name: string) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: "default" },
      stringData: { password: "hunter2" },
    });
    const post = (path: string, body?: object) =>
      client.request(
        path,
        {
          method: "POST",
          ...(body ? { body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {}),
        },
        call,
      );
    await post("/api/v1/namespaces/default/secrets", secret("before"));
    await command("save");
    const saved = /^saved (\S+) \(/.exec(said[0] ?? "")?.[1] ?? "";
    t.ok(existsSync(saved), "the file is there");
    await post("/skiff/v1/secrets-encryption/rotate");
    await post("/api/v1/namespaces/default/secrets", secret("after"));
    await t.rejects(command("restore", saved), { code: "already-exists", message: /another Skiff/ });
    await running.close();
    lock.release();

    await command("save");
    await command("list");
    t.match(said.at(-1), /^skiff-\S+\.db\t\S+Z\t\d+$/);
    const damaged = join(dataDir, "damaged.db");
    for (const tail of ["", ".keys", ".sha256"]) writeFileSync(damaged + tail, readFileSync(saved + tail));
    truncateSync(damaged, 4096);
    await t.rejects(command("restore", damaged), { code: "invalid", message: /damaged/ });
    await restoreCommand(saved, dataDir, systemClock, print);
    t.match(said.at(-1), /what was there is kept as .*store\.db\.replaced-/);

    const control = await openControl({ ...running.options }, call);
    t.teardown(() => control.close());
    const again = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });
    const read = async (name: string) =>
      (await (await again.request(`/api/v1/namespaces/default/secrets/${name}`, {}, call)).json()) as {
        data: { password: string };
      };
    t.equal(Buffer.from((await read("before")).data.password, "base64").toString(), "hunter2");
    await t.rejects(read("after"), { code: "not-found" });
    await t.rejects(command("explode"), { code: "invalid", message: /save, list or restore/ });
  },
);
