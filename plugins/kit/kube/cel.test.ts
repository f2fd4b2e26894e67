import t from "tap";
import { type CelSchema, costOfOneExpression, type Declared, openCel } from "./cel.ts";

const cel = await openCel();
const value = {
  replicas: 3,
  ratio: 1.5,
  name: "web-1",
  image: "registry.example/app:1.2",
  tags: ["b", "a"],
  limits: { cpu: "500m", memory: "1Gi" },
  ports: [{ port: 80, name: "http" }, { port: 443 }],
  nothing: null,
};

function evaluate(expression: string, self: unknown = value, schema?: CelSchema, units = costOfOneExpression): unknown {
  const program = cel.compile(expression, { variables: { self: schema && cel.declare(schema) } });
  return program.evaluate({ self: cel.toCel(self, schema) }, cel.budget(units));
}

const truths = [
  "self.replicas >= 1 && self.replicas <= 5",
  "self.replicas + 1 == 4",
  "self.ratio > 1.0",
  "has(self.name) && !has(self.nope)",
  "self.ports.all(p, p.port > 0 && p.port < 65536)",
  "self.ports.exists_one(p, has(p.name) && p.name == 'http')",
  "self.ports.filter(p, p.port > 100).map(p, p.port) == [443]",
  "self.tags.isSorted() == false",
  "self.tags.indexOf('a') == 1",
  "[1, 2, 3].sum() == 6 && [1, 3, 2].max() == 3 && [2, 1].min() == 1",
  "self.name.matches('^[a-z]+-[0-9]+$')",
  "self.image.find('[0-9.]+$') == '1.2'",
  "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1']",
  "self.name.replace('-', '_') == 'web_1' && 'aaa'.replace('a', 'b', 2) == 'bba'",
  "'a,b'.split(',').join('+') == 'a+b'",
  "'abc'.charAt(1) == 'b'",
  "'%s has %d'.format(['web', 3]) == 'web has 3'",
  "quantity(self.limits.memory).isGreaterThan(quantity('512Mi'))",
  "quantity('1').add(quantity('500m')) == quantity('1500m') && quantity('2').asInteger() == 2",
  "isQuantity('1Gi') && !isQuantity('big')",
  "url('https://example.com:8443/a?b=c').getHost() == 'example.com:8443'",
  "url('/a/b').getEscapedPath() == '/a/b' && !isURL('not a url')",
  "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('010.0.0.1') && ip.isCanonical('127.0.0.1')",
  "cidr('10.0.0.0/8').containsIP('10.2.3.4') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
  "cidr('10.1.0.0/16').prefixLength() == 16 && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
  "sets.contains(self.tags, ['a']) && sets.equivalent([1, 2], [2, 1]) && !sets.intersects([1], [2])",
  "!format.dns1123Label().validate('web').hasValue()",
  "format.dns1123Label().validate('No_Good').hasValue()",
  "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
  "self.?nope.orValue('x') == 'x'",
  "self.nothing == null",
  "[self.replicas * 2].all(n, n + n == 12)",
  "sign(quantity('-1')) == -1",
  "self.limits['cpu'] == '500m' && 'cpu' in self.limits",
  "duration('1h') > duration('59m') && timestamp('2026-01-01T00:00:00Z').getFullYear() == 2026",
  "type(self.replicas) == int && type(self.ratio) == double",
  "self.limits.size() == 2 && size(self.name) == 5",
];

for (const expression of truths) {
  t.test(`${expression} holds`, async (t) => {
    t.equal(evaluate(expression), true);
  });
}

t.test("toCel() follows the schema", async (t) => {
  const schema: CelSchema = {
    type: "object",
    properties: {
      weight: { type: "number" },
      at: { type: "string", format: "date-time" },
      wait: { type: "string", format: "duration" },
      namespace: { type: "string" },
      "with-dash": { type: "integer" },
      labels: { type: "object", additionalProperties: { type: "string" } },
    },
  };
  const self = {
    weight: 2,
    at: "2026-01-01T00:00:00Z",
    wait: "90s",
    namespace: "x",
    "with-dash": 1,
    labels: { "a-b": "c" },
  };
  const holds = (expression: string) => evaluate(expression, self, schema);
  t.equal(holds("self.weight == 2.0 && type(self.weight) == double"), true);
  t.equal(holds("self.at < timestamp('2027-01-01T00:00:00Z')"), true);
  t.equal(holds("self.wait == duration('1m30s')"), true);
  t.equal(holds("self.__namespace__ == 'x' && self.with__dash__dash == 1"), true);
  t.equal(holds("self.labels['a-b'] == 'c' && self.labels.size() == 1"), true);
});

t.test("compile() refuses what cannot be", async (t) => {
  const schema: CelSchema = {
    type: "object",
    properties: {
      a: { type: "object", properties: { b: { type: "integer" } } },
      list: { type: "array", items: { type: "object", properties: { c: { type: "string" } } } },
    },
  };
  const compile = (expression: string, result?: "bool") => () =>
    cel.compile(expression, { variables: { self: cel.declare(schema) }, ...(result ? { result } : {}) });
  t.throws(compile("self.a.x == 1"), { code: "invalid", message: /undefined field 'x'/ });
  t.throws(compile("self.list.all(e, e.d == 'x')"), { message: /undefined field 'd'/ });
  t.throws(compile("other == 1"), { message: /<input>:1:1: undeclared reference to 'other'/ });
  t.throws(compile("self.a.b =="), { code: "invalid", message: /compilation failed/ });
  t.throws(compile("self.a.b = 42"), { message: /<input>:1:10: Syntax error: / });
  t.throws(compile("1 + 'a'"), { code: "invalid" });
  t.throws(compile("'text'", "bool"), { message: /must evaluate to bool/ });
  t.throws(compile("x".repeat(70_000)), { code: "invalid" });
  t.throws(compile("(".repeat(5_000)), { code: "invalid" });
  t.doesNotThrow(compile("self.a.b > 0 && has(self.list) && self.list.exists(e, e.c == 'x')", "bool"));
});

t.test("evaluate() tells what went wrong", async (t) => {
  t.throws(() => evaluate("self.nope == 1"), { code: "invalid", message: /^no such key: nope/ });
  t.throws(() => evaluate("self.replicas / 0"), { message: /division by zero/ });
  t.throws(() => evaluate("'a'.matches('(' + '')"), { code: "invalid", message: /regexp/ });
  t.throws(() => evaluate("9223372036854775807 + 1"), { message: /overflow/ });
});

const numbers = Array.from({ length: 400 }, (_, index) => index);
const bombs: Record<string, string> = {
  "nested loops": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))",
  "doubling text": `['xxxxxxxxxxxxxxxx']${".map(a, a + a)".repeat(40)}.all(a, size(a) > 0)`,
  "doubling lists": `[self]${".map(a, a + a)".repeat(30)}.all(a, size(a) > 0)`,
  "multiplying replace": "[self.map(x, 'xxxxxxxxxxxxxxxxxxxxxxxx').join('')].all(a, a.replace('', a).size() > 0)",
  "multiplying join":
    "[self.map(x, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx').join('')].all(a, self.map(x, a).join(a).size() > 0 && self.all(y, self.map(x, a).join(a).size() > 0))",
  backtracking: `self.all(x, '${"a".repeat(5000)}!'.matches('(a+)+$') == false) && self.all(x, self.all(y, '${"a".repeat(500)}!'.matches('(a|aa)+$') == false))`,
  "a spent budget behind ||": "self.all(a, self.all(b, self.all(c, a + b + c >= 0))) || true",
  "deep comparisons": "self.all(x, self.all(y, self == self.map(z, z)))",
};

for (const [name, expression] of Object.entries(bombs)) {
  t.test(`${name} end at the cost limit`, async (t) => {
    t.throws(() => evaluate(expression, numbers), { code: "invalid", message: /cost limit exceeded/ });
  });
}

t.test("an error inside a loop does not hide a spent budget, and programs can be used again", async (t) => {
  const program = cel.compile("self.all(a, self.all(b, a + b >= 0))", { variables: { self: undefined } });
  const self = cel.toCel(numbers);
  for (let round = 0; round < 2; round++) {
    t.throws(() => program.evaluate({ self }, cel.budget(5_000)), { message: /cost limit exceeded/ });
    t.equal(program.evaluate({ self: cel.toCel([1, 2]) }, cel.budget(5_000)), true);
  }
});

t.test("compile() tells what is wrong with types in upstream's words, and what an expression may cost", async (t) => {
  const schema: CelSchema = {
    type: "object",
    properties: {
      count: { type: "integer" },
      name: { type: "string", maxLength: 10 },
      tags: { type: "array", items: { type: "string" } },
      limits: { type: "object", maxProperties: 10, additionalProperties: { type: "integer" } },
    },
  };
  const self = cel.declare(schema) as Declared;
  const compile = (expression: string) => cel.compile(expression, { variables: { self }, sizesFrom: self });
  // Column, message; as kube-apiserver v1.32 answers.
  const wrong: readonly (readonly [string, number, string])[] = [
    ["self.count == 'a'", 12, "found no matching overload for '_==_' applied to '(int, string)'"],
    ["self.nope == 1", 5, "undefined field 'nope'"],
    ["has(self.nope)", 4, "undefined field 'nope'"],
    ["self.count.nope()", 16, "undeclared reference to 'nope' (in container '')"],
    ["self.count.startsWith('a')", 22, "found no matching overload for 'startsWith' applied to 'int.(string)'"],
    ["true || self.count", 13, "expected type 'bool' but found 'int'"],
    ["self.tags.all(x, x)", 18, "expected type 'bool' but found 'string'"],
    [
      "self.count.all(x, true)",
      5,
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["['a', 1].size() > 1", 7, "expected type 'string' but found 'int'"],
    ["1 in self.tags", 3, "found no matching overload for '@in' applied to '(int, list(string))'"],
    ["self.name.matches('[')", 19, "invalid matches argument"],
    ["cel.bind(a, 1, a)", 1, "undeclared reference to 'cel' (in container '')"],
  ];
  for (const [expression, column, message] of wrong)
    t.throws(
      () => compile(expression),
      {
        message: new RegExp(
          `^compilation failed: ERROR: <input>:1:${column}: ${message.replaceAll(/[()[\].*+?|]/g, "\\$&")}`,
        ),
      },
      expression,
    );
  const costs: readonly (readonly [string, number])[] = [
    ["self.count > 1", 3],
    ["self.name == 'a'", 3],
    ["self.tags.all(x, x.size() > 1)", 6_291_453],
    ["self.limits.all(k, self.limits[k] > 1)", 83],
    ["self.name.matches('^a+$')", 7],
    ["self.tags.filter(x, x.startsWith('a')).size() == 0", 15_728_640],
  ];
  for (const [expression, cost] of costs) t.equal(compile(expression).maxCost, cost, expression);
});
