import fc from "fast-check";
import t from "tap";
import { isFault } from "../base/fault.ts";
import { isLabelKey, labelSelectorOf, parseFieldSelector, parseLabelSelector } from "./selector.ts";

const labels = { app: "cart", tier: "web", weight: "10", empty: "" };

const matching: [string, boolean][] = [
  ["", true],
  ["app=cart", true],
  ["app==cart", true],
  ["app = cart , tier = web", true],
  ["app!=cart", false],
  ["missing!=cart", true],
  ["app in (cart,shop)", true],
  ["app in(shop)", false],
  ["missing notin (a)", true],
  ["app notin (cart)", false],
  ["app", true],
  ["missing", false],
  ["!missing", true],
  ["!app", false],
  ["weight>9", true],
  ["weight>10", false],
  ["weight<11", true],
  ["app>1", false],
  ["empty=", true],
  ["empty in ()", true],
  ["empty in (,a)", true],
  ["app=,tier", false],
  ["constructor", false],
  ["app=cart,tier in (db),weight", false],
  ["example.com/app!=x", true],
];
for (const [text, expected] of matching) {
  t.test(`parseLabelSelector() of "${text}" ${expected ? "matches" : "does not match"}`, async (t) => {
    t.equal(parseLabelSelector(text).matches(labels), expected);
  });
}

for (const wrong of [
  ",",
  "app=cart,",
  "=x",
  "app=a=b",
  "app in",
  "app in (",
  "app in (a",
  "app in a",
  "a b",
  "!",
  "!!a",
  "-a",
  "a/b/c",
  "a=-",
  "a>x",
  "a=b,,c",
  "/a",
]) {
  t.test(`parseLabelSelector() refuses "${wrong}"`, async (t) => {
    t.throws(() => parseLabelSelector(wrong), { code: "invalid" });
  });
}

t.test("parseLabelSelector() prints sorted, and reads its own print", async (t) => {
  const printed = parseLabelSelector("z!=1,c in (y,x),!d,a==b,e,f>3").toString();
  t.equal(printed, "a=b,c in (x,y),!d,e,f>3,z!=1");
  t.equal(parseLabelSelector(printed).toString(), printed);
});

t.test("labelSelectorOf() matches nothing when absent and everything when empty", async (t) => {
  t.equal(labelSelectorOf(undefined).matches({}), false);
  t.equal(labelSelectorOf(null).isEverything, false);
  t.equal(labelSelectorOf({}).matches(undefined), true);
  t.equal(labelSelectorOf({}).isEverything, true);
});

t.test("labelSelectorOf() joins labels and expressions", async (t) => {
  const selector = labelSelectorOf({
    matchLabels: { app: "cart" },
    matchExpressions: [
      { key: "tier", operator: "In", values: ["web", "db"] },
      { key: "old", operator: "DoesNotExist" },
      { key: "weight", operator: "Exists" },
      { key: "zone", operator: "NotIn", values: ["a"] },
    ],
  });
  t.equal(selector.matches(labels), true);
  t.equal(selector.matches({ ...labels, old: "" }), false);
  t.equal(selector.toString(), "app=cart,!old,tier in (db,web),weight,zone notin (a)");
  t.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "Like" }] }), { code: "invalid" });
  t.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "constructor" }] }), { code: "invalid" });
  t.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "In", values: [] }] }), {
    code: "invalid",
  });
  t.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] }), {
    code: "invalid",
  });
});

t.test("isLabelKey() wants a DNS prefix and a short name", async (t) => {
  t.ok(isLabelKey("app.kubernetes.io/name"));
  t.ok(isLabelKey("A_b.c"));
  t.notOk(isLabelKey("Example.com/name"));
  t.notOk(isLabelKey("a".repeat(64)));
  t.notOk(isLabelKey("a/"));
});

t.test("parseFieldSelector() compares, negates and unescapes", async (t) => {
  const fields: Record<string, string> = { "metadata.name": "a,b=c\\", "spec.nodeName": "pi" };
  const get = (field: string) => fields[field];
  t.equal(parseFieldSelector("").isEverything, true);
  t.equal(parseFieldSelector("spec.nodeName=pi").matches(get), true);
  t.equal(parseFieldSelector("spec.nodeName==pi,status.phase!=Failed").matches(get), true);
  t.equal(parseFieldSelector("spec.nodeName!=pi").matches(get), false);
  t.equal(parseFieldSelector("status.phase=").matches(get), true);
  t.equal(parseFieldSelector("metadata.name=a\\,b\\=c\\\\").matches(get), true);
  t.equal(parseFieldSelector("metadata.name=a\\,b\\=c\\\\").toString(), "metadata.name=a\\,b\\=c\\\\");
  t.equal(parseFieldSelector("a=1,b=2").exactly("b"), "2");
  t.equal(parseFieldSelector("a=1,b!=2").exactly("b"), undefined);
});

for (const wrong of ["name", "=x", "!=x", "a=b=c", "a=\\x", "a=\\"]) {
  t.test(`parseFieldSelector() refuses "${wrong}"`, async (t) => {
    t.throws(() => parseFieldSelector(wrong), { code: "invalid" });
  });
}

t.test("both parsers answer any text with a matcher or a Fault", async () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[ab=!<>(),\\ in.]{0,24}$/));
  fc.assert(
    fc.property(text, (source) => {
      for (const parse of [parseLabelSelector, parseFieldSelector]) {
        try {
          const printed = parse(source).toString();
          if (parse(printed).toString() !== printed) return false;
        } catch (error) {
          if (!isFault(error, "invalid")) return false;
        }
      }
      return true;
    }),
  );
});
