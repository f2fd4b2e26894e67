import { setImmediate } from "node:timers/promises";
import t from "tap";
import { Turns } from "./turns.ts";

t.test("take() lets others work between two turns", async (t) => {
  const turns = new Turns();
  const order: string[] = [];
  const work = async (name: string) => {
    await turns.take();
    order.push(name);
  };
  const others = (async () => {
    for (let n = 0; n < 4; n++) {
      await setImmediate();
      order.push("other");
    }
  })();
  await Promise.all([work("a"), work("b"), work("c"), others]);
  t.same(
    order.filter((name) => name !== "other"),
    ["a", "b", "c"],
  );
  t.notMatch(order.join(), /a,b|b,c/);
});
