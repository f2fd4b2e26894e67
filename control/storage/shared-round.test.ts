import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { SharedRound } from "./shared-round.ts";

function rounds() {
  const begun: PromiseWithResolvers<number>[] = [];
  const shared = new SharedRound(() => {
    const round = Promise.withResolvers<number>();
    begun.push(round);
    return round.promise;
  });
  return { begun, shared };
}

t.test("SharedRound.ask() is answered by a round that began after it", async (t) => {
  const { begun, shared } = rounds();
  const first = shared.ask(call);
  const second = shared.ask(call);
  const third = shared.ask(call);
  t.equal(begun.length, 1, "one round is under way");
  begun[0]?.resolve(1);
  t.equal(await first, 1);
  t.equal(begun.length, 2, "the next is for all who came meanwhile");
  const fourth = shared.ask(call);
  begun[1]?.resolve(2);
  t.same(await Promise.all([second, third]), [2, 2]);
  begun[2]?.resolve(3);
  t.equal(await fourth, 3);
  const fifth = shared.ask(call);
  t.equal(begun.length, 4, "with none under way one begins at once");
  begun[3]?.resolve(4);
  t.equal(await fifth, 4);
});

t.test("SharedRound.ask() tells a failure to those of the round only", async (t) => {
  const { begun, shared } = rounds();
  const first = shared.ask(call);
  const second = shared.ask(call);
  begun[0]?.reject(new Error("no"));
  await t.rejects(first, { message: "no" });
  begun[1]?.resolve(2);
  t.equal(await second, 2);
});

t.test("SharedRound.ask() lets one leave without the others", async (t) => {
  const { begun, shared } = rounds();
  const stop = new AbortController();
  const first = shared.ask(call);
  const second = shared.ask({ signal: stop.signal });
  stop.abort(new Error("gone"));
  await t.rejects(second, { message: "gone" });
  await t.rejects(shared.ask({ signal: stop.signal }), { message: "gone" });
  begun[0]?.resolve(1);
  t.equal(await first, 1);
  begun[1]?.resolve(2);
});
