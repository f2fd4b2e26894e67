import t from "tap";
import { bytes, cores, tickLabels } from "./words.ts";

t.test("tickLabels() shows no value twice", async (t) => {
  t.same(tickLabels([0, 0.25, 0.5, 1], cores), ["0m", "", "1m", ""]);
  t.same(tickLabels([0, 0.25, 0.5, 1], bytes), ["0 B", "", "1 B", ""]);
  t.same(tickLabels([0, 1024, 2048], bytes), ["0 B", "1.0 KiB", "2.0 KiB"]);
});
