import t from "tap";
import { Fault, isFault, toFault } from "./fault.ts";

t.test("Fault carries its code, cause and details", async (t) => {
  const cause = new Error("deep");
  const fault = new Fault("conflict", "no", { cause, details: { a: 1 } });
  t.match(fault, { name: "Fault", code: "conflict", message: "no", details: { a: 1 } });
  t.equal(fault.cause, cause);
  t.ok(fault instanceof Error);
  t.equal("cause" in new Fault("invalid", "x"), false);
});

t.test("isFault() knows Faults, of any or of the given codes", async (t) => {
  const fault = new Fault("expired", "x");
  t.equal(isFault(fault), true);
  t.equal(isFault(fault, "conflict", "expired"), true);
  t.equal(isFault(fault, "conflict"), false);
  t.equal(isFault(new Error("x")), false);
  t.equal(isFault(undefined), false);
});

t.test("toFault() keeps Faults, wraps errors and anything else, and takes an abort for a time-out", async (t) => {
  const fault = new Fault("expired", "x");
  t.equal(toFault(fault, "doing"), fault);
  t.match(toFault(new Error("no"), "Reading", "unavailable"), { code: "unavailable", message: "Reading: no" });
  t.match(toFault("text", "Reading"), { code: "internal", message: "Reading: text" });
  t.match(toFault(AbortSignal.abort().reason, "Reading"), { code: "timeout" });
});

t.test("isFault() knows a Fault by its shape, so that plugins need no copy of the class", async (t) => {
  const own = Object.assign(new Error("no"), { name: "Fault", code: "forbidden" });
  t.ok(isFault(own, "forbidden"));
  t.equal(toFault(own, "Doing"), own);
  t.notOk(isFault(Object.assign(new Error("no"), { name: "Fault", code: "ENOENT" })));
  t.notOk(isFault(Object.assign(new Error("no"), { code: "forbidden" })));
  class Special extends Fault {}
  t.ok(new Special("conflict", "no") instanceof Fault);
  t.notOk(own instanceof Special || new Fault("conflict", "no") instanceof Special);
  t.notOk(isFault({ name: "Fault", code: "forbidden", message: "no" }));
});
