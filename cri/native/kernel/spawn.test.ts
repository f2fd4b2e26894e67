import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { until } from "../../../test/harness/until.ts";
import { isAlive, killTree, nameProcess } from "../../../plugins/kit/os/platform/processes.ts";
import { bind, libc } from "./libc.ts";
import { Spawner, spawn } from "./spawn.ts";

async function open(t: { teardown(run: () => unknown): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-spawn-"));
  const spawner = await Spawner.open(join(dir, "io.sock"));
  t.teardown(async () => {
    await spawner.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, spawner };
}

const sh = (script: string) => ({ path: "/bin/sh", args: ["-c", script] });

t.test("run() passes input and output and tells the exit code", async (t) => {
  const { spawner } = await open(t);
  const done = await spawner.run({ ...sh("cat; echo $VALUE >&2; exit 3"), env: { VALUE: "err" } }, uninterrupted, {
    input: "in",
  });
  t.match(done, { exitCode: 3 });
  t.equal(done.stdout.toString(), "in");
  t.equal(done.stderr.toString(), "err\n");
  t.equal((await spawner.run(sh("kill -9 $$"), uninterrupted)).exitCode, 137);
});

t.test("run() keeps many apart, and keeps no more than the limit", async (t) => {
  const { spawner } = await open(t);
  const all = await Promise.all(Array.from({ length: 20 }, (_, at) => spawner.run(sh(`echo ${at}`), uninterrupted)));
  t.same(
    all.map(({ stdout }) => Number(stdout.toString())),
    Array.from({ length: 20 }, (_, at) => at),
  );
  const long = await spawner.run(sh("head -c 300000 /dev/zero"), uninterrupted, { limit: 1000 });
  t.equal(long.stdout.length, 1000);
});

t.test("run() kills the program when the call is stopped", async (t) => {
  const { dir, spawner } = await open(t);
  const stop = new AbortController();
  const running = spawner.run(sh(`echo $$ > ${dir}/pid; exec sleep 60`), { signal: stop.signal });
  const pid = Number(await until("the program", () => existsSync(`${dir}/pid`) && readFileSync(`${dir}/pid`, "utf8")));
  const name = nameProcess(pid);
  stop.abort();
  await t.rejects(running);
  t.notOk(isAlive(name));
});

t.test("run() says why a program could not be started, and close() still ends", async (t) => {
  const { spawner } = await open(t);
  await t.rejects(spawner.run({ path: "/no/such", args: [] }, uninterrupted), { code: "ENOENT" });
});

t.test("run() leaves no descriptor open here, and hands none but its streams to the program", async (t) => {
  const { spawner } = await open(t);
  await spawner.run(sh("true"), uninterrupted);
  const count = () => readdirSync("/proc/self/fd").length;
  const steady = count();
  for (let round = 0; round < 10; round++) await spawner.run(sh("true"), uninterrupted);
  await until("the descriptors to be closed", () => count() <= steady);
  const inherited = libc.pipe();
  bind("int fcntl(int fd, int command, int argument)")(inherited.readEnd, 2, 0);
  const { stdout } = await spawner.run({ path: "/bin/ls", args: ["/proc/self/fd"] }, uninterrupted);
  libc.close(inherited.readEnd);
  libc.close(inherited.writeEnd);
  // The fourth is the folder that ls reads.
  t.same(stdout.toString().trim().split("\n"), ["0", "1", "2", "3"]);
});

t.test("killTree() ends what a process started, also what left it", async (t) => {
  const { dir } = await open(t);
  const pid = spawn(sh(`(sleep 61 & echo $! > ${dir}/orphan); sleep 62 & echo $! > ${dir}/child; wait`));
  const read = (file: string) =>
    until(file, () => existsSync(`${dir}/${file}`) && readFileSync(`${dir}/${file}`, "utf8").trim());
  const names = [nameProcess(Number(await read("orphan"))), nameProcess(Number(await read("child")))];
  killTree(pid);
  await until("all to end", () => names.every((name) => !isAlive(name)));
  t.pass();
});
