import t from "tap";
import { slowStart } from "./slow-start.ts";

t.test("slowStart() doubles its batches until all is done", async (t) => {
  const batches: number[] = [];
  let running = 0;
  const result = await slowStart(10, async () => {
    running++;
    await new Promise((resolve) => setImmediate(resolve));
    if (running > 0) batches.push(running);
    running = 0;
  });
  t.same(batches, [1, 2, 4, 3]);
  t.same(result, { succeeded: 10 });
});

t.test("slowStart() stops after the batch that failed", async (t) => {
  let calls = 0;
  const result = await slowStart(100, async (index) => {
    calls++;
    if (index === 2) throw new Error("quota");
  });
  t.equal(calls, 3);
  t.match(result, { succeeded: 2, error: { message: "quota" } });
});
