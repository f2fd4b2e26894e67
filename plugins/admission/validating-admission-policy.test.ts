import { setImmediate } from "node:timers/promises";
import t from "tap";
import { createRequest, openAdmission } from "../../test/harness/admission.ts";
import type { EquivalentResource } from "../kit/contracts/admission.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { expressionCheck } from "./expression-check.ts";
import type { Policy, PolicyBinding } from "./policy/objects.ts";
import { validatingAdmissionPolicy } from "./validating-admission-policy.ts";

const group = "admissionregistration.k8s.io";
const policies = { group, plural: "validatingadmissionpolicies" };
const bindings = { group, plural: "validatingadmissionpolicybindings" };
const matchConstraints = {
  resourceRules: [
    { operations: ["CREATE", "UPDATE"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] },
  ],
};
const deployment = (replicas: number, metadata: object = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "shop", ...metadata },
  spec: { replicas },
});
const request = (object: KubeObject, over: object = {}) =>
  createRequest(object, { resource: "deployments", group: "apps", ...over });

async function opened(
  t: { teardown(end: () => Promise<void>): void },
  spec: Policy["spec"],
  binding: Partial<PolicyBinding["spec"]> = {},
) {
  const admission = await openAdmission([validatingAdmissionPolicy]);
  t.teardown(() => admission.close());
  const put = (next: Policy["spec"], own: Partial<PolicyBinding["spec"]> = {}) => {
    admission.view.put(policies, {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "limit" },
      spec: { matchConstraints, ...next },
    } as unknown as KubeObject);
    admission.view.put(bindings, {
      apiVersion: `${group}/v1`,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "all" },
      spec: { policyName: "limit", ...own },
    } as unknown as KubeObject);
  };
  put(spec, binding);
  return { ...admission, put };
}

t.test("a policy sees a namespace that was made just now", async (t) => {
  const namespaceSelector = { matchLabels: { team: "a" } };
  const { admit, put, view } = await opened(t, {
    matchConstraints: { ...matchConstraints, namespaceSelector },
    validations: [{ expression: "false" }],
  });
  await t.rejects(admit(request(deployment(1))), { code: "not-found" }, "it may not be skipped");
  view.putUnseen(
    { group: "", plural: "namespaces" },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "a" } } },
  );
  await t.rejects(admit(request(deployment(1))), { message: /denied request/ });
  put({ validations: [{ expression: "namespaceObject.metadata.labels.team != 'a'" }] });
  await t.rejects(admit(request(deployment(1))), { message: /denied request: failed expression/ });
  put({ validations: [{ expression: "false" }] }, { matchResources: { namespaceSelector } });
  await t.rejects(admit(request(deployment(1))), { message: /denied request/ }, "of a binding");
});

t.test("a failed validation denies in upstream's words", async (t) => {
  const { admit, put } = await opened(t, { validations: [{ expression: "object.spec.replicas <= 5" }] });
  await admit(request(deployment(5)));
  await t.rejects(admit(request(deployment(6))), {
    message:
      "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'all' denied request: failed expression: object.spec.replicas <= 5",
    details: { code: 422, reason: "Invalid", details: { causes: [{ message: /ValidatingAdmissionPolicy 'limit'/ }] } },
  });
  put({ validations: [{ expression: "object.spec.replicas <= 5", message: "too many", reason: "Forbidden" }] });
  await t.rejects(admit(request(deployment(6))), {
    code: "forbidden",
    message: /denied request: too many/,
    details: { code: 403 },
  });
  put({
    validations: [
      { expression: "false", message: "plain", messageExpression: "'got ' + string(object.spec.replicas)" },
    ],
  });
  await t.rejects(admit(request(deployment(6))), { message: /denied request: got 6/ });
  put({ validations: [{ expression: "false", message: "plain", messageExpression: "object.nope" }] });
  await t.rejects(admit(request(deployment(6))), { message: /denied request: plain/ });
});

t.test("actions warn and audit instead of denying", async (t) => {
  const { admit } = await opened(
    t,
    { validations: [{ expression: "object.spec.replicas <= 5", message: "too many" }] },
    { validationActions: ["Warn", "Audit"] },
  );
  const { warnings, notes } = await admit(request(deployment(6)));
  t.same(warnings, ["Validation failed for ValidatingAdmissionPolicy 'limit' with binding 'all': too many"]);
  t.match(JSON.parse(notes["validation.policy.admission.k8s.io/validation_failure"] ?? ""), [
    { message: "too many", policy: "limit", binding: "all", expressionIndex: "0" },
  ]);
});

t.test("variables are evaluated when read, old objects, users and the authorizer can be asked", async (t) => {
  const { admit, put, view } = await opened(t, {
    variables: [
      { name: "broken", expression: "object.no.such.thing" },
      { name: "most", expression: "2 + 3" },
      { name: "fits", expression: "object.spec.replicas <= variables.most" },
    ],
    validations: [{ expression: "variables.fits" }],
    auditAnnotations: [{ key: "replicas", valueExpression: "'n=' + string(object.spec.replicas)" }],
  });
  const { notes } = await admit(request(deployment(5)));
  t.equal(notes["limit/replicas"], "n=5");
  await t.rejects(admit(request(deployment(6))), { message: /failed expression: variables.fits/ });
  put({ validations: [{ expression: "oldObject == null || object.spec.replicas >= oldObject.spec.replicas" }] });
  await admit(request(deployment(1)));
  await t.rejects(admit(request(deployment(1), { operation: "UPDATE", oldObject: deployment(2) })), {
    message: /failed expression/,
  });
  put({
    validations: [
      { expression: "authorizer.requestResource.check('scale-high').allowed() || object.spec.replicas < 3" },
    ],
  });
  await t.rejects(admit(request(deployment(4))), { message: /failed expression/ });
  view.allows = ({ verb, user, resource }) =>
    verb === "scale-high" && user.name === "ann" && resource?.plural === "deployments";
  await admit(request(deployment(4)));
});

t.test("parameters come from the binding", async (t) => {
  const { admit, put, view } = await opened(t, {});
  const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
  const validations = [{ expression: "object.spec.replicas <= int(params.data.most)" }];
  put({ paramKind, validations }, { paramRef: { name: "most", namespace: "shop", parameterNotFoundAction: "Deny" } });
  await t.rejects(admit(request(deployment(1))), { message: /no params found/ });
  view.put({ group: "", plural: "configmaps" }, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "most", namespace: "shop", labels: { a: "b" } },
    data: { most: "2" },
  } as KubeObject);
  await admit(request(deployment(2)));
  await t.rejects(admit(request(deployment(3))), { message: /failed expression/ });
  put({ paramKind, validations }, { paramRef: { selector: { matchLabels: { a: "b" } } } });
  await t.rejects(admit(request(deployment(3))), { message: /failed expression/ });
  put({ paramKind, validations }, { paramRef: { name: "none", parameterNotFoundAction: "Allow" } });
  await admit(request(deployment(3)));
});

t.test("match rules, conditions and failure policy decide whether it counts", async (t) => {
  const { admit, put } = await opened(t, {
    validations: [{ expression: "false" }],
    matchConditions: [{ name: "m", expression: "object.metadata.name != 'web'" }],
  });
  await admit(request(deployment(1)));
  await t.rejects(admit(request(deployment(1, { name: "other" }))), { message: /failed expression: false/ });
  put(
    { validations: [{ expression: "false" }] },
    {
      matchResources: {
        excludeResourceRules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["deployments"] }],
      },
    },
  );
  await admit(request(deployment(1)));
  put({ validations: [{ expression: "false" }] }, { matchResources: { objectSelector: { matchLabels: { a: "b" } } } });
  await admit(request(deployment(1)));
  put({ validations: [{ expression: "object.spec.nope > 1" }] });
  await t.rejects(admit(request(deployment(1))), { message: /resulted in error: no such key: nope/ });
  put({ failurePolicy: "Ignore", validations: [{ expression: "object.spec.nope > 1" }] });
  await admit(request(deployment(1)));
  put({ validations: [{ expression: "object.spec.(" }] });
  await t.rejects(admit(request(deployment(1))), { message: /compilation failed/ });
  await admit(createRequest(deployment(1), { resource: "statefulsets", group: "apps" }));
});

t.test("expressions that do not compile are refused where they stand, once, and old ones stay", async (t) => {
  const admission = await openAdmission([expressionCheck]);
  t.teardown(() => admission.close());
  const policy = (spec: object) =>
    ({ apiVersion: `${group}/v1`, kind: "ValidatingAdmissionPolicy", metadata: { name: "p" }, spec }) as KubeObject;
  const on = { resource: "validatingadmissionpolicies", group };
  const good = {
    validations: [{ expression: "variables.a > 1", messageExpression: "'no'" }],
    variables: [{ name: "a", expression: "object.spec.replicas" }],
  };
  await admission.admit(createRequest(policy(good), on));
  const bad = policy({ ...good, validations: [{ expression: "object.spec.(" }, { expression: "'text'" }] });
  await t.rejects(admission.admit(createRequest(bad, on)), {
    code: "invalid",
    details: {
      code: 422,
      details: {
        causes: [
          { field: "spec.validations[0].expression", message: /compilation failed/ },
          { field: "spec.validations[1].expression", message: /must evaluate to bool/ },
        ],
      },
    },
  });
  await admission.admit(createRequest(bad, { ...on, operation: "UPDATE", oldObject: bad }));
  const hooks = {
    apiVersion: `${group}/v1`,
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "w" },
    webhooks: [{ name: "x", matchConditions: [{ name: "c", expression: "nope" }] }],
  };
  await t.rejects(admission.admit(createRequest(hooks, { resource: "validatingwebhookconfigurations", group })), {
    message:
      /webhooks\[0\].matchConditions\[0\].expression: Invalid value: "nope": compilation failed.*undeclared reference to 'nope'/s,
  });
});

t.test("others get on while the expressions of a large policy are compiled", async (t) => {
  const admission = await openAdmission([expressionCheck]);
  t.teardown(() => admission.close());
  const count = 100;
  const validations = Array.from({ length: count }, (_, n) => ({ expression: `object.spec.replicas > ${n}` }));
  const policy = { metadata: { name: "p" }, spec: { validations } } as unknown as KubeObject;
  let isOver = false;
  const admitted = admission
    .admit(createRequest(policy, { resource: "validatingadmissionpolicies", group }))
    .finally(() => (isOver = true));
  let rounds = 0;
  while (!isOver) {
    await setImmediate();
    rounds++;
  }
  await admitted;
  t.ok(rounds >= count, `${rounds} rounds of the event loop`);
});

t.test("a policy for another version of the resource sees the object in that version", async (t) => {
  const rule = { operations: ["*"], apiGroups: ["apps"], apiVersions: ["v2"], resources: ["deployments"] };
  const validations = [
    { expression: "object.copies < 5 && request.kind.version == 'v2' && request.requestKind.version == 'v1'" },
  ];
  const { admit, put } = await opened(t, { matchConstraints: { resourceRules: [rule] }, validations });
  const equivalents: EquivalentResource[] = [
    {
      group: "apps",
      version: "v2",
      resource: "deployments",
      kind: "Deployment",
      to: async (object) => ({ ...object, copies: (object["spec"] as { replicas: number }).replicas }),
      from: async (object) => object,
    },
  ];
  await admit(request(deployment(4), { equivalents }));
  await t.rejects(admit(request(deployment(6), { equivalents })), { message: /object.copies < 5/ });
  put({ matchConstraints: { resourceRules: [rule], matchPolicy: "Exact" }, validations });
  await admit(request(deployment(6), { equivalents }));
});
