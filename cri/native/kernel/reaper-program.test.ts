import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { reaperProgram } from "./reaper-program.ts";
import { Spawner } from "./spawn.ts";

t.test("reaperProgram() is a static ELF file for each processor it knows", async (t) => {
  for (const [arch, machine] of [
    ["x64", 62],
    ["arm64", 183],
  ] as const) {
    const program = reaperProgram(arch);
    t.equal(program?.toString("latin1", 1, 4), "ELF");
    t.equal(program?.readUInt16LE(18), machine);
    t.ok((program?.length ?? 0) < 512);
  }
  t.equal(reaperProgram("mips"), undefined);
});

async function reaped(t: Test, ...command: string[]) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-reap-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "reap");
  writeFileSync(path, reaperProgram() ?? "");
  chmodSync(path, 0o755);
  const spawner = await Spawner.open(join(dir, "spawn.sock"));
  t.teardown(() => spawner.close());
  const { exitCode, stdout, stderr } = await spawner.run(
    { path, args: command, env: { WORD: "hello" } },
    uninterrupted,
  );
  const ends = Array.from({ length: stdout.length / 8 }, (_, at) => ({
    pid: stdout.readInt32LE(at * 8),
    status: stdout.readInt32LE(at * 8 + 4),
  }));
  return { exitCode, ends, text: stderr.toString() };
}

t.test("the reaper passes on arguments and environment, and tells how the command ended", async (t) => {
  const { exitCode, ends, text } = await reaped(t, "/bin/sh", "-c", 'echo "$$ $WORD $0 $1"; exit 7', "one", "two");
  t.equal(exitCode, 0);
  t.equal(text, `${ends[0]?.pid} hello one two\n`, "what the command says is not mixed with what the reaper tells");
  t.same(
    ends.map(({ status }) => status),
    [7 << 8],
  );
});

t.test("the reaper tells of what the command left behind too", async (t) => {
  const { ends, text } = await reaped(
    t,
    "/bin/sh",
    "-c",
    "(read _ < /proc/self/stat; exec sh -c 'echo $$; kill -9 $$') &",
  );
  t.same(
    ends.map(({ status }) => status).toSorted((a, b) => a - b),
    [0, 9],
  );
  t.equal(ends.find(({ status }) => status === 9)?.pid, Number(text));
});

t.test("the reaper tells of a command that cannot be started", async (t) => {
  const { ends } = await reaped(t, "/nowhere");
  t.match(ends, [{ status: 127 << 8 }]);
});
