import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { LogFile } from "./log-file.ts";
import type { LogMessage } from "./log-messages.ts";

const stamp = (nano: number) => `2026-11-16T04:21:09.${String(nano).padStart(9, "0")}Z`;
const message = (nano: number, text: string, changes: Partial<LogMessage> = {}): LogMessage => ({
  time: stamp(nano),
  stream: "stdout",
  text: Buffer.from(text),
  isPartial: false,
  ...changes,
});

function setup(t: { teardown(then: () => void): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-log-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "c.log");
  const open = () => new LogFile(path, join(dir, "state", "c.json"));
  const texts = (from = path) =>
    readFileSync(from, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(" ").slice(3).join(" "));
  /** What the daemon would send again, as far as it is new. */
  const replay = (file: LogFile, all: readonly LogMessage[]) => {
    file.position.resume();
    file.write(all.filter((one) => file.position.isNew(one)));
  };
  return { path, open, texts, replay };
}

t.test("LogFile writes CRI's format, any bytes", async (t) => {
  const { path, open } = setup(t);
  const file = open();
  file.write([message(1, "a b"), message(2, "", { stream: "stderr" }), message(3, "part", { isPartial: true })]);
  file.write([message(4, "", { text: Buffer.from([0xff, 0xfe]) })]);
  file.close();
  const text = readFileSync(path, "latin1");
  t.equal(
    text,
    `${stamp(1)} stdout F a b\n${stamp(2)} stderr F \n${stamp(3)} stdout P part\n${stamp(4)} stdout F \xff\xfe\n`,
  );
});

t.test(
  "LogFile goes on after a break without losing or doubling, streams out of order and stamps that are the same",
  async (t) => {
    const { open, texts, replay } = setup(t);
    const err = { stream: "stderr" } as const;
    const all = [
      message(5, "o1"),
      message(4, "e1", err),
      message(5, "o2"),
      message(5, "e2", err),
      message(5, "o3"),
      message(4, "never sent in order", { stream: "stderr", time: stamp(6) }),
      message(7, "o4"),
    ];
    for (let cut = 0; cut <= all.length; cut++) {
      const first = open();
      replay(first, all.slice(0, cut));
      first.close();
    }
    const last = open();
    replay(last, all);
    last.close();
    t.same(
      texts(),
      all.map(({ text }) => text.toString()),
    );
  },
);

t.test("LogFile writes a line again that a crash cut short", async (t) => {
  const { path, open, texts, replay } = setup(t);
  const all = [message(1, "whole"), message(2, "cut short")];
  const first = open();
  first.write(all.slice(0, 1));
  first.close();
  appendFileSync(path, `${stamp(2)} stdout F cut`);
  const second = open();
  replay(second, all);
  second.close();
  t.same(texts(), ["whole", "cut short"]);
});

t.test("LogFile knows where it was after a rotation, with nothing in the new file yet", async (t) => {
  const { path, open, texts, replay } = setup(t);
  const all = [message(1, "old"), message(2, "new")];
  const first = open();
  first.write(all.slice(0, 1));
  renameSync(path, `${path}.1`);
  first.reopen();
  // Killed here: nothing is closed or saved.
  const second = open();
  replay(second, all);
  t.same([texts(`${path}.1`), texts()], [["old"], ["new"]]);
  first.close();
  second.close();
});

t.test("LogPosition asks for a moment before the last stamp, and from the start of an open line", async (t) => {
  const { open } = setup(t);
  const file = open();
  t.equal(file.position.resume(), undefined);
  const time = "2026-11-16T04:21:09.000000001Z";
  file.write([message(0, "x", { time })]);
  const seconds = Date.UTC(2026, 10, 16, 4, 21, 9) / 1000;
  t.equal(file.position.resume(), `${seconds - 1}.000000001`);
  file.write([message(0, "y", { time: "2026-11-16T04:20:09.5Z", stream: "stderr", isPartial: true })]);
  t.equal(file.position.resume(), `${seconds - 60}.500000000`);
  file.close();
});
