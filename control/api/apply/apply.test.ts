// Server-side apply and the tracking of owners, through the API.

import t from "tap";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";

const path = "/apis/apps/v1/namespaces/default/deployments/web";

const deployment = (more: Json = {}, container: Json = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "nginx:1", ...container }] },
    },
    ...more,
  },
});

function apply(api: TestApi, manager: string, object: unknown, query = "") {
  return api.ask("PATCH", `${path}?fieldManager=${manager}${query}`, object, {
    "content-type": "application/apply-patch+yaml",
  });
}

const ownersOf = (object: Json): string[] =>
  object.metadata.managedFields.map((one: Json) => `${one.manager}:${one.operation}`);

t.test("applyObject() creates what is not there and owns exactly what it said", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await apply(api, "one", deployment({ replicas: 2 }));
  t.equal(status, 201);
  t.same(ownersOf(body), ["one:Apply"]);
  t.same(body.metadata.managedFields[0].fieldsV1, {
    "f:spec": {
      "f:replicas": {},
      "f:selector": {},
      "f:template": {
        "f:metadata": { "f:labels": { "f:app": {} } },
        "f:spec": { "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:image": {}, "f:name": {} } } },
      },
    },
  });
  const again = await apply(api, "one", deployment({ replicas: 2 }));
  t.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion, "nothing changed, nothing written");
});

t.test("applyObject() refuses what another owns, says which, and takes it by force", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await apply(api, "one", deployment({ replicas: 2 }));
  const refused = await apply(api, "two", deployment({ replicas: 3 }));
  t.equal(refused.status, 409);
  t.equal(refused.body.message, 'Apply failed with 1 conflict: conflict with "one": .spec.replicas');
  t.same(refused.body.details.causes, [
    { reason: "FieldManagerConflict", message: 'conflict with "one"', field: ".spec.replicas" },
  ]);
  const forced = await apply(api, "two", deployment({ replicas: 3 }), "&force=true");
  t.equal(forced.body.spec.replicas, 3);
  const one = forced.body.metadata.managedFields.find((entry: Json) => entry.manager === "one");
  t.notOk(one.fieldsV1["f:spec"]["f:replicas"]);
});

t.test("applyObject() lets two own the same value, and removes a field when its last owner drops it", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const env = (name: string) => ({ env: [{ name, value: "x" }] });
  await apply(api, "one", deployment({}, env("A")));
  t.equal((await apply(api, "two", deployment({}, env("B")))).status, 200);
  const both = await api.ask("GET", path);
  t.same(
    both.body.spec.template.spec.containers[0].env.map((one: Json) => one.name),
    ["A", "B"],
  );
  const dropped = await apply(api, "one", deployment());
  t.same(
    dropped.body.spec.template.spec.containers[0].env.map((one: Json) => one.name),
    ["B"],
  );
});

t.test("applyObject() needs a manager and refuses managedFields", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  t.equal((await apply(api, "", deployment())).status, 422);
  const object = deployment();
  (object.metadata as Json).managedFields = [];
  t.match((await apply(api, "one", object)).body.message, /managedFields must be nil/);
});

t.test("trackUpdate() gives a changed field to whoever changed it", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await apply(api, "one", deployment({ replicas: 2 }));
  const merge = { "content-type": "application/merge-patch+json", "user-agent": "kubectl/v1.32" };
  const { body } = await api.ask("PATCH", path, { spec: { replicas: 5 } }, merge);
  t.same(ownersOf(body), ["one:Apply", "kubectl:Update"]);
  t.same(body.metadata.managedFields[1].fieldsV1, { "f:spec": { "f:replicas": {} } });
  const scaled = await api.ask("PATCH", `${path}/scale`, { spec: { replicas: 6 } }, merge);
  t.equal(scaled.body.spec.replicas, 6);
  const entries = (await api.ask("GET", path)).body.metadata.managedFields;
  t.equal(entries.at(-1).subresource, "scale");
  const cleared = await api.ask("PATCH", path, { metadata: { managedFields: [{}] } }, merge);
  t.equal(cleared.body.metadata.managedFields, undefined);
});

const noted = "kubectl.kubernetes.io/last-applied-configuration";

/** As `kubectl apply` makes it when it does not apply on the server. */
async function appliedByClient(api: TestApi, object: ReturnType<typeof deployment>): Promise<void> {
  const metadata = { ...object.metadata, annotations: { [noted]: JSON.stringify(object) } };
  const made = await api.ask(
    "POST",
    "/apis/apps/v1/namespaces/default/deployments?fieldManager=kubectl-client-side-apply",
    { ...object, metadata },
  );
  if (made.status !== 201) throw new Error(made.text);
}

t.test("applyObject() lets kubectl change what it applied as a client before, and renews the note of it", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await appliedByClient(api, deployment({ replicas: 2 }));
  const other = await apply(api, "other", deployment({ replicas: 3 }));
  t.equal(other.status, 409, "the note is kubectl's own");
  const wanted = deployment({ replicas: 3 }, { image: "a<b" });
  const { status, body, text } = await apply(api, "kubectl", wanted);
  t.equal(status, 200, text);
  t.equal(body.spec.replicas, 3);
  const note: string = body.metadata.annotations[noted];
  t.same(JSON.parse(note), wanted);
  t.match(
    note,
    /^{"apiVersion":"apps\/v1","kind":.*"image":"a\\u003cb".*}\n$/,
    "keys in order, signs escaped, a line end",
  );
  const again = await apply(api, "kubectl", wanted);
  t.equal(again.body.metadata.resourceVersion, body.metadata.resourceVersion);
});

t.test("applyObject() does not let kubectl change what is no longer as it noted it", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await appliedByClient(api, deployment({ replicas: 2, paused: true }));
  await api.ask(
    "PATCH",
    `${path}?fieldManager=scaler`,
    { spec: { replicas: 5 } },
    {
      "content-type": "application/merge-patch+json",
    },
  );
  const refused = await apply(api, "kubectl", deployment({ replicas: 3, paused: false }));
  t.equal(refused.status, 409);
  t.match(
    refused.body.message,
    /^Apply failed with 1 conflict: conflict with "scaler" using apps\/v1 at \S+: \.spec\.replicas$/,
  );
  const annotate = (value: string) =>
    api.ask(
      "PATCH",
      path,
      { metadata: { annotations: { [noted]: value } } },
      { "content-type": "application/merge-patch+json" },
    );
  for (const unread of ["{", "[]", '{"apiVersion":"apps/v1beta1","metadata":{},"spec":{"paused":true}}']) {
    await annotate(unread);
    t.equal((await apply(api, "kubectl", deployment({ replicas: 5, paused: false }))).status, 409, unread);
  }
});
