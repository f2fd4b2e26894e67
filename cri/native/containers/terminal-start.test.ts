import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { libc } from "../kernel/libc.ts";
import { Spawner } from "../kernel/spawn.ts";
import { type Native, NativePaths } from "../native.ts";
import { startInTerminal } from "./terminal-start.ts";

/** A shell in the place of an OCI runtime; the runtime's own way is in the suite of every runtime. */
async function started(t: Test, script: string) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-tty-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const spawner = await Spawner.open(join(dir, "spawn.sock"));
  t.teardown(() => spawner.close());
  const native = { paths: new NativePaths(dir, dir), spawner } as Native;
  const [pidFile, consoleSocket] = [join(dir, "pid"), join(dir, "console")];
  const command = { path: "/bin/sh", args: ["-c", script], env: { pidFile }, pidFile, consoleSocket, files: [] };
  return { dir, ...startInTerminal(native, command) };
}

t.test("startInTerminal() tells why the runtime did not start the command, and leaves nothing", async (t) => {
  const { dir, terminal, exit } = await started(t, `echo 'level=error msg="no such \\"program\\""' >&2; exit 1`);
  await t.rejects(terminal, { code: "internal", message: 'Cannot run command: no such "program"' });
  t.equal(await exit, 137);
  t.notOk(readdirSync(dir).includes("console"));
});

t.test("startInTerminal() is not content with a runtime that leaves no terminal", async (t) => {
  // The command outlives the runtime, as a detached one does: a shell would bury it otherwise.
  const command = `while grep -q "^PPid:.$RUNTIME$" /proc/$$/status; do :; done; exit 5`;
  const { terminal, exit } = await started(t, `RUNTIME=$$ sh -c '${command}' & echo $! > "$pidFile"`);
  await t.rejects(terminal, { message: "accept of a console socket: EAGAIN" });
  t.equal(await exit, 5, "the command's own end is told all the same");
});

t.test("startInTerminal() ends when the parent of the command is killed", async (t) => {
  const { pid, terminal, exit } = await started(t, "sleep 432");
  const rejected = t.rejects(terminal, { code: "internal" });
  libc.kill(-pid, 9);
  await rejected;
  t.equal(await exit, 137);
});
