// Container logs: CRI's format in the given file, both streams, long and broken lines, rotation.

import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { within } from "../../../plugins/kit/base/call.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import { parseLog, type Workbench } from "./workbench.ts";

export function logs(t: Test, bench: Workbench): void {
  t.test("both streams are in the file, line by line, with their time", async (t) => {
    const pod = await bench.pod();
    const script = "echo first; echo second >&2; echo third";
    const { id, logPath } = await bench.ran(pod, script, { logPath: "main_0.log" });
    t.equal(logPath, join(pod.config.logDirectory, "main_0.log"));
    const lines = await until("the log", async () => {
      const found = await bench.log(id);
      return found.length >= 3 && found;
    });
    const of = (stream: string) => lines.filter((line) => line.stream === stream).map(({ text }) => text);
    t.same(of("stdout"), ["first", "third"]);
    t.same(of("stderr"), ["second"]);
    for (const { time, tag } of lines) {
      t.equal(tag, "F");
      t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(Z|[+-]\d\d:\d\d)$/);
    }
    await bench.removePod(pod.id);
    t.ok(existsSync(logPath), "the file is left to the caller");
  });

  t.test("a long line comes in pieces that can be put together", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const script = "dd if=/dev/zero bs=1000 count=40 2>/dev/null | tr '\\0' x; echo; echo -n end";
    const { id } = await bench.ran(pod, script);
    const lines = await until("the log", async () => {
      const found = await bench.log(id);
      return found.at(-1)?.text === "end" && found;
    });
    const first = lines.findIndex(({ tag }) => tag === "F");
    t.ok(first > 0, "in more than one piece");
    t.equal(
      lines
        .slice(0, first + 1)
        .map(({ text }) => text)
        .join("").length,
      40_000,
    );
    await bench.removePod(pod.id);
  });

  t.test("reopenContainerLog goes on in a new file", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const script = "n=0; while :; do echo line $n; n=$((n+1)); sleep 0.05; done";
    const id = await bench.started(pod, { command: ["sh", "-c", script] });
    await bench.logged(id, "line 0");
    const { logPath } = await bench.status(id);
    const rotated = `${logPath}.1`;
    renameSync(logPath, rotated);
    await bench.runtime.runtime.reopenContainerLog({ containerId: id }, within(30_000));
    t.ok(existsSync(logPath), "the new file is there when the call is answered");
    await until("lines in the new file", () => parseLog(readFileSync(logPath, "utf8")).length > 1);
    await bench.stop(id);
    const numbers = [rotated, logPath]
      .flatMap((path) => parseLog(readFileSync(path, "utf8")))
      .map(({ text }) => Number(text.replace("line ", "")));
    t.same(
      numbers,
      Array.from(numbers, (_, index) => index),
      "no line is lost or doubled",
    );
    await t.rejects(bench.runtime.runtime.reopenContainerLog({ containerId: id }, within(30_000)));
    await bench.removePod(pod.id);
  });

  t.test("a container without a log path has none", { skip: bench.lacks("kernel") }, async (t) => {
    const pod = await bench.pod();
    const status = await bench.ran(pod, "echo unheard", { logPath: "" });
    t.equal(status.exitCode, 0);
    await bench.removePod(pod.id);
  });
}
