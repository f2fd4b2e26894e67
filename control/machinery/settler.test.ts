import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { settler } from "./settler.ts";

t.test("settler() runs one round at a time, and one more for all that was asked meanwhile", async (t) => {
  const gates: (() => void)[] = [];
  const round = () => new Promise<void>((resolve) => gates.push(resolve));
  const { again, settled } = settler(round, () => {}, uninterrupted);
  again();
  await Promise.resolve();
  for (let n = 0; n < 3; n++) again();
  t.equal(gates.length, 1, "the first is under way");
  gates[0]?.();
  while (gates.length < 2) await Promise.resolve();
  gates[1]?.();
  await settled();
  t.equal(gates.length, 2);
});

t.test("settler() tells of a round that failed, and works on", async (t) => {
  const heard: unknown[] = [];
  let rounds = 0;
  const fail = async () => {
    if (++rounds === 1) throw new Error("not now");
  };
  const { again, settled } = settler(fail, (error) => heard.push((error as Error).message), uninterrupted);
  again();
  await settled();
  again();
  await settled();
  t.same(heard, ["not now"]);
  t.equal(rounds, 2);
});

t.test("settler() does nothing after the stop, and tells of nothing that broke by it", async (t) => {
  const stop = new AbortController();
  const heard: unknown[] = [];
  let rounds = 0;
  const broken = async () => {
    rounds++;
    stop.abort();
    throw new Error("stopped");
  };
  const { again, settled } = settler(broken, (error) => heard.push(error), { signal: stop.signal });
  again();
  await settled();
  again();
  await settled();
  t.same({ rounds, heard }, { rounds: 1, heard: [] });
});
