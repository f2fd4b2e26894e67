import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { until } from "../../../test/harness/until.ts";
import { isAlive, nameProcess } from "../../../plugins/kit/os/platform/processes.ts";
import { reaped, spawn } from "../kernel/spawn.ts";
import { libc } from "../kernel/libc.ts";
import { holderProgram } from "../../../plugins/kit/os/platform/holder-program.ts";

t.test("holderProgram() is a static ELF file for each processor it knows", async (t) => {
  for (const [arch, machine] of [
    ["x64", 62],
    ["arm64", 183],
  ] as const) {
    const program = holderProgram(arch);
    t.equal(program?.toString("latin1", 1, 4), "ELF");
    t.equal(program?.readUInt16LE(18), machine);
    t.ok((program?.length ?? 0) < 512);
  }
  t.equal(holderProgram("mips"), undefined);
});

const skip = process.getuid?.() === 0 ? false : "shutting itself in needs root";

t.test("the holder sleeps as nobody, in an empty root, until it is killed", { skip }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-hold-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "hold");
  writeFileSync(path, holderProgram() ?? "");
  chmodSync(path, 0o755);
  const empty = mkdtempSync(join(dir, "empty-"));
  const pid = spawn({ path, name: "hold", args: [], cwd: empty });
  const status = await until("its last step", () => {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    return /^NoNewPrivs:\t1$/m.test(text) && text;
  });
  t.match(status, /^Uid:\t65535\t65535\t65535\t65535$/m);
  t.match(status, /^CapEff:\t0+$/m);
  t.match(status, /^Groups:\s*$/m);
  t.match(status, /^State:\tS/m);
  const name = nameProcess(pid);
  libc.kill(pid, 15);
  libc.kill(pid, 9);
  t.equal(await reaped(pid), 128 + 15);
  t.notOk(isAlive(name));
});
