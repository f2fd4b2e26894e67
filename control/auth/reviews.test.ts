import type { IncomingMessage } from "node:http";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import type { Json } from "../../test/harness/api-server.ts";
import { ServedHeaders } from "../../plugins/kit/os/platform/served-headers.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { abacAuthorizer } from "./abac.ts";
import { authorizeBy } from "./authorize.ts";
import type { Authorizer } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { asksToImpersonate, impersonate } from "./impersonation.ts";
import { mastersAuthorizer } from "./masters.ts";
import { evaluateAccessReview, evaluateRulesReview, evaluateSelfReview, evaluateTokenReview } from "./reviews.ts";
import { tokenFileAuthenticator } from "./tokens/token-file.ts";
import { webhookAuthorizer } from "./webhook-authorizer.ts";

const self = { name: "ann", groups: ["dev", "system:authenticated"] };
const line = (spec: object) =>
  JSON.stringify({ apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy", spec });
const abac = abacAuthorizer(
  [
    line({ user: "ann", namespace: "shop", resource: "pods", readonly: true }),
    line({ group: "dev", nonResourcePath: "/logs*", readonly: true }),
    line({ user: "root", namespace: "*", resource: "*", apiGroup: "*" }),
  ].join("\n"),
  "policy.jsonl",
);
const authorizers = [mastersAuthorizer, abac];
const review = (kind: string, spec: object) => ({ apiVersion: "authorization.k8s.io/v1", kind, spec });

t.test("evaluateAccessReview() answers for oneself, another and a namespace", async (t) => {
  const asked = { verb: "get", resource: "pods", namespace: "shop" };
  const own = await evaluateAccessReview(
    review("SelfSubjectAccessReview", { resourceAttributes: asked }),
    { authorizers, self },
    call,
  );
  t.equal(own.status?.allowed, true);
  const sar = (spec: object, namespace?: string) =>
    evaluateAccessReview(
      review("SubjectAccessReview", spec),
      { authorizers, ...(namespace ? { namespace } : {}) },
      call,
    );
  t.equal((await sar({ user: "bob", resourceAttributes: asked })).status?.allowed, false);
  t.equal((await sar({ user: "x", groups: ["system:masters"], resourceAttributes: asked })).status?.allowed, true);
  t.equal(
    (await sar({ groups: ["dev"], nonResourceAttributes: { path: "/logs/x", verb: "get" } })).status?.allowed,
    true,
  );
  await t.rejects(sar({ user: "a" }), { code: "invalid", message: /exactly one of/ });
  await t.rejects(sar({ resourceAttributes: asked }), { code: "invalid", message: /at least one of user or group/ });
  await t.rejects(sar({ user: "a", resourceAttributes: asked }, "other"), { code: "invalid", message: /must match/ });
});

t.test("evaluateAccessReview() passes on selectors that the query of a request can hold", async (t) => {
  const asked: Attributes[] = [];
  const recorder: Authorizer = {
    name: "Recorder",
    async authorize(attributes) {
      asked.push(attributes);
      return { answer: "allow", reason: "" };
    },
  };
  const resourceAttributes = {
    verb: "list",
    resource: "pods",
    fieldSelector: {
      requirements: [
        { key: "spec.nodeName", operator: "In", values: ["a,b"] },
        { key: "metadata.name", operator: "NotIn", values: ["x"] },
        { key: "status.phase", operator: "Exists" },
      ],
    },
    labelSelector: {
      requirements: [
        { key: "a", operator: "Exists" },
        { key: "b", operator: "DoesNotExist" },
        { key: "c", operator: "In", values: ["1", "2"] },
        { key: "d", operator: "NotIn", values: ["3"] },
      ],
    },
  };
  const spec = review("SelfSubjectAccessReview", { resourceAttributes });
  await evaluateAccessReview(spec, { authorizers: [recorder], self }, call);
  t.equal(asked[0]?.resource?.fieldSelector, "spec.nodeName=a\\,b,metadata.name!=x");
  t.equal(asked[0]?.resource?.labelSelector, "a,!b,c in (1,2),d notin (3)");
});

t.test("evaluateRulesReview() and evaluateSelfReview() tell what kubectl shows", async (t) => {
  const rules = evaluateRulesReview(review("SelfSubjectRulesReview", { namespace: "shop" }), { authorizers, self });
  t.match(rules.status, {
    resourceRules: [{ verbs: ["get", "list", "watch"], resources: ["pods"] }],
    incomplete: false,
  });
  t.throws(() => evaluateRulesReview(review("SelfSubjectRulesReview", {}), { authorizers, self }), { code: "invalid" });
  t.match(evaluateSelfReview({}, self), {
    status: { userInfo: { username: "ann", groups: ["dev", "system:authenticated"] } },
  });
});

t.test("evaluateTokenReview() answers good and bad tokens, never errs on them", async (t) => {
  const options = { authenticators: [tokenFileAuthenticator("good,ann,7", "f")], apiAudiences: ["api"] };
  const ask = (spec: object) =>
    evaluateTokenReview({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec }, options, call);
  t.match((await ask({ token: "good" })).status, {
    authenticated: true,
    user: { username: "ann", uid: "7" },
    audiences: ["api"],
  });
  t.same((await ask({ token: "bad" })).status, { user: {}, error: "invalid bearer token" });
  t.match((await ask({ token: "good", audiences: ["vault"] })).status, { authenticated: undefined, user: {} });
  await t.rejects(ask({}), { code: "invalid" });
});

t.test("authorizeBy() stops at the first opinion", async (t) => {
  const fixed = (answer: "allow" | "deny" | "no-opinion", reason = ""): Authorizer => ({
    name: answer,
    authorize: async () => ({ answer, reason }),
  });
  const asked = { user: self, verb: "get", path: "/x" };
  t.equal((await authorizeBy([fixed("no-opinion", "a"), fixed("deny"), fixed("allow")], asked, call)).answer, "deny");
  t.same(await authorizeBy([fixed("no-opinion", "a"), fixed("no-opinion", "b")], asked, call), {
    answer: "no-opinion",
    reason: "a, b",
  });
});

t.test("impersonate() asks for every part and adds the implied groups", async (t) => {
  const asked: string[] = [];
  const authorize =
    (allowed: RegExp) =>
    async ({ verb, resource }: Attributes) => {
      const text = `${verb} ${resource?.group}/${resource?.plural}/${resource?.subresource} ${resource?.namespace}/${resource?.name}`;
      asked.push(text);
      return allowed.test(text)
        ? ({ answer: "allow", reason: "" } as const)
        : ({ answer: "no-opinion", reason: "" } as const);
    };
  const as = (headers: Record<string, string>, allowed = /./) =>
    impersonate(self, new Headers(headers), authorize(allowed), call);
  t.equal(await as({}), self);
  const headers = {
    "Impersonate-User": "bob",
    "Impersonate-Group": "a, b",
    "Impersonate-Uid": "9",
    "Impersonate-Extra-Scopes%2fx": "view",
  };
  t.same(await as(headers), {
    name: "bob",
    uid: "9",
    groups: ["a", "b", "system:authenticated"],
    extra: { "scopes/x": ["view"] },
  });
  t.same(asked, [
    "impersonate /users/ /bob",
    "impersonate /groups/ /a",
    "impersonate /groups/ /b",
    "impersonate authentication.k8s.io/uids/ /9",
    "impersonate authentication.k8s.io/userextras/scopes/x /view",
  ]);
  t.same((await as({ "Impersonate-User": "system:serviceaccount:shop:robot" })).groups, [
    "system:serviceaccounts",
    "system:serviceaccounts:shop",
    "system:authenticated",
  ]);
  t.same((await as({ "Impersonate-User": "system:anonymous" })).groups, ["system:unauthenticated"]);
  await t.rejects(as({ "Impersonate-User": "bob", "Impersonate-Group": "system:masters" }, /users/), {
    code: "forbidden",
    message:
      'groups "system:masters" is forbidden: User "ann" cannot impersonate resource "groups" in API group "" at the cluster scope',
  });
  for (const header of ["Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"]) {
    await t.rejects(as({ [header]: "a" }), { code: "invalid" }, `${header} alone`);
    t.ok(asksToImpersonate(new Headers({ [header]: "a" })), header);
  }
  t.notOk(asksToImpersonate(new Headers({ "x-impersonate-uid": "a" })));
});

t.test("impersonate() takes each line of a request for one name, commas and all", async (t) => {
  const rawHeaders = [
    "Impersonate-User",
    "bob",
    "Impersonate-Group",
    "b",
    "impersonate-group",
    ",,a",
    "Impersonate-Extra-Why",
    "x, y",
  ];
  const headers = Object.fromEntries(rawHeaders.flatMap((name, at) => (at % 2 ? [] : [[name.toLowerCase(), ""]])));
  const incoming = { rawHeaders, headers: { ...headers, "impersonate-user": "bob" } } as unknown as IncomingMessage;
  const user = await impersonate(
    self,
    new ServedHeaders(incoming),
    async () => ({ answer: "allow", reason: "" }),
    call,
  );
  t.same(user, { name: "bob", groups: ["b", ",,a", "system:authenticated"], extra: { why: ["x, y"] } });
});

t.test("webhookAuthorizer() asks once, remembers, and has no opinion when the service is gone", async (t) => {
  const clock = new FakeClock();
  let answer: object | undefined = { allowed: true };
  const seen: unknown[] = [];
  const authorizer = webhookAuthorizer({
    url: "https://authz.example/",
    clock,
    log: noLog,
    fetch: async (request) => {
      seen.push(await request.json());
      if (!answer) throw new Error("unreachable");
      return Response.json({ status: answer });
    },
  });
  const asked = { user: self, verb: "get", path: "/x" };
  t.equal((await authorizer.authorize(asked, call)).answer, "allow");
  t.equal((await authorizer.authorize(asked, call)).answer, "allow");
  t.equal(seen.length, 1);
  answer = { denied: true };
  await clock.advance(301_000);
  t.equal((await authorizer.authorize(asked, call)).answer, "deny");
  answer = undefined;
  await clock.advance(31_000);
  t.equal((await authorizer.authorize(asked, call)).answer, "no-opinion");
});

t.test("webhookAuthorizer() sends selectors, and asks every time where it may keep nothing", async (t) => {
  const seen: Json[] = [];
  let answer: object = { allowed: true };
  const authorizer = webhookAuthorizer({
    url: "https://authz.example/",
    clock: new FakeClock(),
    log: noLog,
    allowedTtlMs: 0,
    refusedTtlMs: 0,
    fetch: async (request) => {
      seen.push(((await request.json()) as Json).spec);
      return Response.json({ status: answer });
    },
  });
  const resource = { group: "", version: "v1", plural: "pods", subresource: "", namespace: "", name: "" };
  const ask = (more: object = {}) =>
    authorizer.authorize({ user: self, verb: "list", resource: { ...resource, ...more } }, call);
  await ask();
  await ask();
  t.equal(seen.length, 2, "nothing is kept");
  t.same(seen[0].resourceAttributes, { verb: "list", version: "v1", resource: "pods" });
  await ask({ fieldSelector: "spec.nodeName=w,metadata.name!=x", labelSelector: "z notin (b,a),!y,a=1,c,n>3" });
  t.same(seen[2].resourceAttributes, {
    verb: "list",
    version: "v1",
    resource: "pods",
    fieldSelector: {
      requirements: [
        { key: "metadata.name", operator: "NotIn", values: ["x"] },
        { key: "spec.nodeName", operator: "In", values: ["w"] },
      ],
    },
    labelSelector: {
      requirements: [
        { key: "a", operator: "In", values: ["1"] },
        { key: "c", operator: "Exists" },
        { key: "y", operator: "DoesNotExist" },
        { key: "z", operator: "NotIn", values: ["a", "b"] },
      ],
    },
  });
  await ask({ fieldSelector: "nonsense", labelSelector: "((" });
  t.same(seen[3].resourceAttributes, { verb: "list", version: "v1", resource: "pods" });
  answer = { allowed: true, denied: true };
  t.equal((await ask()).answer, "deny", "one that says both is not believed");
});
