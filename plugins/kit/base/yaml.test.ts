import t from "tap";
import { readYaml, readYamlDocuments, writeYaml } from "./yaml.ts";

t.test("readYaml() reads one document and merge keys", async (t) => {
  t.same(readYaml("base: &b {x: 1}\nuse:\n  <<: *b\n  y: 2\n", "f"), { base: { x: 1 }, use: { x: 1, y: 2 } });
  t.equal(readYaml("", "f"), undefined);
  t.same(readYaml("at: 2026-01-01T00:00:00Z", "f"), { at: "2026-01-01T00:00:00Z" }, "timestamps stay text");
});

t.test("readYamlDocuments() reads several", async (t) => {
  t.same(readYamlDocuments("a: 1\n---\nb: 2\n", "f"), [{ a: 1 }, { b: 2 }]);
});

t.test("readYaml() refuses what could hurt, naming where it stood", async (t) => {
  const bomb = ["a: &a [x,x,x,x,x,x,x,x,x]"];
  for (let i = 1; i < 9; i++)
    bomb.push(
      `${"abcdefghi"[i]}: &${"abcdefghi"[i]} [${Array(9)
        .fill(`*${"abcdefghi"[i - 1]}`)
        .join(",")}]`,
    );
  const rows = [
    {
      name: "alias bomb",
      text: bomb.join("\n"),
      message: /^Cannot read pods\.yaml: it holds more than 250000 values, those of its aliases included/,
    },
    { name: "deep nesting", text: "[".repeat(5000), message: /^Cannot read pods\.yaml: nesting exceeded/ },
    { name: "an alias inside of what it stands for", text: "a: &a [*a]", message: /nested deeper than 1000 levels/ },
    {
      name: "a chain of aliases",
      text: ["a0: &a0 x", ...Array.from({ length: 900 }, (_, n) => `a${n + 1}: &a${n + 1} [[[[*a${n}]]]]`)].join("\n"),
      message: /nested deeper than 1000 levels/,
    },
    { name: "bad syntax", text: "a: [1", message: /^Cannot read pods\.yaml: .*\(\d+:\d+\)/ },
    { name: "two documents", text: "a: 1\n---\nb: 1", message: /2 documents/ },
  ];
  for (const row of rows)
    t.throws(() => readYaml(row.text, "pods.yaml"), { code: "invalid", message: row.message }, row.name);
  const tricky = readYaml("__proto__: {polluted: yes}", "f") as object;
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  t.ok(Object.hasOwn(tricky, "__proto__"));
});

t.test("writeYaml() writes what readYaml() reads", async (t) => {
  const value = { a: [1, "two", null, true], b: { c: "x: y" } };
  t.same(readYaml(writeYaml(value), "f"), value);
});

t.test("readYaml() looks at what aliases share once", async (t) => {
  const bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
  for (let n = 1; n <= 12; n++) bomb.push(`a${n}: &a${n} [${`*a${n - 1},`.repeat(10)}]`);
  const calls = t.capture(Object, "values", Object.values);
  t.throws(() => readYaml(bomb.join("\n"), "x"), { code: "invalid", message: /more than 250000 values/ });
  const { length } = calls();
  t.ok(length < 50, `${length} looks at ${bomb.length} lists`);
  const shared = readYaml("a: &a [1, 2]\nb: [*a, *a]", "x");
  t.same(shared, {
    a: [1, 2],
    b: [
      [1, 2],
      [1, 2],
    ],
  });
});
