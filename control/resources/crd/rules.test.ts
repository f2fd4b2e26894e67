// CEL rules at work on objects: what they say, and where they are cut off.

import t from "tap";
import { openCel } from "../../../plugins/kit/kube/cel.ts";
import { SchemaRules } from "./rules.ts";
import type { StructuralSchema, ValidationRule } from "./structural-schema.ts";

const cel = await openCel();

function check(rules: ValidationRule[], now: unknown, before?: unknown) {
  const schema: StructuralSchema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        "x-kubernetes-validations": rules,
        properties: {
          n: { type: "integer" },
          list: { type: "array", items: { type: "integer" } },
          either: { "x-kubernetes-int-or-string": true },
        },
      },
    },
  };
  const { errors, warnings } = new SchemaRules(cel, schema).check(
    schema,
    { spec: now },
    before === undefined ? undefined : { spec: before },
  );
  return { errors: errors.map(({ field, message }) => `${field}: ${message}`), warnings };
}

const many = Array.from({ length: 2000 }, (_, index) => index);
const long = "self.list.all(x, self.list.all(y, x + y >= 0))";
const half = "self.list.all(x, !self.list.exists(y, x + y > 40))";
const rows: { name: string; rules: ValidationRule[]; now: unknown; before?: unknown; says: string[] }[] = [
  { name: "one that holds", rules: [{ rule: "self.n > 1" }], now: { n: 2 }, says: [] },
  {
    name: "one that does not",
    rules: [{ rule: "self.n > 1" }],
    now: { n: 1 },
    says: ['spec: Invalid value: "object": failed rule: self.n > 1'],
  },
  {
    name: "a message, a reason and a path",
    rules: [{ rule: "self.n > 1", message: "no ", reason: "FieldValueForbidden", fieldPath: ".n" }],
    now: { n: 1 },
    says: ["spec.n: Forbidden: no"],
  },
  {
    name: "a message that is made",
    rules: [{ rule: "self.n > 1", messageExpression: "'got %d'.format([self.n])" }],
    now: { n: 1 },
    says: ['spec: Invalid value: "object": got 1'],
  },
  {
    name: "what is not there",
    rules: [{ rule: "self.n > 1" }],
    now: {},
    says: ['spec: Invalid value: "object": no such key: n evaluating rule: self.n > 1'],
  },
  { name: "nothing to compare with", rules: [{ rule: "self == oldSelf" }], now: { n: 1 }, says: [] },
  {
    name: "what it was before",
    rules: [{ rule: "self.n >= oldSelf.n" }],
    now: { n: 1 },
    before: { n: 2 },
    says: ['spec: Invalid value: "object": failed rule: self.n >= oldSelf.n'],
  },
  {
    name: "an old self that may be absent",
    rules: [{ rule: "oldSelf.hasValue()", optionalOldSelf: true }],
    now: { n: 1 },
    says: ['spec: Invalid value: "object": failed rule: oldSelf.hasValue()'],
  },
  {
    name: "one expression that costs too much, and nothing after it",
    rules: [{ rule: long }, { rule: "self.n > 1" }],
    now: { n: 1, list: many },
    says: [
      `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${long}`,
    ],
  },
  {
    name: "all expressions of an object that cost too much together",
    rules: Array.from({ length: 60 }, () => ({ rule: half })),
    now: { list: many.slice(0, 250).map(() => 0) },
    says: [
      'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
    ],
  },
];

for (const { name, rules, now, before, says } of rows)
  t.test(`check() tells of ${name}`, async (t) => {
    const { errors } = check(rules, now, before);
    t.same(
      [...new Set(errors)].filter((error) => !error.includes("failed rule: self.list")),
      says,
    );
  });

t.test("check() only warns of what was wrong before and did not change", async (t) => {
  const { errors, warnings } = check([{ rule: "self.n > 1" }], { n: 1 }, { n: 1 });
  t.same(errors, []);
  t.same(warnings, ['spec: Invalid value: "object": failed rule: self.n > 1']);
});
