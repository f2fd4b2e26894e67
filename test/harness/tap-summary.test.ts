import t from "tap";
import { summarizeTap } from "./tap-summary.ts";

t.test("summarizeTap() counts what the closing line says", async (t) => {
  const summary = summarizeTap("ok 1 - a\n1..1\n# { total: 3, pass: 2, fail: 1 }\n# time=1ms\n");
  t.match(summary, { passed: 2, failed: 1, skipped: 0, complete: true });
});

t.test("summarizeTap() keeps the failing lines and skip reasons", async (t) => {
  const summary = summarizeTap(
    "    ok 1 - fine\n    not ok 2 - wrong\n      ---\n      diff: |\n    1..2\nok 3 - later # SKIP no AppArmor here\n# { total: 3, pass: 1, fail: 1, skip: 1 }\n",
  );
  t.same(summary.failures, ["    not ok 2 - wrong", "      ---", "      diff: |"]);
  t.same(summary.skips, ["later: no AppArmor here"]);
  t.equal(summary.skipped, 1);
});

t.test("summarizeTap() tells a file that died before its end", async (t) => {
  t.equal(summarizeTap("ok 1 - a\n").complete, false);
});
