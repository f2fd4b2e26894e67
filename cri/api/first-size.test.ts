import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { firstSize } from "./first-size.ts";
import type { TerminalSize } from "./sessions.ts";

async function* given(...sizes: TerminalSize[]): AsyncGenerator<TerminalSize> {
  yield* sizes;
}

async function all(sizes: AsyncIterable<TerminalSize>): Promise<TerminalSize[]> {
  const found: TerminalSize[] = [];
  for await (const size of sizes) found.push(size);
  return found;
}

const small = { width: 80, height: 25 };
const large = { width: 200, height: 50 };

t.test("firstSize() gives the first size apart, and the later ones after it", async (t) => {
  const { first, later } = await firstSize(given(small, large, { width: 0, height: 9 }), new FakeClock());
  t.same(first, small);
  t.same(await all(later), [large], "what is no size is left out");
});

t.test("firstSize() has none where none is asked for, or the client is gone", async (t) => {
  const none = await firstSize(undefined, new FakeClock());
  t.same([none.first, await all(none.later)], [undefined, []]);
  const over = await firstSize(given(), new FakeClock());
  t.same([over.first, await all(over.later)], [undefined, []]);
  const broken = async function* (): AsyncGenerator<TerminalSize> {
    yield* given();
    throw new Error("reset");
  };
  const gone = await firstSize(broken(), new FakeClock());
  t.same([gone.first, await all(gone.later)], [undefined, []]);
});

t.test("firstSize() waits a moment only, and a late first size is followed all the same", async (t) => {
  const clock = new FakeClock();
  const send = Promise.withResolvers<void>();
  const late = async function* (): AsyncGenerator<TerminalSize> {
    await send.promise;
    yield large;
  };
  const opened = firstSize(late(), clock);
  await clock.advance(1000);
  const { first, later } = await opened;
  t.equal(first, undefined);
  send.resolve();
  t.same(await all(later), [large]);
});
