import t from "tap";
import { isTrue } from "./query-flag.ts";

t.test("isTrue() holds for all but absence, false and 0", async (t) => {
  for (const value of ["true", "True", "1", "", "yes"]) t.ok(isTrue(value), `"${value}"`);
  for (const value of [null, "false", "False", "0"]) t.notOk(isTrue(value), `"${value}"`);
});
