import t from "tap";
import { FakeClock } from "./clock.ts";
import { Gate } from "./gate.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test("Gate lets only so many in, in order, also after a failure", async (t) => {
  const gate = new Gate({ width: 2, clock: new FakeClock(), patienceMs: 1000 });
  const began: number[] = [];
  const ends: (() => void)[] = [];
  const all = [0, 1, 2, 3].map((number) =>
    gate.run(async () => {
      began.push(number);
      await new Promise<void>((resolve, reject) => ends.push(number === 0 ? () => reject(new Error("no")) : resolve));
      return number;
    }),
  );
  await turn();
  t.same(began, [0, 1]);
  ends[0]?.();
  await t.rejects(all[0] as Promise<number>, { message: "no" });
  await turn();
  t.same(began, [0, 1, 2]);
  ends[1]?.();
  ends[2]?.();
  await turn();
  await turn();
  ends[3]?.();
  t.same(await Promise.all(all.slice(1)), [1, 2, 3]);
});

t.test("Gate lets the next in when one takes too long", async (t) => {
  const clock = new FakeClock();
  const gate = new Gate({ width: 1, clock, patienceMs: 1000 });
  let finish = () => {};
  const slow = gate.run(() => new Promise<void>((resolve) => (finish = resolve)));
  const next = gate.run(async () => "in");
  await clock.advance(1000);
  t.equal(await next, "in");
  finish();
  await slow;
  t.equal(await gate.run(async () => "again"), "again");
});
