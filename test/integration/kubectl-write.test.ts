// The real kubectl creates, applies, patches and changes objects, and says what it says to the real server.

import t from "tap";
import { until } from "../harness/until.ts";
import { noKubectl, olderKubectl, startKubectl } from "../harness/kubectl.ts";

const skip = noKubectl() ?? false;

const deployment = (image: string, replicas = 2) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: "${image}", ports: [{containerPort: 80}]}]
`;

t.test("kubectl create makes every kind it knows", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  const rows: [string, string][] = [
    ["create deployment web --image=nginx --replicas=2 --port=80", "deployment.apps/web created"],
    ["create configmap c --from-literal=a=b", "configmap/c created"],
    ["create secret generic s --from-literal=a=b", "secret/s created"],
    ["create secret docker-registry d --docker-username=u --docker-password=p", "secret/d created"],
    ["create serviceaccount robot", "serviceaccount/robot created"],
    ["create namespace other", "namespace/other created"],
    ["create job j --image=busybox", "job.batch/j created"],
    ["create cronjob cj --image=busybox --schedule=@hourly", "cronjob.batch/cj created"],
    ["create job from --from=cronjob/cj", "job.batch/from created"],
    ["create quota q --hard=pods=3", "resourcequota/q created"],
    ["create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"],
    [
      "create rolebinding rb --role=r --serviceaccount=default:robot",
      "rolebinding.rbac.authorization.k8s.io/rb created",
    ],
    ["create clusterrole cr --verb=list --resource=nodes", "clusterrole.rbac.authorization.k8s.io/cr created"],
    [
      "create clusterrolebinding crb --clusterrole=cr --user=jane",
      "clusterrolebinding.rbac.authorization.k8s.io/crb created",
    ],
    ["create ingress i --rule=foo.com/bar=svc:80", "ingress.networking.k8s.io/i created"],
    ["create pdb p --selector=app=web --min-available=1", "poddisruptionbudget.policy/p created"],
    ["create priorityclass hi --value=100", "priorityclass.scheduling.k8s.io/hi created"],
    ["create service clusterip cip --tcp=80:8080", "service/cip created"],
    ["create service nodeport np --tcp=80", "service/np created"],
    ["run one --image=busybox --restart=Never", "pod/one created"],
    ["expose deployment web --port=80", "service/web exposed"],
    ["autoscale deployment web --max=3 --min=1", "horizontalpodautoscaler.autoscaling/web autoscaled"],
  ];
  for (const [command, said] of rows) {
    const { out, err } = await kubectl.run(command);
    t.equal(out.trim(), said, `${command} ${err}`);
  }
  const again = await kubectl.run("create configmap c --from-literal=a=b");
  t.equal(again.err.trim(), 'error: failed to create configmap: configmaps "c" already exists');
});

t.test("kubectl apply creates, changes, leaves alone, and refuses unknown fields", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  t.equal((await kubectl.run("apply -f -", deployment("nginx:1"))).out.trim(), "deployment.apps/web created");
  t.equal((await kubectl.run("apply -f -", deployment("nginx:1"))).out.trim(), "deployment.apps/web unchanged");
  const diff = await kubectl.run("diff -f -", deployment("nginx:2"));
  t.equal(diff.code, 1);
  t.match(diff.out, /-\s+image: nginx:1\n\+\s+image: nginx:2|-\s+- image: nginx:1\n\+\s+- image: nginx:2/);
  t.equal((await kubectl.run("apply -f -", deployment("nginx:2"))).out.trim(), "deployment.apps/web configured");
  const unknown = await kubectl.run(
    "apply -f -",
    deployment("nginx:2").replace("spec:\n  replicas", "spec:\n  nope: 1\n  replicas"),
  );
  t.match(unknown.err, /unknown field "spec\.nope"/);
  const applied = await kubectl.run("apply --server-side -f -", deployment("nginx:2"));
  t.equal(applied.out.trim(), "deployment.apps/web serverside-applied", applied.err);
  t.equal((await kubectl.run("scale deployment web --replicas=5")).out.trim(), "deployment.apps/web scaled");
  const conflict = await kubectl.run("apply --server-side -f -", deployment("nginx:2", 3));
  t.match(
    conflict.err,
    /Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using apps\/v1.*: \.spec\.replicas/,
  );
  const forced = await kubectl.run("apply --server-side --force-conflicts -f -", deployment("nginx:2", 3));
  t.equal(forced.out.trim(), "deployment.apps/web serverside-applied");
});

t.test("kubectl changes what is there", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  await kubectl.run("apply -f -", deployment("nginx:1"));
  await kubectl.api.ask("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const rows: [string[], string][] = [
    [["label", "deployment", "web", "tier=front"], "deployment.apps/web labeled"],
    [["annotate", "deployment", "web", "note=x"], "deployment.apps/web annotated"],
    [["set", "image", "deployment/web", "c=nginx:3"], "deployment.apps/web image updated"],
    [["set", "env", "deployment/web", "A=1"], "deployment.apps/web env updated"],
    [["set", "resources", "deployment/web", "--limits=cpu=200m"], "deployment.apps/web resource requirements updated"],
    [["patch", "deployment", "web", "-p", '{"spec":{"replicas":4}}'], "deployment.apps/web patched"],
    [["patch", "deployment", "web", "--type=merge", "-p", '{"spec":{"paused":true}}'], "deployment.apps/web patched"],
    [
      ["patch", "deployment", "web", "--type=json", "-p", '[{"op":"remove","path":"/spec/paused"}]'],
      "deployment.apps/web patched",
    ],
    [["rollout", "pause", "deployment/web"], "deployment.apps/web paused"],
    [["rollout", "resume", "deployment/web"], "deployment.apps/web resumed"],
    [["rollout", "restart", "deployment/web"], "deployment.apps/web restarted"],
    [["taint", "node", "n1", "a=b:NoSchedule"], "node/n1 tainted"],
    [["cordon", "n1"], "node/n1 cordoned"],
    [["uncordon", "n1"], "node/n1 uncordoned"],
  ];
  for (const [command, said] of rows) {
    const { out, err } = await kubectl.run(command);
    t.equal(out.trim(), said, `${command.join(" ")} ${err}`);
  }
  const { out } = await kubectl.run("get deployment web -o json");
  const replaced = await kubectl.run("replace -f -", out.replace('"replicas": 4', '"replicas": 1'));
  t.equal(replaced.out.trim(), "deployment.apps/web replaced", replaced.err);
  const stale = await kubectl.run("replace -f -", out);
  t.match(stale.err, /the object has been modified; please apply your changes to the latest version and try again/);
  const wrong = await kubectl.run(["patch", "deployment", "web", "-p", '{"spec":{"replicas":-1}}']);
  t.match(
    wrong.err,
    /The Deployment "web" is invalid: spec\.replicas: Invalid value: -1: must be greater than or equal to 0/,
  );
});

t.test("kubectl deletes in each way", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  for (const name of ["a", "b", "c"]) await kubectl.run(`create configmap ${name}`);
  t.equal((await kubectl.run("delete configmap a")).out.trim(), 'configmap "a" deleted');
  t.equal(
    (await kubectl.run("delete configmap b --dry-run=server")).out.trim(),
    'configmap "b" deleted (server dry run)',
  );
  t.equal(
    (await kubectl.run("delete configmap b --cascade=foreground --wait=false")).out.trim(),
    'configmap "b" deleted',
  );
  const held = (await kubectl.api.ask("GET", "/api/v1/namespaces/default/configmaps/b")).body.metadata;
  t.same(held.finalizers, ["foregroundDeletion"]);
  await kubectl.run("delete configmap c --cascade=orphan --wait=false");
  t.same((await kubectl.api.ask("GET", "/api/v1/namespaces/default/configmaps/c")).body.metadata.finalizers, [
    "orphan",
  ]);
  t.match(
    (await kubectl.run("delete configmap nope")).err,
    /Error from server \(NotFound\): configmaps "nope" not found/,
  );
});

t.test("kubectl edits, drains, and goes back to an earlier template", { skip }, async (t) => {
  const kubectl = await startKubectl();
  t.teardown(() => kubectl.close());
  await kubectl.run("create configmap c --from-literal=a=old");
  const edited = await kubectl.run("edit configmap c", undefined, { KUBE_EDITOR: "sed -i s/old/new/" });
  t.equal(edited.out.trim(), "configmap/c edited", edited.err);
  t.equal((await kubectl.run("get configmap c -o jsonpath={.data.a}")).out, "new");

  await kubectl.api.ask("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  await kubectl.run("run web --image=busybox");
  const pod = "/api/v1/namespaces/default/pods/web";
  await kubectl.api.ask("POST", `${pod}/binding`, { metadata: { name: "web" }, target: { kind: "Node", name: "n1" } });
  const status = { phase: "Succeeded" };
  await kubectl.api.ask("PATCH", `${pod}/status`, { status }, { "content-type": "application/merge-patch+json" });
  const drained = await kubectl.run("drain n1 --force --timeout=120s");
  t.match(drained.out, /node\/n1 cordoned\nevicting pod default\/web\npod\/web evicted\nnode\/n1 drained/, drained.err);

  await kubectl.run("apply -f -", deployment("nginx:1"));
  const uid = (await kubectl.run("get deployment web -o jsonpath={.metadata.uid}")).out;
  const past = (revision: string, image: string) => ({
    metadata: {
      name: `web-${revision}`,
      labels: { app: "web", "pod-template-hash": revision },
      annotations: { "deployment.kubernetes.io/revision": revision },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true }],
    },
    spec: {
      selector: { matchLabels: { app: "web", "pod-template-hash": revision } },
      template: {
        metadata: { labels: { app: "web", "pod-template-hash": revision } },
        spec: { containers: [{ name: "c", image }] },
      },
    },
  });
  for (const [revision, image] of [
    ["1", "nginx:0"],
    ["2", "nginx:1"],
  ] as const)
    await kubectl.api.ask("POST", "/apis/apps/v1/namespaces/default/replicasets", past(revision, image));
  t.match((await kubectl.run("rollout history deployment/web")).out, /1 +<none>\n2 +<none>/);
  t.equal(
    (await kubectl.run("rollout undo deployment/web --to-revision=1")).out.trim(),
    "deployment.apps/web rolled back",
  );
  t.equal(
    (await kubectl.run("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}")).out,
    "nginx:0",
  );
});

const older = olderKubectl();

const widgetSchema = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { color: { type: "string", description: "What it looks like." } } },
  },
};

t.test(
  "an older kubectl works too",
  { skip: older ? false : "kubectl 1.20 is not unpacked: run the set-up for tests" },
  async (t) => {
    const kubectl = await startKubectl(older);
    t.teardown(() => kubectl.close());
    t.equal((await kubectl.run("create deployment web --image=nginx")).out.trim(), "deployment.apps/web created");
    t.equal(
      (
        await kubectl.run(
          "apply -f -",
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b"}}',
        )
      ).out.trim(),
      "configmap/c created",
    );
    const unknown = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"nope":1}';
    t.match(
      (await kubectl.run("apply -f -", unknown)).err,
      /unknown field "nope" in io\.k8s\.api\.core\.v1\.ConfigMap/,
    );
    t.match((await kubectl.run("get all")).out, /deployment\.apps\/web +0\/1/);
    t.match((await kubectl.run("explain pod.spec.dnsPolicy")).out, /FIELD: +dnsPolicy <string>/);
    t.equal((await kubectl.run("scale deployment web --replicas=3")).out.trim(), "deployment.apps/web scaled");
    await kubectl.api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: widgetSchema } }],
      },
    });
    await until("the new kind", async () => (await kubectl.run("get widgets")).code === 0);
    t.match((await kubectl.run("explain widget.spec.color")).out, /What it looks like\./);
    const widget = (spec: object) =>
      JSON.stringify({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" }, spec });
    t.equal((await kubectl.run("create -f -", widget({ color: "red" }))).out.trim(), "widget.example.com/a created");
    t.match(
      (await kubectl.run("apply -f -", widget({ size: 1 }))).err,
      /unknown field "size" in com\.example\.v1\.Widget/,
    );
    t.match((await kubectl.run("get widgets")).out, /^NAME +AGE\na +\d+s\n$/);
    t.equal((await kubectl.run("delete deployment web --wait=false")).out.trim(), 'deployment.apps "web" deleted');
  },
);
