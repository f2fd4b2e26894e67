import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { until } from "../../../test/harness/until.ts";
import { branch, uninterrupted, unlessStopped, untilStopped, within } from "./call.ts";

t.test("within() stops after its time and with its parent", async (t) => {
  const call = within(1);
  await until("the time to pass", () => call.signal.aborted);
  t.equal((call.signal.reason as Error).name, "TimeoutError");
  const parent = new AbortController();
  const child = within(60_000, { signal: parent.signal });
  parent.abort();
  t.equal(child.signal.aborted, true);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

t.test("within() is not forgotten when garbage is collected before anybody listens", async (t) => {
  const calls = Array.from({ length: 100 }, () => within(1));
  // Of two timers that run out, the one that was set first and for less does so first.
  await new Promise((resolve) => setTimeout(resolve, 5));
  collectGarbage();
  t.equal(calls.filter(({ signal }) => !signal.aborted).length, 0);
});

t.test("branch() stops with its parent until it is ended, and leaves nothing on it", async (t) => {
  const parent = new AbortController();
  const kept = branch(parent);
  const ended = branch(parent);
  ended.end();
  ended.end();
  parent.abort(new Error("enough"));
  t.equal(kept.call.signal.aborted, true);
  t.match(kept.call.signal.reason, { message: "enough" });
  t.equal(ended.call.signal.aborted, false);
  t.equal(branch(parent).call.signal.aborted, true, "a parent that was stopped before");
});

t.test("untilStopped() gives all of a source, and does not wait for one that never ends", async (t) => {
  async function* three() {
    yield* [1, 2, 3];
  }
  const seen: number[] = [];
  for await (const one of untilStopped(three(), uninterrupted)) seen.push(one);
  t.same(seen, [1, 2, 3]);
  const stop = new AbortController();
  async function* stuck() {
    yield 1;
    await new Promise(() => {});
  }
  for await (const one of untilStopped(stuck(), stop)) {
    seen.push(one);
    setTimeout(() => stop.abort(), 1);
  }
  t.same(seen, [1, 2, 3, 1]);
});

t.test("untilStopped() and unlessStopped() keep no reference to earlier results", async (t) => {
  const stop = new AbortController();
  const given: WeakRef<object>[] = [];
  const make = () => {
    const one = {};
    given.push(new WeakRef(one));
    return one;
  };
  async function* many() {
    for (let count = 0; count < 100; count++) yield make();
  }
  for await (const _ of untilStopped(many(), stop));
  for (let count = 0; count < 100; count++) await unlessStopped(Promise.resolve().then(make), stop);
  // A WeakRef holds its target until the job that made it ends.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  t.equal(given.length, 200);
  t.ok(given.filter((one) => one.deref()).length <= 2, "only the last of each may still be in a variable");
});

t.test("unlessStopped() ends with the work, with its failure, or with the call", async (t) => {
  const stop = new AbortController();
  t.equal(await unlessStopped(Promise.resolve(1), stop), 1);
  await t.rejects(unlessStopped(Promise.reject(new Error("failed")), stop), { message: "failed" });
  const waiting = unlessStopped(new Promise(() => {}), stop);
  stop.abort();
  t.equal(await waiting, undefined);
  t.equal(await unlessStopped(new Promise(() => {}), stop), undefined, "a call that was stopped before");
});
