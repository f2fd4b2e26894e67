import t from "tap";
import {
  boolean,
  checkSettings,
  integer,
  listOf,
  mapOf,
  number,
  object,
  oneOf,
  optional,
  string,
  that,
  withDefault,
} from "./config-check.ts";

const shape = {
  path: string,
  level: withDefault(oneOf("debug", "info"), "info"),
  port: withDefault(integer({ min: 1, max: 65535 }), 80),
  ratio: optional(number({ min: 0, max: 1 })),
  verbose: withDefault(boolean, false),
  hosts: withDefault(listOf(string), []),
  labels: optional(mapOf(string)),
  tls: optional(object({ cert: string })),
};

t.test("checkSettings() completes what is missing", async (t) => {
  t.same(checkSettings({ path: "/x", tls: { cert: "c" }, labels: { a: "b" } }, shape), {
    path: "/x",
    level: "info",
    port: 80,
    ratio: undefined,
    verbose: false,
    hosts: [],
    labels: { a: "b" },
    tls: { cert: "c" },
  });
});

const wrong: [name: string, raw: unknown, message: RegExp][] = [
  ["an unknown key, naming the nearest", { path: "/", prot: 1 }, /settings: unknown key "prot"; did you mean "port"\?/],
  ["an unknown key in other case", { path: "/", Verbose: true }, /did you mean "verbose"/],
  ["an unknown key that is near to none", { path: "/", zzzzzz: 1 }, /unknown key "zzzzzz"; known are "path", "level"/],
  ["a nested unknown key", { path: "/", tls: { cert: "", kei: 1 } }, /settings\.tls: unknown key "kei"/],
  ["a missing key", {}, /settings\.path must be a string, not missing/],
  ["a wrong type", { path: 5 }, /settings\.path must be a string, not 5/],
  ["a wrong choice", { path: "/", level: "inof" }, /one of debug, info \(did you mean "info"\?\), not "inof"/],
  [
    "a number out of range",
    { path: "/", port: 70000 },
    /settings\.port must be a number of at least 1 of at most 65535, not 70000/,
  ],
  ["a fraction", { path: "/", port: 1.5 }, /whole number/],
  ["a wrong element", { path: "/", hosts: ["a", 1] }, /settings\.hosts\[1\] must be a string/],
  ["a list for an object", [], /settings must be an object, not a list/],
  ["an inherited name", JSON.parse('{"path":"/","__proto__":1}'), /unknown key "__proto__"/],
];
for (const [name, raw, message] of wrong) {
  t.test(`checkSettings() refuses ${name}`, async (t) => {
    t.throws(() => checkSettings(raw, shape), { code: "invalid", message });
  });
}

t.test("that() adds a test of one's own", async (t) => {
  const even = that(integer(), (value) => value % 2 === 0, "even");
  t.equal(even(2, "x"), 2);
  t.throws(() => even(3, "x"), { message: "x must be even, not 3" });
});
