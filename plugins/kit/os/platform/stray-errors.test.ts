import { spawnSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { selfCommand } from "./runtime.ts";

const script = join(import.meta.dirname, "../../../../test/fixtures/stray-errors.ts");

function run(kind: string) {
  const [command, ...args] = selfCommand(script, [kind]);
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  return {
    status,
    stdout,
    lines: stderr
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as object),
  };
}

const rows = [
  { name: "goes on when a stream was broken off", kind: "broken-stream", code: "ERR_STREAM_PREMATURE_CLOSE" },
  { name: "goes on when a connection without a listener failed", kind: "broken-line", code: "ECONNREFUSED" },
];
for (const { name, kind, code } of rows)
  t.test(`handleStrayErrors() ${name}`, async (t) =>
    t.match(run(kind), { status: 0, stdout: "alive\n", lines: [{ level: "error", err: { code } }] }),
  );

const ends = [
  { name: "a promise was refused", kind: "lost-loop", message: "the loop broke" },
  { name: "something threw", kind: "fault", message: "torn state" },
];
for (const { name, kind, message } of ends)
  t.test(`handleStrayErrors() ends in one line, with the place and without a stack, when ${name}`, async (t) => {
    const { status, stdout, lines } = run(kind);
    t.match(
      { status, stdout, lines },
      { status: 1, stdout: "", lines: [{ err: { message }, at: /stray-errors\.ts:\d+/ }] },
    );
    t.equal(lines.length, 1, "one line");
    t.notHas(lines[0], { err: { stack: String } });
  });
