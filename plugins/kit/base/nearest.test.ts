import t from "tap";
import { nearest } from "./nearest.ts";

t.test("nearest() finds small slips only", async (t) => {
  t.equal(nearest("timout", ["timeout", "port"]), "timeout");
  t.equal(nearest("abc", ["xyz"]), undefined);
  t.equal(nearest("prot", ["port"]), "port", "letters swapped");
  t.equal(nearest("Data-Dir", ["data-dir"]), "data-dir", "another case");
  t.equal(nearest("x", []), undefined);
});
