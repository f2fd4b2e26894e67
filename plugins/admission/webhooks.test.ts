import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import { runMutating } from "../../control/admission/run.ts";
import type { EquivalentResource } from "../kit/contracts/admission.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { FakeClock } from "../kit/base/clock.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { serve } from "../kit/os/platform/http-server.ts";
import { createAuthority, createCertificate } from "../kit/os/x509.ts";
import type { Webhook } from "./webhooks/configuration.ts";
import { mutatingAdmissionWebhook, validatingAdmissionWebhook } from "./webhooks.ts";

const hour = 3_600_000;
const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + 24 * hour };
const ca = createAuthority({ commonName: "hooks", ...validity });
const caBundle = Buffer.from(ca.cert).toString("base64");
const group = "admissionregistration.k8s.io";

interface Review {
  apiVersion: string;
  request: {
    uid: string;
    object: KubeObject;
    name?: string;
    dryRun: boolean;
    operation: string;
    userInfo: { username: string };
    kind: { version: string };
  };
}

type Answer = (review: Review, path: string) => object | Response | Promise<object | Response>;

/** A real HTTPS server that answers reviews. */
async function hooks(t: { teardown(end: () => Promise<void>): void }, answer: Answer) {
  const { cert, key } = createCertificate(ca, {
    ...validity,
    commonName: "hook",
    dnsNames: ["hook.shop.svc"],
    ipAddresses: ["127.0.0.1"],
    usages: ["server auth"],
  });
  const asked: { path: string; review: Review }[] = [];
  const server = await serve({
    listen: { host: "127.0.0.1", port: 0 },
    tls: { cert, key },
    handler: async (request) => {
      const review = (await request.json()) as Review;
      const path = new URL(request.url).pathname;
      asked.push({ path, review });
      const said = await answer(review, path);
      if (said instanceof Response) return said;
      return Response.json({
        apiVersion: review.apiVersion,
        kind: "AdmissionReview",
        response: { uid: review.request.uid, ...said },
      });
    },
  });
  t.teardown(() => server.close());
  return { asked, port: server.port, url: `https://127.0.0.1:${server.port}` };
}

const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }];
const webhook = (url: string, over: Partial<Webhook> = {}): Webhook => ({
  name: "check.example.com",
  clientConfig: { url, caBundle },
  rules,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...over,
});
const configuration = (kind: "Mutating" | "Validating", ...webhooks: Webhook[]): KubeObject =>
  ({
    apiVersion: `${group}/v1`,
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: "hooks" },
    webhooks,
  }) as unknown as KubeObject;
const validating = { group, plural: "validatingwebhookconfigurations" };
const mutating = { group, plural: "mutatingwebhookconfigurations" };
const create = (over: object = {}) => createRequest(podOf({}), { resource: "pods", ...over });

async function opened(t: { teardown(end: () => Promise<void>): void }, clock = new FakeClock()) {
  const admission = await openAdmission([mutatingAdmissionWebhook, validatingAdmissionWebhook], { clock });
  t.teardown(() => admission.close());
  return admission;
}

t.test(
  "a validating webhook is asked with the whole review, and its refusal, warnings and notes come through",
  async (t) => {
    const { view, admit } = await opened(t);
    const { url, asked } = await hooks(t, ({ request }) =>
      request.name === "bad"
        ? { allowed: false, status: { code: 403, reason: "Forbidden", message: "no" } }
        : { allowed: true, warnings: ["careful"], auditAnnotations: { seen: "yes" } },
    );
    view.put(validating, configuration("Validating", webhook(url)));
    const { warnings, notes } = await admit(create());
    t.same(warnings, ["careful"]);
    t.same(notes, { "check.example.com/seen": "yes" });
    t.match(asked[0]?.review, {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        kind: { group: "", version: "v1", kind: "Pod" },
        resource: { resource: "pods" },
        name: "web",
        namespace: "shop",
        operation: "CREATE",
        userInfo: { username: "ann", groups: ["system:authenticated"] },
        object: { metadata: { name: "web" } },
        oldObject: null,
        dryRun: false,
      },
    });
    await t.rejects(admit(create({ name: "bad" })), {
      code: "forbidden",
      message: 'admission webhook "check.example.com" denied the request: no',
      details: { code: 403 },
    });
  },
);

t.test("rules, selectors and conditions decide whether a webhook is asked", async (t) => {
  const { view, admit } = await opened(t);
  const { url, asked } = await hooks(t, () => ({ allowed: true }));
  view.put(
    { group: "", plural: "namespaces" },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "a" } } },
  );
  const count = async (over: Partial<Webhook>, request = create()) => {
    asked.length = 0;
    view.put(validating, configuration("Validating", webhook(url, over)));
    await admit(request);
    return asked.length;
  };
  t.equal(await count({}), 1);
  t.equal(await count({ rules: [{ ...rules[0], operations: ["DELETE"] }] }), 0);
  t.equal(await count({ rules: [{ ...rules[0], resources: ["*"] }] }), 1);
  t.equal(await count({ rules: [{ ...rules[0], resources: ["pods/*"] }] }, create({ subresource: "exec" })), 1);
  t.equal(await count({ rules: [{ ...rules[0], scope: "Cluster" }] }), 0);
  t.equal(await count({ namespaceSelector: { matchLabels: { team: "a" } } }), 1);
  t.equal(await count({ namespaceSelector: { matchLabels: { team: "b" } } }), 0);
  t.equal(await count({ objectSelector: { matchLabels: { x: "y" } } }), 0);
  t.equal(await count({ matchConditions: [{ name: "c", expression: "object.metadata.name == 'web'" }] }), 1);
  t.equal(await count({ matchConditions: [{ name: "c", expression: "request.userInfo.username == 'root'" }] }), 0);
  view.allows = ({ verb }) => verb === "breakglass";
  const unless = [{ name: "c", expression: "!authorizer.group('x').resource('y').check('breakglass').allowed()" }];
  t.equal(await count({ matchConditions: unless }), 0);
  t.equal(
    await count({}, createRequest(configuration("Validating"), { resource: "validatingwebhookconfigurations", group })),
    0,
    "itself exempt",
  );
});

t.test(
  "a webhook is asked about a namespace that was made just now, and never skipped for not knowing one",
  async (t) => {
    const { view, admit } = await opened(t);
    const { url, asked } = await hooks(t, () => ({ allowed: false, status: { message: "no" } }));
    const namespaces = { group: "", plural: "namespaces" };
    const selecting = webhook(url, { namespaceSelector: { matchLabels: { team: "a" } } });
    for (const [ref, kind] of [
      [validating, "Validating"],
      [mutating, "Mutating"],
    ] as const) {
      view.put(ref, configuration(kind, selecting));
      await t.rejects(admit(create()), { code: "not-found", message: 'namespaces "shop" not found' });
      view.put(ref, configuration(kind));
    }
    t.equal(asked.length, 0);
    view.putUnseen(namespaces, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop", labels: { team: "a" } },
    });
    for (const [ref, kind] of [
      [validating, "Validating"],
      [mutating, "Mutating"],
    ] as const) {
      view.put(ref, configuration(kind, selecting));
      await t.rejects(admit(create()), { message: /denied the request: no/ }, kind);
      view.put(ref, configuration(kind));
    }
    t.equal(asked.length, 2);
    view.put(
      validating,
      configuration("Validating", { ...selecting, namespaceSelector: { matchLabels: { team: "b" } } }),
    );
    await admit(create());
  },
);

t.test("a failing webhook refuses or is ignored by its policy", async (t) => {
  const { view, admit } = await opened(t);
  const { url } = await hooks(t, async (_, path) => {
    if (path === "/error") return new Response("no", { status: 500 });
    if (path === "/garbage") return new Response("{}");
    return Response.json({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "other", allowed: true },
    });
  });
  const cases: [string, Partial<Webhook>][] = [
    ["an error", { clientConfig: { url: `${url}/error`, caBundle } }],
    ["garbage", { clientConfig: { url: `${url}/garbage`, caBundle } }],
    ["another uid", { clientConfig: { url: `${url}/uid`, caBundle } }],
    ["nobody there", { clientConfig: { url: "https://127.0.0.1:1/", caBundle } }],
    [
      "another authority",
      {
        clientConfig: {
          url,
          caBundle: Buffer.from(createAuthority({ commonName: "x", ...validity }).cert).toString("base64"),
        },
      },
    ],
    ["a service that is not there", { clientConfig: { service: { namespace: "shop", name: "none" }, caBundle } }],
  ];
  for (const [name, over] of cases) {
    view.put(validating, configuration("Validating", webhook(url, over)));
    await t.rejects(
      admit(create()),
      { message: /^Internal error occurred: failed calling webhook "check.example.com"/ },
      name,
    );
    view.put(validating, configuration("Validating", webhook(url, { ...over, failurePolicy: "Ignore" })));
    await t.resolves(admit(create()), `${name}, ignored`);
  }
  view.put(validating, configuration("Validating", webhook(url, { sideEffects: "Some" })));
  await t.rejects(admit(create({ dryRun: true })), {
    message: 'admission webhook "check.example.com" does not support dry run',
  });
});

t.test("what webhooks take is told as time that is not the server's own", async (t) => {
  const clock = new FakeClock();
  const { view, admit } = await opened(t, clock);
  const { url } = await hooks(t, async () => {
    await clock.advance(200);
    return { allowed: true };
  });
  const [one, other] = [webhook(url), webhook(url, { name: "other.example.com" })];
  view.put(mutating, configuration("Mutating", one, other));
  view.put(validating, configuration("Validating", one));
  const waits: number[] = [];
  await admit(create({ waited: (ms: number) => waits.push(ms) }));
  t.same(waits, [200, 200, 200]);
});

t.test("a webhook that hangs is given up after its time", async (t) => {
  const { view, admit } = await opened(t);
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { url } = await hooks(t, async () => {
    await released;
    return { allowed: true };
  });
  view.put(validating, configuration("Validating", webhook(url, { timeoutSeconds: 1 })));
  await t.rejects(admit(create()), {
    message:
      /failed calling webhook ".*": failed to call webhook: Post "https:.*timeout=1s": context deadline exceeded/,
  });
  release();
});

t.test("a service's webhook is reached at a ready endpoint under the service's name", async (t) => {
  const { view, admit } = await opened(t);
  const { asked, port } = await hooks(t, () => ({ allowed: true }));
  view.put(
    { group: "", plural: "services" },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "hook", namespace: "shop" },
      spec: { ports: [{ port: 443 }] },
    },
  );
  const endpoints = [
    { addresses: ["127.0.0.9"], conditions: { ready: false } },
    { addresses: ["127.0.0.1"], conditions: { ready: true } },
  ];
  view.put(
    { group: "discovery.k8s.io", plural: "endpointslices" },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "hook-1", namespace: "shop", labels: { "kubernetes.io/service-name": "hook" } },
      endpoints,
      ports: [{ port }],
    },
  );
  const clientConfig = { service: { namespace: "shop", name: "hook", path: "check" }, caBundle };
  view.put(validating, configuration("Validating", webhook("", { clientConfig })));
  await admit(create());
  t.equal(asked[0]?.path, "/check");
});

t.test("mutating webhooks patch in turn, and those that ask for it see later changes", async (t) => {
  const { view, steps } = await opened(t);
  const patchOf = (value: string) =>
    Buffer.from(JSON.stringify([{ op: "add", path: `/metadata/labels/${value}`, value: "1" }])).toString("base64");
  const { url, asked } = await hooks(t, ({ request }, path) => {
    const name = path.slice(1);
    if (request.object.metadata.labels?.[name]) return { allowed: true };
    return { allowed: true, patchType: "JSONPatch", patch: patchOf(name) };
  });
  const hook = (name: string, over: Partial<Webhook> = {}) =>
    webhook("", { name: `${name}.example.com`, clientConfig: { url: `${url}/${name}`, caBundle }, ...over });
  view.put(mutating, configuration("Mutating", hook("a", { reinvocationPolicy: "IfNeeded" }), hook("b")));
  const request = createRequest(podOf({}, { labels: {} }), { resource: "pods" });
  const { object } = request;
  await runMutating(steps, request, uninterrupted);
  t.same(object?.metadata.labels, { a: "1", b: "1" });
  t.same(
    asked.map(({ path }) => path),
    ["/a", "/b", "/a"],
  );
  view.put(mutating, configuration("Mutating", webhook(`${url}/x`)));
  const bare = createRequest(podOf({}), { resource: "pods" });
  await t.rejects(
    runMutating(steps, bare, uninterrupted),
    { message: /failed calling webhook/ },
    "a patch that does not apply",
  );
});

t.test("a patch of a webhook with an integer that cannot be stored exactly is refused", async (t) => {
  const { view, steps } = await opened(t);
  const patch = btoa('[{"op":"add","path":"/spec/activeDeadlineSeconds","value":9007199254740993}]');
  const { url } = await hooks(t, () => ({ allowed: true, patchType: "JSONPatch", patch }));
  view.put(mutating, configuration("Mutating", webhook(url)));
  await t.rejects(runMutating(steps, createRequest(podOf({}), { resource: "pods" }), uninterrupted), {
    message: /integer 9007199254740993 cannot be stored exactly/,
  });
});

t.test(
  "a webhook for another version of the resource sees the object in that version, and its patch is taken back",
  async (t) => {
    const { view, admit } = await opened(t);
    const { url, asked } = await hooks(t, ({ request }) => ({
      allowed: true,
      ...(request.kind.version === "v2"
        ? {
            patchType: "JSONPatch",
            patch: btoa(JSON.stringify([{ op: "replace", path: "/size", value: 8 }])),
          }
        : {}),
    }));
    const equivalents: EquivalentResource[] = [
      {
        group: "example.com",
        version: "v2",
        resource: "boats",
        kind: "Boat",
        to: async (object) => ({ ...object, apiVersion: "example.com/v2", size: Number(object["length"]), length: "" }),
        from: async (object) => ({ ...object, apiVersion: "example.com/v1", length: String(object["size"]), size: 0 }),
      },
    ];
    const boat = {
      apiVersion: "example.com/v1",
      kind: "Boat",
      metadata: { name: "a", namespace: "shop" },
      length: "7",
    };
    const sent = () => createRequest(structuredClone(boat), { group: "example.com", resource: "boats", equivalents });
    const rule = { operations: ["*"], apiGroups: ["example.com"], apiVersions: ["v2"], resources: ["boats"] };
    view.put(mutating, configuration("Mutating", webhook(url, { rules: [rule] })));
    view.put(validating, configuration("Validating", webhook(url, { rules: [{ ...rule, apiVersions: ["v1"] }] })));
    const request = sent();
    await admit(request);
    t.match(request.object, { apiVersion: "example.com/v1", length: "8" });
    t.match(
      asked.map(({ review }) => review.request),
      [
        {
          kind: { version: "v2" },
          resource: { version: "v2" },
          requestKind: { version: "v1" },
          requestResource: { version: "v1", resource: "boats" },
          object: { apiVersion: "example.com/v2", size: 7 },
        },
        { kind: { version: "v1" }, object: { apiVersion: "example.com/v1", length: "8" } },
      ],
    );
    view.put(mutating, configuration("Mutating", webhook(url, { rules: [rule], matchPolicy: "Exact" })));
    const exact = sent();
    await admit(exact);
    t.match(exact.object, { length: "7" });
  },
);
