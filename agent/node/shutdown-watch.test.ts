import t from "tap";
import type { Call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import type { Logind } from "../host/logind.ts";
import { until } from "../../test/harness/until.ts";
import { ShutdownWatch } from "./shutdown-watch.ts";

/** A logind that counts its locks. */
class FakeLogind implements Logind {
  locks = 0;
  tell: (isGoingDown: boolean) => void = () => {};
  readonly #end = Promise.withResolvers<void>();
  readonly closed = this.#end.promise;

  longestDelayMs = async () => 5000;

  async delayShutdown() {
    this.locks++;
    let isOpen = true;
    return {
      close: () => {
        if (isOpen) this.locks--;
        isOpen = false;
      },
    };
  }

  async onPrepareForShutdown(then: (isGoingDown: boolean) => void) {
    this.tell = then;
  }

  close() {
    this.#end.resolve();
  }
}

const quick = { ...systemClock, sleep: (_ms: number, call: Call) => systemClock.sleep(1, call) };

function watched(logind: Logind[], more: { log?: Log; raise?: () => Promise<void> } = {}) {
  const stop = new AbortController();
  const done: string[] = [];
  const ended = Promise.withResolvers<void>();
  const watch = new ShutdownWatch({
    open: async () => logind.shift() ?? Promise.reject(new Fault("unavailable", "There is no logind")),
    raise: more.raise ?? (async () => void done.push("raised")),
    graceMs: 60_000,
    async shutDown() {
      done.push("shutting down");
      await ended.promise;
      done.push("down");
    },
    calledOff: () => void done.push("called off"),
    clock: quick,
    log: more.log ?? noLog,
  });
  const running = watch.run(stop);
  return { done, ended, running, stop };
}

t.test(
  "ShutdownWatch holds a lock until every pod has ended, and takes it again when the machine stays up",
  async (t) => {
    const logind = new FakeLogind();
    const { done, ended, running, stop } = watched([logind]);
    await until("the lock", () => logind.locks === 1);
    logind.tell(true);
    logind.tell(false);
    await until("pods to be ended", () => done.includes("shutting down"));
    t.equal(logind.locks, 1, "held while pods end");
    ended.resolve();
    await until("the word that it stays up", () => done.includes("called off"));
    t.same(done, ["raised", "shutting down", "down", "called off"], "one after the other");
    await until("the lock again", () => logind.locks === 1);
    stop.abort();
    await running;
    t.equal(logind.locks, 0, "let go with the watch");
  },
);

t.test("ShutdownWatch lets the machine go on after the pods", async (t) => {
  const logind = new FakeLogind();
  const { ended, running, stop } = watched([logind]);
  await until("the lock", () => logind.locks === 1);
  ended.resolve();
  logind.tell(true);
  await until("the lock to be let go", () => logind.locks === 0);
  stop.abort();
  await running;
  t.equal(logind.locks, 0);
});

t.test("ShutdownWatch looks for a logind that was lost, and says once that there is none", async (t) => {
  const first = new FakeLogind();
  const second = new FakeLogind();
  const logind: Logind[] = [first];
  const lines: string[] = [];
  const log: Log = { ...noLog, info: (_facts: unknown, text?: string) => void lines.push(String(text)) };
  let looks = 0;
  const open = logind.shift.bind(logind);
  logind.shift = () => {
    looks++;
    return open();
  };
  const { running, stop } = watched(logind, { log });
  await until("the lock", () => first.locks === 1);
  first.close();
  await until("several looks", () => looks > 4);
  t.equal(first.locks, 1, "the old lock holds until there is another");
  t.same(lines, ["logind does not tell of the machine's end: pods are ended when the agent is stopped"]);
  logind.push(second);
  await until("the other lock", () => second.locks === 1);
  t.equal(first.locks, 0);
  stop.abort();
  await running;
  t.equal(second.locks, 0);
});

t.test("ShutdownWatch goes on where logind does not wait long enough", async (t) => {
  const logind = new FakeLogind();
  const { running, stop } = watched([logind], { raise: () => Promise.reject(new Fault("unavailable", "too short")) });
  await until("the lock", () => logind.locks === 1);
  stop.abort();
  await running;
  t.pass();
});
