import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { nodeSubject } from "../model/recorder.ts";
import { systemOoms, watchOom } from "./oom-watch.ts";

const oom = (number: number, constraint: string, task: string, pid: number) =>
  `6,${number},5678901,-;oom-kill:constraint=${constraint},nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a,b,task=${task},pid=${pid},uid=0\n`;

const records = [
  "6,1,10,-;Linux version 6\n",
  oom(2, "CONSTRAINT_NONE", "old", 10),
  oom(3, "CONSTRAINT_MEMCG", "boxed", 11),
  oom(4, "CONSTRAINT_NONE", "a name, of its own", 12),
];

t.test("systemOoms() are those of the whole machine, and new", async (t) => {
  t.same(systemOoms(records, 2), [{ task: "a name, of its own", pid: 12 }]);
  t.same(systemOoms(records, 4), []);
});

t.test("watchOom() tells each of them once", async (t) => {
  const clock = new FakeClock();
  const stop = new AbortController();
  let [count, known, reads] = [1, 2, 0];
  const events: string[] = [];
  const sources = { count: () => count, records: () => (reads++, records.slice(0, known)) };
  const recorder = {
    event: (_: unknown, type: string, reason: string, message: string) =>
      void events.push(`${type} ${reason}: ${message}`),
  };
  const node = nodeSubject("n");
  const running = watchOom({ clock, recorder, node, log: noLog, sources }, stop);
  await clock.advance(20_000);
  t.same([events, reads], [[], 1], "what was before is not told, and nothing is read without need");
  [count, known] = [3, 4];
  await clock.advance(10_000);
  await clock.advance(10_000);
  t.same(events, ["Warning SystemOOM: System OOM encountered, victim process: a name, of its own, pid: 12"]);
  stop.abort();
  await clock.advance(10_000);
  await running;
});

t.test("watchOom() reads this kernel's own messages, or says that it cannot", async (t) => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const said: string[] = [];
  const log = { ...noLog, info: (_: object, message: string) => void said.push(message) };
  const running = watchOom({ clock, recorder: { event: () => {} }, node: nodeSubject("n"), log }, stop);
  await clock.advance(10_000);
  stop.abort();
  await clock.advance(10_000);
  await running;
  t.ok(said.length === 0 || /cannot be read/.test(said[0] ?? ""));
});
