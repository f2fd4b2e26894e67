// What becomes of values on the way in, as the typed objects of a Go server would have it.

import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";

t.test("holdToSchema() leaves out what says nothing and keeps what says zero", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const made = await api.ask("POST", deployments, {
    metadata: { name: "web", labels: {}, finalizers: [] },
    spec: {
      replicas: 0,
      paused: false,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { hostNetwork: false, containers: [{ name: "a", image: "b" }] },
      },
    },
  });
  t.equal(made.status, 201, made.text);
  const { metadata, spec } = made.body;
  t.notOk("paused" in spec, "false is the same as nothing here");
  t.notOk("hostNetwork" in spec.template.spec);
  t.notOk("labels" in metadata || "finalizers" in metadata);
  t.equal(spec.replicas, 0, "none is not the same as one");
  t.equal(spec.template.metadata.creationTimestamp, null, "a template was never created");
  const owned = metadata.managedFields[0].fieldsV1["f:spec"];
  t.notOk("f:paused" in owned, "nobody owns what is not there");
  t.notOk("." in owned["f:template"]["f:spec"]["f:containers"], "a new object has a list of containers already");
  t.ok("." in owned["f:strategy"]["f:rollingUpdate"], "but no rolling update");

  const applied = await api.ask(
    "PATCH",
    `${deployments}/web?fieldManager=m`,
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { paused: false } },
    { "content-type": "application/apply-patch+yaml" },
  );
  t.notOk("paused" in applied.body.spec);
  const [mine] = applied.body.metadata.managedFields;
  t.same(mine.fieldsV1, { "f:spec": { "f:paused": {} } }, "who applies it owns it all the same");
});

const rows: readonly [what: string, object: object, message: string][] = [
  [
    "a number for a text",
    { spec: { containers: [{ name: 7 }] } },
    "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
  ],
  [
    "an object for a list",
    { spec: { containers: {} } },
    "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
  ],
  [
    "too large a number",
    { spec: { priority: 2 ** 31 } },
    "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
  ],
  [
    "a label that is none",
    { metadata: { labels: { "a.b/c": 1 } } },
    "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
  ],
  [
    "metadata that is none",
    { kind: "Pod", apiVersion: "v1", metadata: [] },
    "json: cannot unmarshal array into Go struct field Pod.metadata of type v1.ObjectMeta",
  ],
];

t.test("holdToSchema() names place and type of what does not fit, as Go does", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [what, object, message] of rows) {
    const { status, body } = await api.ask("POST", "/api/v1/namespaces/default/pods", object);
    t.equal(status, 400, what);
    t.equal(body.message, `Pod in version "v1" cannot be handled as a Pod: ${message}`, what);
  }
  const lease = { metadata: { name: "l" }, spec: { renewTime: "2026-01-01T00:00:00Z" } };
  const { body } = await api.ask("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", lease);
  t.match(body.message, /parsing time "2026-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00"/);
});
