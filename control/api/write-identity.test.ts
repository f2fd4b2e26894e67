// Writes say which object they mean: what names no object or another one is refused, and nothing is changed. Codes and words are
// those that kube-apiserver 1.37 gave for the same requests.

import t from "tap";
import { type Json, startApi, type TestApi } from "../../test/harness/api-server.ts";

const namespace = "/api/v1/namespaces/default";
const configMap = `${namespace}/configmaps/c`;
const undeterminable = (name: string) =>
  `the name of the object (${name} based on URL) was undeterminable: name must be provided`;
const otherName = (name: string) => `the name of the object (other) does not match the name on the URL (${name})`;
const otherNamespace = "the namespace of the provided object does not match the namespace sent on the request";

async function started(t: Pick<typeof import("tap").t, "teardown">): Promise<TestApi> {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", `${namespace}/configmaps`, { metadata: { name: "c" }, data: { a: "b" } });
  return api;
}

t.test("an empty dryRun is refused and changes nothing", async (t) => {
  const api = await started(t);
  const merge = { "content-type": "application/merge-patch+json" };
  for (const [kind, ask] of [
    ["DeleteOptions", () => api.ask("DELETE", `${configMap}?dryRun=`)],
    ["DeleteOptions", () => api.ask("DELETE", `${configMap}?dryRun`)],
    ["DeleteOptions", () => api.ask("DELETE", `${configMap}?dryRun=All&dryRun=`)],
    ["DeleteOptions", () => api.ask("DELETE", `${namespace}/configmaps?dryRun=`)],
    ["CreateOptions", () => api.ask("POST", `${namespace}/configmaps?dryRun=`, { metadata: { name: "d" } })],
    ["PatchOptions", () => api.ask("PATCH", `${configMap}?dryRun=`, { data: null }, merge)],
    ["UpdateOptions", () => api.ask("PUT", `${configMap}?dryRun=`, { metadata: { name: "c" } })],
  ] as const) {
    const { status, body } = await ask();
    t.equal(status, 422, kind);
    t.match(body.message, `${kind}.meta.k8s.io "" is invalid: dryRun: Unsupported value`);
  }
  t.match((await api.ask("GET", configMap)).body, { data: { a: "b" } });
  t.equal((await api.ask("GET", `${namespace}/configmaps/d`)).status, 404);
});

t.test("a patch may not change who the object is, nor leave it nameless", async (t) => {
  const api = await started(t);
  const rows: readonly (readonly [type: string, patch: unknown, status: number, message: string | RegExp])[] = [
    ["merge-patch", { metadata: { namespace: "other" } }, 400, otherNamespace],
    ["merge-patch", { metadata: { name: "other" } }, 400, otherName("c")],
    ["merge-patch", { metadata: { name: null } }, 400, undeterminable("c")],
    ["merge-patch", { metadata: null }, 400, undeterminable("c")],
    ["merge-patch", { metadata: { uid: "x" } }, 422, /metadata\.uid: Invalid value: "x": field is immutable$/],
    ["strategic-merge-patch", { metadata: { namespace: "other" } }, 400, otherNamespace],
    ["strategic-merge-patch", { $patch: "replace" }, 400, undeterminable("c")],
    ["json-patch", [{ op: "replace", path: "", value: {} }], 400, undeterminable("c")],
    ["json-patch", [{ op: "remove", path: "/metadata" }], 400, undeterminable("c")],
    ["json-patch", [{ op: "remove", path: "/metadata/name" }], 400, undeterminable("c")],
    ["json-patch", [{ op: "replace", path: "/metadata/namespace", value: "other" }], 400, otherNamespace],
  ];
  for (const [type, patch, status, message] of rows) {
    const label = `${type} ${JSON.stringify(patch)}`;
    const answer = await api.ask("PATCH", configMap, patch, { "content-type": `application/${type}+json` });
    t.equal(answer.status, status, label);
    t.match(answer.body?.message, message, label);
  }
  t.match((await api.ask("GET", configMap)).body, { data: { a: "b" }, metadata: { namespace: "default" } });
  const removed = [{ op: "remove", path: "/metadata/namespace" }];
  const kept = await api.ask("PATCH", configMap, removed, { "content-type": "application/json-patch+json" });
  t.match(kept, { status: 200, body: { metadata: { namespace: "default" } } });
});

t.test("a scale says whose it is", async (t) => {
  const api = await started(t);
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { replicas: 3, selector: { matchLabels: { a: "b" } }, template };
  await api.ask("POST", deployments, { metadata: { name: "d" }, spec });
  const scale = `${deployments}/d/scale`;
  const one = { replicas: 1 };
  for (const [body, message] of [
    [{}, undeterminable("d")],
    [{ spec: one }, undeterminable("d")],
    [{ metadata: { name: "other" }, spec: one }, otherName("d")],
    [{ metadata: { name: "d", namespace: "other" }, spec: one }, otherNamespace],
  ] as const)
    t.match(await api.ask("PUT", scale, body), { status: 400, body: { message } }, JSON.stringify(body));
  const patch = (body: unknown, type = "merge-patch") =>
    api.ask("PATCH", scale, body, { "content-type": `application/${type}+json` });
  t.match(await patch({ metadata: { name: "other" } }), { status: 400, body: { message: otherName("d") } });
  t.match(await patch({ metadata: { namespace: "other" } }), { status: 400, body: { message: otherNamespace } });
  const emptied = await patch([{ op: "replace", path: "", value: {} }], "json-patch");
  t.match(emptied, { status: 400, body: { message: undeterminable("d") } });
  t.equal((await api.ask("GET", `${deployments}/d`)).body.spec.replicas, 3);
  t.match(await api.ask("PUT", scale, { metadata: { name: "d" }, spec: one }), { status: 200, body: { spec: one } });
});

t.test("an eviction, a binding and a token say whose they are", async (t) => {
  const api = await started(t);
  const pod = `${namespace}/pods/p`;
  await api.ask("POST", `${namespace}/pods`, {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await api.ask("POST", `${namespace}/serviceaccounts`, { metadata: { name: "s" } });
  const target = { name: "n" };
  const elsewhere = { name: "p", namespace: "other" };
  for (const [path, body, message] of [
    [`${pod}/eviction`, {}, "name in URL does not match name in Eviction object"],
    [`${pod}/eviction`, { metadata: { name: "other" } }, "name in URL does not match name in Eviction object"],
    [`${pod}/eviction`, { metadata: elsewhere }, otherNamespace],
    [`${pod}/binding`, {}, "name in URL does not match name in Binding object"],
    [`${pod}/binding`, { metadata: { name: "q" }, target }, "name in URL does not match name in Binding object"],
    [`${pod}/binding`, { metadata: elsewhere, target }, otherNamespace],
    [`${namespace}/bindings`, { metadata: elsewhere, target }, otherNamespace],
  ] as const)
    t.match(await api.ask("POST", path, body), { status: 400, body: { message } }, `${path} ${JSON.stringify(body)}`);
  const { body } = await api.ask("GET", pod);
  t.notOk(body.spec.nodeName ?? body.metadata.deletionTimestamp, "nothing came of any of them");
});

t.test("kinds that are never overwritten blindly need a resourceVersion", async (t) => {
  const api = await started(t);
  const group = "example.com";
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  const rows: Record<string, Json> = {
    [`/apis/${group}/v1/namespaces/default/things`]: { apiVersion: `${group}/v1`, kind: "Thing" },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": { spec: { holderIdentity: "a" } },
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": { spec: { minAvailable: 1, selector: {} } },
    "/apis/storage.k8s.io/v1/csidrivers": { spec: {} },
    "/apis/storage.k8s.io/v1/csinodes": { spec: { drivers: [] } },
    "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities": { storageClassName: "s" },
    "/apis/storage.k8s.io/v1/volumeattachments": {
      spec: { attacher: "a.b", nodeName: "n", source: { persistentVolumeName: "v" } },
    },
    "/apis/node.k8s.io/v1/runtimeclasses": { handler: "h" },
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {},
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": {},
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies": {
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
        validations: [{ expression: "true" }],
      },
    },
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": {
      spec: { policyName: "p", validationActions: ["Deny"] },
    },
  };
  const merge = { "content-type": "application/merge-patch+json" };
  for (const [path, rest] of Object.entries(rows)) {
    const made = await api.ask("POST", path, { metadata: { name: "x" }, ...rest });
    t.equal(made.status, 201, `${path} ${made.body?.message ?? ""}`);
    const label = path.split("/").at(-1) ?? "";
    for (const metadata of [{ name: "x" }, { name: "x", resourceVersion: "0" }]) {
      const { status, body } = await api.ask("PUT", `${path}/x`, { metadata, ...rest });
      t.equal(status, 422, label);
      t.match(
        body.message,
        /^[a-z.0-9]+ "x" is invalid: metadata\.resourceVersion: Invalid value: 0: must be specified/,
      );
    }
    const removed = await api.ask("PATCH", `${path}/x`, { metadata: { resourceVersion: null } }, merge);
    t.equal(removed.status, 422, `${label}, patched`);
    t.equal((await api.ask("PATCH", `${path}/x`, { metadata: { labels: { a: "b" } } }, merge)).status, 200, label);
    const { body } = await api.ask("GET", `${path}/x`);
    t.equal((await api.ask("PUT", `${path}/x`, body)).status, 200, `${label} with it`);
  }
  t.equal((await api.ask("PUT", configMap, { metadata: { name: "c" } })).status, 200, "others do not");
});
