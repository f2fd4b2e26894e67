import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { until } from "../../../test/harness/until.ts";
import { branch, uninterrupted, untilStopped, within } from "./call.ts";

t.test("within() stops after its time and with its parent", async (t) => {
  const call = within(1);
  await until("the time to pass", () => call.signal.aborted);
  t.equal((call.signal.reason as Error).name, "TimeoutError");
  const parent = new AbortController();
  const child = within(60_000, { signal: parent.signal });
  parent.abort();
  t.equal(child.signal.aborted, true);
});

t.test("within() is not forgotten when garbage is collected before anybody listens", async (t) => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
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
