import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { matchedKinds } from "./matched-kinds.ts";
import type { ResourceRule } from "./objects.ts";

const ref = resources.validatingadmissionpolicies;
const rule = (group: string, version: string, ...names: string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  resources: names,
  operations: ["CREATE"],
});
const deployments = rule("apps", "v1", "deployments");
const pods = rule("", "v1", "pods");

t.test("matchedKinds() takes what is named without wildcards, in order", async (t) => {
  const served: Record<string, string> = { deployments: "Deployment", pods: "Pod", scale: "Scale" };
  const kinds = async (...resourceRules: ResourceRule[]) => {
    const policy = { spec: { matchConstraints: { resourceRules } } };
    const found = await matchedKinds(policy, async ({ group }, name) => (group === "gone" ? undefined : served[name]));
    return found.map(({ group, version, kind }) => `${group}/${version} ${kind}`);
  };
  const rows: { name: string; rules: ResourceRule[]; is: string[] }[] = [
    { name: "nothing", rules: [], is: [] },
    { name: "two rules", rules: [deployments, pods], is: ["/v1 Pod", "apps/v1 Deployment"] },
    { name: "twice the same", rules: [deployments, deployments], is: ["apps/v1 Deployment"] },
    { name: "all resources", rules: [rule("apps", "v1", "*")], is: [] },
    { name: "all versions", rules: [rule("apps", "*", "deployments")], is: [] },
    { name: "all groups", rules: [rule("*", "v1", "pods")], is: [] },
    {
      name: "subresources",
      rules: [rule("apps", "v1", "deployments/scale", "deployments")],
      is: ["apps/v1 Deployment"],
    },
    { name: "what is not served", rules: [rule("gone", "v1", "pods"), pods], is: ["/v1 Pod"] },
    {
      name: "more than ten of a rule",
      rules: [
        { apiGroups: ["apps"], apiVersions: Array.from({ length: 20 }, (_, i) => `v${i}`), resources: ["pods"] },
        deployments,
      ],
      is: ["v0", "v1", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17"].map((version) => `apps/${version} Pod`),
    },
  ];
  for (const { name, rules, is } of rows) t.strictSame(await kinds(...rules), is, name);
});

interface Row {
  readonly name: string;
  readonly rules?: object[];
  readonly spec: object;
  readonly warnings?: { fieldRef: string; warning: string }[];
}

const expression = (text: string, ...more: object[]) => ({ validations: [{ expression: text }, ...more] });
const first = "spec.validations[0].expression";
const wrong = (text: string, column: number, message: string, kind = "apps/v1, Kind=Deployment") =>
  `${kind}: ERROR: <input>:1:${column}: ${message}\n | ${text}\n | ${".".repeat(column - 1)}^\n`;

const rows: Row[] = [
  { name: "what fits", spec: expression("object.spec.replicas <= 5 && object.metadata.labels['a'] == 'b'") },
  {
    name: "a field that is not there",
    spec: expression("object.foo == 'bar'"),
    warnings: [{ fieldRef: first, warning: wrong("object.foo == 'bar'", 7, "undefined field 'foo'") }],
  },
  {
    name: "types that do not compare",
    spec: expression("object.spec.replicas == 'five'"),
    warnings: [
      {
        fieldRef: first,
        warning: wrong(
          "object.spec.replicas == 'five'",
          22,
          "found no matching overload for '_==_' applied to '(int, string)'",
        ),
      },
    ],
  },
  {
    name: "of several expressions the wrong ones, messages too",
    spec: expression("object.spec.paused", {
      expression: "oldObject.spec.pause",
      messageExpression: "'x' + object.spec.replicas",
    }),
    warnings: [
      {
        fieldRef: "spec.validations[1].expression",
        warning: wrong("oldObject.spec.pause", 15, "undefined field 'pause'"),
      },
      {
        fieldRef: "spec.validations[1].messageExpression",
        warning: wrong(
          "'x' + object.spec.replicas",
          5,
          "found no matching overload for '_+_' applied to '(string, int)'",
        ),
      },
    ],
  },
  {
    name: "each kind that does not fit",
    rules: [deployments, pods],
    spec: expression("object.spec.replicas > 1 || object.spec.nodeName == ''"),
    warnings: [
      {
        fieldRef: first,
        warning: [
          wrong(
            "object.spec.replicas > 1 || object.spec.nodeName == ''",
            12,
            "undefined field 'replicas'",
            "/v1, Kind=Pod",
          ),
          wrong("object.spec.replicas > 1 || object.spec.nodeName == ''", 40, "undefined field 'nodeName'"),
        ].join("\n"),
      },
    ],
  },
  {
    name: "variables have the type of what they are made of",
    spec: {
      variables: [
        { name: "count", expression: "object.spec.replicas" },
        { name: "twice", expression: "variables.count * 2" },
        { name: "broken", expression: "object.nothing" },
      ],
      ...expression("variables.twice == 'a'", { expression: "variables.broken == 1" }, { expression: "variables.no" }),
    },
    warnings: [
      {
        fieldRef: first,
        warning: wrong(
          "variables.twice == 'a'",
          17,
          "found no matching overload for '_==_' applied to '(int, string)'",
        ),
      },
      { fieldRef: "spec.validations[2].expression", warning: wrong("variables.no", 10, "undefined field 'no'") },
    ],
  },
  {
    name: "the request, the namespace and the authorizer",
    spec: expression(
      "request.kind == request.requestKind && request.userInfo.groups.exists(g, g == 'x') && request.options.any == 1",
      { expression: "namespaceObject.metadata.labels['a'] == 'b' && request.operation == 1" },
      { expression: "authorizer.group('').resource('endpoints').check('create').allowed()" },
      { expression: "authorizer.allowed()" },
    ),
    warnings: [
      {
        fieldRef: "spec.validations[1].expression",
        warning: wrong(
          "namespaceObject.metadata.labels['a'] == 'b' && request.operation == 1",
          66,
          "found no matching overload for '_==_' applied to '(string, int)'",
        ),
      },
      {
        fieldRef: "spec.validations[3].expression",
        warning: wrong(
          "authorizer.allowed()",
          19,
          "found no matching overload for 'allowed' applied to 'kubernetes.authorization.Authorizer.()'",
        ),
      },
    ],
  },
  {
    name: "parameters of a custom kind",
    spec: {
      paramKind: { apiVersion: "example.com/v1", kind: "Limit" },
      ...expression("object.spec.replicas <= params.max", {
        expression: "params.most > 1 && params.metadata.name == ''",
      }),
    },
    warnings: [
      {
        fieldRef: "spec.validations[1].expression",
        warning: wrong("params.most > 1 && params.metadata.name == ''", 7, "undefined field 'most'"),
      },
    ],
  },
  {
    name: "a custom kind",
    rules: [rule("example.com", "v1", "limits")],
    spec: expression("object.max > '1'"),
    warnings: [
      {
        fieldRef: first,
        warning: wrong(
          "object.max > '1'",
          12,
          "found no matching overload for '_>_' applied to '(int, string)'",
          "example.com/v1, Kind=Limit",
        ),
      },
    ],
  },
  { name: "kinds that nobody serves", rules: [rule("nobody", "v1", "things")], spec: expression("object.foo") },
];

t.test("admissionPolicyStatusController() tells which expressions do not fit", async (t) => {
  const room = await controllerRoom(t, ["validatingadmissionpolicy-status-controller"]);
  await room.create(resources.customresourcedefinitions, {
    metadata: { name: "limits.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "limits", singular: "limit", kind: "Limit" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { max: { type: "integer" } } } },
        },
      ],
    },
  });
  await room.until(resources.customresourcedefinitions, "limits.example.com", ({ status }) =>
    status?.conditions?.some(({ type }: { type: string }) => type === "Established"),
  );
  for (const [index, { name, rules = [deployments], spec, warnings }] of rows.entries()) {
    const policy = `policy-${index}`;
    await room.create(ref, {
      metadata: { name: policy },
      spec: { matchConstraints: { resourceRules: rules }, ...spec },
    });
    const { status } = await room.until(ref, policy, ({ status }) => status?.observedGeneration === 1);
    t.strictSame(status.typeChecking, warnings ? { expressionWarnings: warnings } : {}, name);
  }
});

t.test("admissionPolicyStatusController() looks again when the policy changes, as its own field manager", async (t) => {
  const room = await controllerRoom(t, ["validatingadmissionpolicy-status-controller"]);
  await room.create(ref, {
    metadata: { name: "a" },
    spec: { matchConstraints: { resourceRules: [deployments] }, ...expression("object.foo == 1") },
  });
  const before = await room.until(ref, "a", ({ status }) => status?.typeChecking?.expressionWarnings);
  const entry = before.metadata.managedFields.find(({ subresource }: { subresource?: string }) => subresource);
  t.match(entry, { manager: "validatingadmissionpolicy-status", operation: "Apply", subresource: "status" });
  await room.patch(ref, "a", { spec: expression("object.spec.replicas == 1") });
  const after = await room.until(ref, "a", ({ status }) => status?.observedGeneration === 2);
  t.strictSame(after.status.typeChecking, {});
  await room.patch(ref, "a", { metadata: { labels: { a: "b" } } });
  t.equal(room.get(ref, "a").status.observedGeneration, 2, "what is no new generation is not looked at");
});
