// Logs that somebody with the log directory races: reading, rotating and removing must stay inside.

import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { startSwapper } from "../../test/harness/racer.ts";
import { LogRotation } from "../resources/log-rotation.ts";
import { readLog } from "../server/logs/read-log.ts";
import { makeLogDirectory, removeLogs } from "./log-files.ts";

const line = (text: string) => `2026-01-01T00:00:00.000000000Z stdout F ${text}\n`;

function scene(t: { teardown(then: () => void): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-log-files-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const dir = join(root, "logs/n_p_uid/c");
  const host = join(root, "host");
  mkdirSync(dir, { recursive: true });
  mkdirSync(host);
  writeFileSync(join(host, "0.log"), line("the host's"));
  writeFileSync(join(dir, "0.log"), line("own"));
  return { root, dir, host, path: join(dir, "0.log") };
}

async function read(path: string): Promise<string> {
  let shown = "";
  const request = { follow: false, timestamps: false };
  for await (const piece of readLog({ path, isAlive: () => false }, request, systemClock, call))
    shown += piece.toString();
  return shown;
}

t.test("readLog() never shows the host's file, whoever swaps links in", async (t) => {
  for (const swapped of ["file", "directory"]) {
    const { dir, host, path } = scene(t);
    t.equal(await read(path), "own\n");
    await startSwapper(t, swapped === "file" ? path : dir, swapped === "file" ? join(host, "0.log") : host);
    const seen = new Set<string>();
    for (let round = 0; round < 300; round++) seen.add(await read(path).catch(() => ""));
    t.notOk(seen.has("the host's\n"), swapped);
  }
});

t.test("readLog() does not wait for a FIFO", async (t) => {
  const { path } = scene(t);
  rmSync(path);
  execFileSync("mkfifo", [path]);
  await t.rejects(Promise.all(Array.from({ length: 8 }, () => read(path))), { code: "forbidden" });
});

t.test("openLog() follows a link to the log of a Docker container, and no other", async (t) => {
  const { root, dir, host } = scene(t);
  const id = "0123456789abcdef".repeat(4);
  const docker = join(root, "docker/containers", id);
  mkdirSync(docker, { recursive: true });
  writeFileSync(join(docker, `${id}-json.log`), `${JSON.stringify({ log: "own\n", stream: "stdout", time: "t" })}\n`);
  symlinkSync(join(docker, `${id}-json.log`), join(dir, "1.log"));
  t.equal(await read(join(dir, "1.log")), "own\n");
  symlinkSync(join(host, "0.log"), join(docker, "planted-json.log"));
  for (const [at, target] of [
    join(host, "0.log"),
    join(docker, "planted-json.log"),
    `${root}/docker/containers/../containers/${id}/${id}-json.log`,
    join(root, "docker/containers", `${id}-json.log`),
  ].entries()) {
    symlinkSync(target, join(dir, `${at + 2}.log`));
    await t.rejects(read(join(dir, `${at + 2}.log`)), { code: "forbidden" }, target);
  }
});

t.test("LogRotation compresses and renames inside the log directory alone", async (t) => {
  const { dir, host, path } = scene(t);
  const piece = `${path}.20200101-000000`;
  const rotation = new LogRotation({
    runtime: { reopenContainerLog: async () => writeFileSync(path, line("own")) as never },
    observed: () => [],
    maxBytes: 1,
    maxFiles: 4,
    clock: systemClock,
    log: noLog,
  });
  writeFileSync(piece, line("piece"));
  // A file that is planted where the compressed piece is written first.
  symlinkSync(join(host, "0.log"), `${piece}.tmp`);
  await rotation.rotate("c", path, call);
  t.equal(gunzipSync(readFileSync(`${piece}.gz`)).toString(), line("piece"));
  t.equal(readFileSync(join(host, "0.log"), "utf8"), line("the host's"));
  await startSwapper(t, piece, join(host, "0.log"));
  for (let round = 0; round < 100; round++) {
    if (!existsSync(piece)) writeFileSync(piece, line("piece"));
    await rotation.rotate("c", path, call).catch(() => {});
    for (const name of readdirSync(dir).filter((file) => file.endsWith(".gz")))
      t.notMatch(gunzipSync(readFileSync(join(dir, name))).toString(), "the host's");
  }
  t.equal(readFileSync(join(host, "0.log"), "utf8"), line("the host's"));
});

t.test("makeLogDirectory() makes directories below the logs alone, whoever swaps links in", async (t) => {
  const { root, host, path } = scene(t);
  const other = join(root, "logs/n_q_uid/c/0.log");
  makeLogDirectory(other);
  t.equal(statSync(dirname(other)).mode & 0o777, 0o755);
  makeLogDirectory(other);
  symlinkSync(host, join(root, "logs/planted"));
  t.throws(() => makeLogDirectory(join(root, "logs/planted/c/0.log")), { code: "forbidden" });
  writeFileSync(join(root, "logs/file"), "");
  t.throws(() => makeLogDirectory(join(root, "logs/file/c/0.log")), { code: "forbidden" });
  await startSwapper(t, dirname(dirname(path)), host);
  for (let round = 0; round < 300; round++) {
    try {
      makeLogDirectory(join(root, `logs/n_p_uid/c${round}/0.log`));
    } catch {
      continue; // it met the link
    }
  }
  t.same(readdirSync(host), ["0.log"]);
});

t.test("removeLogs() removes inside the log directory alone", async (t) => {
  const { dir, host, path } = scene(t);
  writeFileSync(`${path}.20200101-000000.gz`, "");
  writeFileSync(join(dir, "1.log"), "");
  await removeLogs(path);
  t.same(readdirSync(dir), ["1.log"]);
  rmSync(dir, { recursive: true });
  symlinkSync(host, dir);
  await t.rejects(removeLogs(path), { code: "forbidden" });
  t.same(readdirSync(host), ["0.log"]);
});
