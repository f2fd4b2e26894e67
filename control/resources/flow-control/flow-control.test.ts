// What is wrong with flow schemas and priority levels, told by field as upstream tells it.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const base = "/apis/flowcontrol.apiserver.k8s.io/v1";
const masters = { kind: "Group", group: { name: "system:masters" } };
const resources = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true };
const urls = { verbs: ["*"], nonResourceURLs: ["*"] };
const schema = (more: Json) => ({ priorityLevelConfiguration: { name: "l" }, ...more });
const rule = (more: Json) => schema({ rules: [{ subjects: [masters], resourceRules: [resources], ...more }] });
const subject = (more: Json) => rule({ subjects: [more] });
const of = (more: Json) => rule({ resourceRules: [{ ...resources, ...more }] });
const url = (...nonResourceURLs: string[]) => rule({ nonResourceRules: [{ verbs: ["get"], nonResourceURLs }] });
const first = "spec.rules[0]";
const limited = (more: Json) => ({ type: "Limited", limited: { limitResponse: { type: "Reject" }, ...more } });
const queuing = (more: Json) => limited({ limitResponse: { type: "Queue", queuing: more } });
const queue = "spec.limited.limitResponse.queuing";

const exemptSchema = {
  priorityLevelConfiguration: { name: "exempt" },
  matchingPrecedence: 1,
  rules: [{ subjects: [masters], resourceRules: [resources], nonResourceRules: [urls] }],
};

/** The spec, what is said of it (nothing when it is right), and the name when it matters. */
type Row = [name: string, spec: Json, says?: string | undefined, called?: string];

const schemas: Row[] = [
  ["all of it", rule({ nonResourceRules: [urls] })],
  ["no level", {}, "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
  [
    "a level's name",
    { priorityLevelConfiguration: { name: "A" } },
    'spec.priorityLevelConfiguration.name: Invalid value: "A": a lowercase RFC 1123 subdomain',
  ],
  [
    "below all",
    schema({ matchingPrecedence: -1 }),
    "spec.matchingPrecedence: Invalid value: -1: must be a positive value",
  ],
  [
    "above all",
    schema({ matchingPrecedence: 10001 }),
    "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
  ],
  [
    "first without right",
    schema({ matchingPrecedence: 1 }),
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ],
  [
    "flows by moon",
    schema({ distinguisherMethod: { type: "ByMoon" } }),
    'spec.distinguisherMethod.type: Unsupported value: "ByMoon": supported values: "ByNamespace", "ByUser"',
  ],
  ["for nobody", rule({ subjects: [] }), `${first}.subjects: Required value: subjects must contain at least one value`],
  [
    "for nothing",
    rule({ resourceRules: [] }),
    `${first}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`,
  ],
  [
    "a robot",
    subject({ kind: "Robot" }),
    `${first}.subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"`,
  ],
  [
    "a user who is not named",
    subject({ kind: "User" }),
    `${first}.subjects[0].user: Required value: user is required when subject kind is 'User'`,
  ],
  ["a group without a name", subject({ kind: "Group", group: {} }), `${first}.subjects[0].group.name: Required value`],
  [
    "a user as well",
    subject({ ...masters, user: { name: "a" } }),
    `${first}.subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'`,
  ],
  [
    "an account of no namespace",
    subject({ kind: "ServiceAccount", serviceAccount: { name: "*" } }),
    `${first}.subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account`,
  ],
  [
    "an account's name",
    subject({ kind: "ServiceAccount", serviceAccount: { name: "A", namespace: "b" } }),
    `${first}.subjects[0].serviceAccount.name: Invalid value: "A": a lowercase RFC 1123 subdomain`,
  ],
  ["an account", subject({ kind: "ServiceAccount", serviceAccount: { name: "*", namespace: "b" } })],
  [
    "no verbs",
    of({ verbs: [] }),
    `${first}.resourceRules[0].verbs: Required value: verbs must contain at least one value`,
  ],
  [
    "all verbs and one",
    of({ verbs: ["*", "get"] }),
    `${first}.resourceRules[0].verbs: Invalid value: []string{"*", "get"}: if '*' is present, must not specify other verbs`,
  ],
  [
    "a verb",
    of({ verbs: ["get", "eat"] }),
    `${first}.resourceRules[0].verbs: Unsupported value: []string{"get", "eat"}`,
  ],
  [
    "no groups",
    of({ apiGroups: [] }),
    `${first}.resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group`,
  ],
  [
    "all resources and one",
    of({ resources: ["*", "pods"] }),
    `${first}.resourceRules[0].resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources`,
  ],
  [
    "nowhere",
    of({ namespaces: [], clusterScope: false }),
    `${first}.resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace`,
  ],
  ["the cluster alone", of({ namespaces: [] })],
  [
    "a namespace's name",
    of({ namespaces: ["A"] }),
    `${first}.resourceRules[0].namespaces[0]: Invalid value: "A": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label`,
  ],
  ["a path", url("/a", "/", "/b/*")],
  [
    "no paths",
    url(),
    `${first}.nonResourceRules[0].nonResourceURLs: Required value: nonResourceURLs must contain at least one value`,
  ],
  ["a path without a slash", url("a"), 'nonResourceURLs[0]: Invalid value: "a": must start with slash'],
  ["a path with two", url("/a//b"), 'nonResourceURLs[0]: Invalid value: "/a//b": must not contain double slash'],
  ["a path with a space", url("/a b"), 'nonResourceURLs[0]: Invalid value: "/a b": must not contain white-space'],
  ["a star in a path", url("/a*"), 'nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching'],
  ["the schema for masters", exemptSchema, undefined, "exempt"],
  [
    "the schema for masters, for others",
    { ...exemptSchema, rules: [{ ...exemptSchema.rules[0], subjects: [{ kind: "User", user: { name: "a" } }] }] },
    "spec of 'exempt' must equal the fixed value",
    "exempt",
  ],
  ["the last schema, changed", schema({}), "spec of 'catch-all' must equal the fixed value", "catch-all"],
];

const levels: Row[] = [
  ["queues by default", queuing({})],
  ["no more than it has", limited({ nominalConcurrencyShares: 0, borrowingLimitPercent: 0 })],
  [
    "an answer",
    limited({ limitResponse: { type: "Sigh" } }),
    'spec.limited.limitResponse.type: Unsupported value: "Sigh": supported values: "Queue", "Reject"',
  ],
  [
    "no queues",
    limited({ limitResponse: { type: "Queue" } }),
    `${queue}: Required value: must not be empty if limited.limitResponse.type is Limited`,
  ],
  [
    "queues that nobody uses",
    limited({ limitResponse: { type: "Reject", queuing: {} } }),
    `${queue}: Forbidden: must be nil if limited.limitResponse.type is not Limited`,
  ],
  ["queues below zero", queuing({ queues: -1 }), `${queue}.queues: Invalid value: -1: must be positive`],
  [
    "too many queues",
    queuing({ queues: 10_000_001, handSize: 1 }),
    `${queue}.queues: Invalid value: 10000001: must not be greater than 10000000`,
  ],
  [
    "more queues than there are",
    queuing({ queues: 4, handSize: 5 }),
    `${queue}.handSize: Invalid value: 5: should not be greater than queues (4)`,
  ],
  [
    "a hand that no hash can deal",
    queuing({ queues: 512, handSize: 8 }),
    `${queue}.handSize: Invalid value: 8: required entropy bits of deckSize 512 and handSize 8 should not be greater than 60`,
  ],
  [
    "a queue of no length",
    queuing({ queueLengthLimit: -1 }),
    `${queue}.queueLengthLimit: Invalid value: -1: must be positive`,
  ],
  [
    "shares",
    limited({ nominalConcurrencyShares: -1 }),
    "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
  ],
  [
    "lent",
    limited({ lendablePercent: 101 }),
    "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
  ],
  [
    "borrowed",
    limited({ borrowingLimitPercent: -1 }),
    "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
  ],
  ["exempt and limited", { ...limited({}), exempt: {} }, "spec.exempt: Forbidden: must be nil if the type is Limited"],
  ["exempt by another name", { type: "Exempt" }, "type must be 'Exempt' if and only if name is 'exempt'"],
  ["the exempt level", { type: "Exempt", exempt: { lendablePercent: 40 } }, undefined, "exempt"],
  [
    "the exempt level, lent out of measure",
    { type: "Exempt", exempt: { lendablePercent: 400 } },
    "spec.exempt.lendablePercent: Invalid value: 400: must be between 0 and 100, inclusive",
    "exempt",
  ],
  [
    "the exempt level, limited",
    { type: "Exempt", limited: { limitResponse: { type: "Reject" } } },
    "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value",
    "exempt",
  ],
  ["the last level", limited({ nominalConcurrencyShares: 5 }), undefined, "catch-all"],
  ["the last level, changed", limited({}), "spec of 'catch-all' must equal the fixed value", "catch-all"],
];

t.test("a flow schema or priority level is refused by field, and taken when it is right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [plural, rows] of Object.entries({ flowschemas: schemas, prioritylevelconfigurations: levels }))
    for (const [name, spec, says, called = "x"] of rows) {
      const body = { metadata: { name: called }, spec };
      // Those that every server has are there already: they can only be written again.
      const asked =
        called === "x"
          ? await api.ask("POST", `${base}/${plural}?dryRun=All`, body)
          : await api.ask("PUT", `${base}/${plural}/${called}?dryRun=All`, body);
      t.equal(asked.status, says ? 422 : called === "x" ? 201 : 200, `${plural}: ${name}: ${asked.text.slice(0, 300)}`);
      if (says) t.ok(asked.body.message.includes(says), `${plural}: ${name}: ${asked.body.message}`);
    }
});

t.test("a condition of a level stands once, by a type", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const path = `${base}/prioritylevelconfigurations`;
  await api.ask("POST", path, { metadata: { name: "x" }, spec: limited({}) });
  const put = async (...types: string[]) =>
    await api.ask("PUT", `${path}/x/status`, {
      metadata: { name: "x" },
      spec: limited({}),
      status: { conditions: types.map((type) => ({ type, status: "True" })) },
    });
  t.match((await put("A", "A")).body.message, 'status.conditions[1].type: Duplicate value: "A"');
  t.match((await put("")).body.message, "status.conditions[0].type: Required value: must not be empty");
  t.equal((await put("A", "B")).status, 200);
});
