// The real kubectl reads: discovery, explanations, every output form, watches and waits.

import t from "tap";
import { noKubectl, startKubectl } from "../harness/kubectl.ts";

const skip = noKubectl() ?? false;

t.test("kubectl finds out what there is", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  t.match((await kubectl.run("version")).out, /Server Version: v1\.32/);
  const resources = (await kubectl.run("api-resources -o name")).out.split("\n");
  for (const name of [
    "pods",
    "deployments.apps",
    "cronjobs.batch",
    "roles.rbac.authorization.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
  ])
    t.ok(resources.includes(name), name);
  t.match((await kubectl.run("api-versions")).out, /^apps\/v1$/m);
  t.match(
    (await kubectl.run("explain deployment.spec.strategy")).out,
    /GROUP:\s+apps\nKIND:\s+Deployment\nVERSION:\s+v1[\s\S]*rollingUpdate\t<RollingUpdateDeployment>/,
  );
  t.match((await kubectl.run("explain pod --recursive")).out, /containers\t<\[\]Container> -required-/);
  t.match((await kubectl.run("explain pod.spec --output=plaintext-openapiv2")).out, /restartPolicy\t<string>/);
  t.match((await kubectl.run("get --raw /readyz?verbose")).out, /\[\+\]ping ok/);
  t.match((await kubectl.run("get --raw /api/v1/namespaces/default")).out, /"kind":"Namespace"/);
});

t.test("kubectl get prints every form", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  await kubectl.run("create configmap c --from-literal=a=b");
  await kubectl.run("run web --image=busybox --labels=app=web");
  t.match((await kubectl.run("get pods")).out, /^NAME +READY +STATUS +RESTARTS +AGE\nweb +0\/1 +Pending +0 +\d+s\n$/);
  t.match((await kubectl.run("get pods -o wide")).out, /NOMINATED NODE +READINESS GATES/);
  t.match((await kubectl.run("get pods --show-labels")).out, /app=web\n$/);
  t.match((await kubectl.run("get pods -L app")).out, /APP\nweb .* web\n$/);
  t.equal((await kubectl.run("get pods -o name")).out, "pod/web\n");
  t.match(
    (await kubectl.run("get configmap c -o yaml")).out,
    /^apiVersion: v1\ndata:\n {2}a: b\nkind: ConfigMap\nmetadata:\n/,
  );
  t.equal(JSON.parse((await kubectl.run("get configmap c -o json")).out).data.a, "b");
  t.equal((await kubectl.run("get configmap c -o jsonpath={.data.a}")).out, "b");
  t.equal((await kubectl.run(["get", "configmap", "c", "-o", "go-template={{.data.a}}"])).out, "b");
  t.match((await kubectl.run("get configmap -o custom-columns=N:.metadata.name")).out, /^N\nc\n$/);
  t.match((await kubectl.run("get configmap --sort-by=.metadata.name")).out, /^NAME.*\nc /);
  t.match((await kubectl.run("get all")).out, /pod\/web/);
  t.match(
    (await kubectl.run("get pods -A --field-selector=status.phase=Pending -l app=web --no-headers")).out,
    /^default +web /,
  );
  t.match((await kubectl.run("get pods nope")).err, /Error from server \(NotFound\): pods "nope" not found/);
  t.match((await kubectl.run("get nonsense")).err, /the server doesn't have a resource type "nonsense"/);
  t.match((await kubectl.run("describe pod web")).out, /Name: +web\nNamespace: +default[\s\S]*Status: +Pending/);
  t.match((await kubectl.run("get events")).err, /No resources found in default namespace/);
});

t.test("kubectl watches and waits", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  await kubectl.run("run web --image=busybox");
  const begun = Promise.withResolvers<void>();
  const command = "get pod web -w --request-timeout=4s --output-watch-events";
  const watching = kubectl.run(command, undefined, {}, (printed) => {
    if (/ADDED +web/.test(printed)) begun.resolve();
  });
  await Promise.race([begun.promise, watching]);
  const waiting = kubectl.run("wait --for=condition=Ready pod/web --timeout=120s");
  const gone = kubectl.run("wait --for=delete pod/web --timeout=120s");
  const path = "/api/v1/namespaces/default/pods/web";
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  await kubectl.api.ask("PATCH", `${path}/status`, { status }, { "content-type": "application/merge-patch+json" });
  t.equal((await waiting).out.trim(), "pod/web condition met");
  await kubectl.api.ask("DELETE", path, { gracePeriodSeconds: 0 });
  t.equal((await gone).code, 0);
  const { out } = await watching;
  t.match(out, /^EVENT +NAME/);
  t.match(out, /(ADDED|MODIFIED) +web/);
});

t.test("kubectl uses custom resources", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Color, type: string, jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string, description: What it looks like.}}}
`;
  t.equal(
    (await kubectl.run("apply -f -", crd)).out.trim(),
    "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
  );
  t.match(
    (await kubectl.run("wait --for=condition=Established crd/widgets.example.com --timeout=120s")).out,
    /condition met/,
  );
  const widget = (color: string, more = "") =>
    `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"color":"${color}"${more}}}`;
  t.equal((await kubectl.run("apply -f -", widget("red"))).out.trim(), "widget.example.com/a created");
  t.equal((await kubectl.run("apply -f -", widget("blue"))).out.trim(), "widget.example.com/a configured");
  t.match((await kubectl.run("apply -f -", widget("blue", ',"nope":1'))).err, /unknown field "spec\.nope"/);
  t.match((await kubectl.run("get wd")).out, /^NAME +COLOR\na +blue\n$/);
  t.match((await kubectl.run("explain widget.spec.color")).out, /What it looks like\./);
  t.match(
    (await kubectl.run("explain widget.spec --output=plaintext-openapiv2")).out,
    /KIND: +Widget\nVERSION: +example\.com\/v1[\s\S]*color\t<string>\s+What it looks like\./,
  );
  t.equal((await kubectl.run("delete crd widgets.example.com")).code, 0);
});
