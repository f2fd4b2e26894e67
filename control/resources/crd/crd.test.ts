// What is wrong with definitions of custom resources, told by field as upstream tells it.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
const root = "spec.validation.openAPIV3Schema";
const spec = `${root}.properties[spec]`;

const definition = (schema: Json, more: Json = {}, names: Json = {}) => ({
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", ...names },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more }],
  },
});
const withSpec = (schema: Json) => definition({ type: "object", properties: { spec: schema } });
const plain = {
  type: "object",
  properties: { spec: { type: "object", properties: { color: { type: "string" }, deep: { type: "object" } } } },
};
const version = (more: Json) => definition(plain, more);
const named = (names: Json) => definition(plain, {}, names);
const list = (
  more: Json,
  items: Json = { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
) => withSpec({ type: "array", items, ...more });
const byName = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] };

const rows: [name: string, definition: Json, says: string][] = [
  ["no type at the root", definition({}), `${root}.type: Required value: must not be empty at the root`],
  [
    "a list at the root",
    definition({ type: "array", items: { type: "string" } }),
    `${root}.type: Invalid value: "array": must be object at the root`,
  ],
  [
    "a field without a type",
    withSpec({}),
    `${spec}.type: Required value: must not be empty for specified object fields`,
  ],
  [
    "an item without a type",
    withSpec({ type: "array", items: {} }),
    `${spec}.items.type: Required value: must not be empty for specified array items`,
  ],
  ["a type", withSpec({ type: "date" }), `${spec}.type: Unsupported value: "date"`],
  [
    "nothing as a type",
    withSpec({ type: "null" }),
    `${spec}.type: Forbidden: type cannot be set to null, use nullable as an alternative`,
  ],
  [
    "unique items",
    withSpec({ type: "array", uniqueItems: true, items: { type: "string" } }),
    `${spec}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
  ],
  [
    "some fields and any",
    withSpec({ type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } }),
    `${spec}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
  ],
  [
    "a default of another type",
    withSpec({ type: "object", properties: { size: { type: "integer", default: "big" } } }),
    `${spec}.properties[size].default: Invalid value: "string": default in body must be of type integer: "string"`,
  ],
  [
    "a type in a condition",
    withSpec({ type: "object", anyOf: [{ type: "object" }] }),
    `${spec}.anyOf[0].type: Forbidden: must be empty to be structural`,
  ],
  [
    "a default in a condition",
    withSpec({ type: "object", not: { default: 1 } }),
    `${spec}.not.default: Forbidden: must be undefined to be structural`,
  ],
  [
    "a pattern",
    withSpec({ type: "string", pattern: "(" }),
    `${spec}.pattern: Invalid value: "(": must be a valid regular expression`,
  ],
  [
    "a kind of list",
    list({ "x-kubernetes-list-type": "heap" }),
    `${spec}.x-kubernetes-list-type: Unsupported value: "heap": supported values: "atomic", "set", "map"`,
  ],
  [
    "keys of a plain list",
    list({ "x-kubernetes-list-map-keys": ["name"] }),
    `${spec}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty`,
  ],
  [
    "a map by nothing",
    list({ "x-kubernetes-list-type": "map" }),
    `${spec}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
  ],
  [
    "a map of texts",
    list(byName, { type: "string" }),
    `${spec}.items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`,
  ],
  [
    "a key that is no field",
    list(byName, { type: "object", properties: {} }),
    `${spec}.x-kubernetes-list-map-keys: Invalid value: []string{"name"}: entries must all be names of item properties`,
  ],
  [
    "a key that may be missing",
    list(byName, { type: "object", properties: { name: { type: "string" } } }),
    `${spec}.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
  ],
  [
    "a map that is a text",
    withSpec({ type: "string", "x-kubernetes-map-type": "atomic" }),
    `${spec}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`,
  ],
  [
    "a kind",
    named({ kind: "My Widget" }),
    'spec.names.kind: Invalid value: "My Widget": may have mixed case, but should otherwise match: a DNS-1035 label',
  ],
  [
    "a list that is called like its items",
    named({ listKind: "Widget" }),
    'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
  ],
  ["a short name", named({ shortNames: ["W"] }), 'spec.names.shortNames[0]: Invalid value: "W": a DNS-1035 label'],
  [
    "a column's type",
    version({ additionalPrinterColumns: [{ name: "a", type: "mood", jsonPath: ".a" }] }),
    'spec.versions[0].additionalPrinterColumns[0].type: Invalid value: "mood": must be one of boolean,date,integer,number,string',
  ],
  [
    "a column's path",
    version({ additionalPrinterColumns: [{ name: "a", type: "string", jsonPath: "a" }] }),
    'spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ],
  [
    "replicas elsewhere",
    version({ subresources: { scale: { specReplicasPath: ".status.n", statusReplicasPath: ".status.n" } } }),
    'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
  ],
  [
    "a field to select by that is not there",
    version({ selectableFields: [{ jsonPath: ".spec.size" }] }),
    'spec.versions[0].selectableFields[0].jsonPath: Invalid value: ".spec.size": is an invalid path',
  ],
  [
    "an object to select by",
    version({ selectableFields: [{ jsonPath: ".spec.deep" }] }),
    "must point to a field of type string, boolean or integer",
  ],
  ...(
    [
      ["nothing as a rule", { rule: " " }, "rule: Required value: rule is not specified"],
      ["an empty message", { message: " " }, 'message: Invalid value: " ": message must be non-empty if specified'],
      [
        "lines without a message",
        { rule: "true\n&& true" },
        "message: Required value: message must be specified if rule contains line breaks",
      ],
      [
        "a reason",
        { reason: "Mood" },
        'reason: Unsupported value: "Mood": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
      ],
      ["a path", { fieldPath: ".nope" }, 'fieldPath: Invalid value: ".nope": fieldPath must be a valid path'],
      [
        "an old self that is not read",
        { optionalOldSelf: true },
        "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
      ],
      ["a text as a rule", { rule: "'a'" }, "cel expression must evaluate to a bool"],
      ["a number as a message", { messageExpression: "1" }, "messageExpression must evaluate to a string"],
      [
        "a rule that may cost too much",
        { rule: "self.all(x, self.all(y, x == y))" },
        "rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
      ],
      [
        "a rule that costs a little too much",
        { rule: "self.all(x, x.startsWith('a') && x.endsWith('b') && x.size() > 1)" },
        "rule: Forbidden: estimated rule cost exceeds budget by factor of 1.048575x",
      ],
    ] as [string, Json, string][]
  ).map(([name, rule, says]): [string, Json, string] => [
    name,
    withSpec({ type: "array", items: { type: "string" }, "x-kubernetes-validations": [{ rule: "true", ...rule }] }),
    says.includes(": ") ? `${spec}.x-kubernetes-validations[0].${says}` : says,
  ]),
  [
    "an old self among what cannot be compared",
    list({}, { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] }),
    `oldSelf cannot be used on the uncorrelatable portion of the schema within ${spec}`,
  ],
  [
    "all rules together",
    withSpec({
      type: "array",
      maxItems: 1000,
      items: {
        type: "object",
        "x-kubernetes-validations": Array.from({ length: 30 }, () => ({ rule: "self.n.all(x, x > 1)" })),
        properties: { n: { type: "array", maxItems: 1000, items: { type: "integer" } } },
      },
    }),
    `${root}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.5x`,
  ],
  [
    "a warning of nothing",
    version({ deprecationWarning: "old" }),
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ],
];

const right: Json[] = [
  withSpec({
    type: "object",
    properties: {
      port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], default: "web" },
      labels: { type: "object", additionalProperties: { type: "string" }, default: {} },
      open: { type: "object", properties: { a: { type: "string" } }, additionalProperties: true },
      raw: { "x-kubernetes-preserve-unknown-fields": true },
      template: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
      conditions: {
        type: "array",
        items: {
          type: "object",
          required: ["type"],
          properties: { type: { type: "string" }, status: { type: "string", nullable: true } },
        },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
      },
    },
    oneOf: [{ required: ["port"] }, { required: ["raw"], not: { properties: { port: { minimum: 3 } } } }],
  }),
  version({
    deprecated: true,
    deprecationWarning: "use v2",
    selectableFields: [{ jsonPath: ".spec.color" }],
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n", labelSelectorPath: ".status.s" },
    },
    additionalPrinterColumns: [
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", format: "date-time" },
    ],
  }),
];

t.test("definitions are refused by field, and taken when they are right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, body, says] of rows) {
    const answer = await api.ask("POST", crds, body);
    t.equal(answer.status, 422, name);
    t.match(answer.body.message, says, name);
  }
  for (const body of right) {
    const { status, text } = await api.ask("POST", crds, body);
    t.equal(status, 201, text.slice(0, 600));
  }
});
