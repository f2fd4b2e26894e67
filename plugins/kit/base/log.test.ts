import t from "tap";
import { Fault } from "./fault.ts";
import { noLog, openLog } from "./log.ts";

function collect(options: { level: "info" | "debug"; human: boolean }) {
  const lines: string[] = [];
  const log = openLog({ ...options, to: { write: (line: string) => void lines.push(line) } });
  return { log, lines };
}

t.test("openLog() writes JSON lines with the level's name, time, facts and a short error", async (t) => {
  const { log, lines } = collect({ level: "info", human: false });
  log.child({ pod: "a" }).error({ err: new Fault("conflict", "no", { cause: new Error("deep") }), n: 1 }, "failed");
  log.debug({}, "hidden");
  t.equal(lines.length, 1);
  const line = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
  t.match(line, {
    level: "error",
    pod: "a",
    n: 1,
    msg: "failed",
    err: { message: "no", code: "conflict", cause: "deep" },
  });
  t.match(line["time"], /^\d{4}-\d\d-\d\dT/);
  t.equal((line["err"] as { stack?: string }).stack, undefined);
});

t.test("openLog() tells stacks at debug level only", async (t) => {
  const { log, lines } = collect({ level: "debug", human: false });
  log.warn({ err: new Error("x") }, "y");
  t.match((JSON.parse(lines[0] ?? "") as { err: { stack: string } }).err.stack, /log\.test/);
});

t.test("openLog() writes for people where asked", async (t) => {
  const { log, lines } = collect({ level: "info", human: true });
  log.info({ pod: "shop/cart-0", ports: [80] }, "started");
  log.warn({ err: new Error("gone") }, "lost");
  t.match(lines[0], /^\d\d:\d\d:\d\d info {2}started pod=shop\/cart-0 ports=\[80\]\n$/);
  t.match(lines[1], /^\d\d:\d\d:\d\d warn {2}lost: gone\n$/);
});

t.test("noLog says nothing, also as a child", async (t) => {
  t.equal(noLog.child({ a: 1 }), noLog);
  noLog.error({}, "x");
});

t.test("setLevel() changes what a log and its children tell", async (t) => {
  const lines: string[] = [];
  const log = openLog({ level: "info", human: false, to: { write: (line: string) => void lines.push(line) } });
  const child = log.child({ part: "a" });
  child.debug({}, "one");
  child.setLevel?.("debug");
  child.debug({ err: new Error("oops") }, "two");
  log.debug({}, "three");
  log.setLevel?.("warn");
  child.info({}, "four");
  const told = lines.map((line) => JSON.parse(line) as { msg: string; err?: { stack?: string } });
  t.same(
    told.map(({ msg }) => msg),
    ["two", "three"],
  );
  t.match(told[0]?.err?.stack, /log\.test\.ts/, "stacks come with debug");
});
