import { type Cel, costOfOneExpression, openCel } from "../../../plugins/kit/kube/cel.ts";
import { attempt, type Target } from "../target.ts";

const self = {
  replicas: 3,
  name: "web",
  ratio: 1.5,
  list: [3, 1, 2],
  items: [
    { name: "a", port: 80 },
    { name: "b", port: 443 },
  ],
  labels: { "a-b": "c", app: "web" },
};
let cel: Cel;

export const celTarget: Target = {
  name: "CEL",
  corpus: [
    "self.replicas >= 1 && self.replicas <= 5",
    "self.items.all(i, i.port > 0) || self.items.exists(i, i.name.matches('^a+$'))",
    "self.list.map(x, x * 2).filter(x, x > 2).size() == 2",
    "has(self.name) ? self.name.startsWith('w') : false",
    "self.labels['a-b'] in ['c', 'd'] && quantity('1Gi').isGreaterThan(quantity('500Mi'))",
    "self.name.replace('w', 'wwww').split('').join('-').lowerAscii() + string(self.ratio)",
    "duration('1h').getSeconds() + timestamp('2026-01-01T00:00:00Z').getFullYear()",
    "url('https://a.example/b?c=d').getHost() == 'a.example' && isIP('10.0.0.1') && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
    "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))",
    "optional.of(1).orValue(2) == 1 && self.?nope.hasValue() == false",
    "'%s %d %x'.format(['a', 1, 255])",
  ],
  words: [
    "self",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "&&",
    "||",
    "!",
    "==",
    "in",
    "?",
    ":",
    "+",
    "-",
    "*",
    "/",
    "%",
    ".all(x, ",
    ".map(x, ",
    ".exists(x, ",
    ".filter(x, ",
    "size(",
    "has(",
    "self.list",
    "self.name",
    ".matches('",
    "'",
    "b'",
    "1u",
    "0x7f",
    "1e308",
    "null",
    "true",
    ".replace(",
    ".format([",
    "'%s'",
    ".join(",
    ".split(",
    "dyn(",
    "type(",
    "int(",
    "bytes(",
    "9223372036854775807",
    ".?",
    "[?",
    "cel.bind(",
  ],
  async open() {
    cel = await openCel();
  },
  run: (input) =>
    attempt(
      () =>
        cel
          .compile(input.toString(), { variables: { self: undefined } })
          .evaluate({ self: cel.toCel(self) }, cel.budget(costOfOneExpression)),
      (value) => typeof value,
    ),
};
