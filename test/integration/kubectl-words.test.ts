// The words of kubectl that the other runs leave out, against the assembled control plane: each with what it prints.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startControl, until } from "../harness/control.ts";
import { kubectlFor, withKubectl } from "../harness/control-kubectl.ts";

t.setTimeout(600_000);

const started = await startControl();
t.teardown(() => started.close());
const kubectl = kubectlFor(started);

let files = 0;
function file(content: unknown): string {
  const path = join(started.dataDir, `words-${files++}`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** Runs each command after the other; what it prints must match. */
async function transcript(t: Test, rows: readonly [string | readonly string[], string | RegExp][]): Promise<void> {
  for (const [command, said] of rows) {
    const args = typeof command === "string" ? command.split(" ") : command;
    const printed = await kubectl(...args);
    if (typeof said === "string") t.equal(printed, said, args.join(" "));
    else t.match(printed, said, args.join(" "));
  }
}

const configMap = (name: string, data: Record<string, string>, labels?: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(labels ? { labels } : {}) },
  data,
});

t.test("get prints each of its forms", withKubectl, async (t) => {
  await kubectl("create", "configmap", "forms", "--from-literal=a=b");
  const get = (form: string) => ["get", "configmap", "forms", "-o", form];
  await transcript(t, [
    [get("json"), /^\{\n {4}"apiVersion": "v1",\n {4}"data": \{\n {8}"a": "b"\n {4}\},\n {4}"kind": "ConfigMap",/],
    [get("yaml"), /^apiVersion: v1\ndata:\n {2}a: b\nkind: ConfigMap\nmetadata:\n {2}creationTimestamp: "/],
    [get("name"), "configmap/forms"],
    [get("wide"), /^NAME +DATA +AGE\nforms +1 +\d+s$/],
    [get("jsonpath={.data}"), '{"a":"b"}'],
    [get("jsonpath-as-json={.data}"), '[\n    {\n        "a": "b"\n    }\n]'],
    [get(`jsonpath-file=${file("{.data.a}")}`), "b"],
    [get("go-template={{.data.a}}"), "b"],
    [get(`go-template-file=${file("{{.data.a}}")}`), "b"],
    [get("template={{.data.a}}"), "b"],
    [get(`templatefile=${file("{{.data.a}}")}`), "b"],
    [get("custom-columns=N:.metadata.name,A:.data.a"), /^N +A\nforms +b$/],
    [get(`custom-columns-file=${file("NAME KEY\n.metadata.name .data.a\n")}`), /^NAME +KEY\nforms +b$/],
    ["get configmap forms -o yaml --show-managed-fields", /managedFields:\n {2}- apiVersion: v1/],
    ["get --raw /version", /"gitVersion":"v1\.32/],
    ["get --raw /nope", "Error from server (NotFound): the server could not find the requested resource"],
    [
      "api-resources --api-group=apps --no-headers -o name",
      /^controllerrevisions\.apps\ndaemonsets\.apps\ndeployments/,
    ],
    ["explain nope", `the server doesn't have a resource type "nope"`],
    ["cluster-info", /Kubernetes control plane.* is running at/],
  ]);
});

t.test("set, expose, autoscale, scale, taint and label say what they did", withKubectl, async (t) => {
  await kubectl.create({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  await transcript(t, [
    ["create deployment web --image=nginx --replicas=2 --port=80", "deployment.apps/web created"],
    ["create serviceaccount robot", "serviceaccount/robot created"],
    ["set serviceaccount deployment web robot", "deployment.apps/web serviceaccount updated"],
    ["create role r --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/r created"],
    ["create rolebinding rb --role=r --user=jane", "rolebinding.rbac.authorization.k8s.io/rb created"],
    ["set subject rolebinding rb --user=kim", "rolebinding.rbac.authorization.k8s.io/rb subjects updated"],
    ["create service clusterip cip --tcp=80:8080", "service/cip created"],
    ["set selector service cip app=web", "service/cip selector updated"],
    ["expose deployment web --port=80 --target-port=8080 --type=NodePort --name=np", "service/np exposed"],
    ["expose service cip --port=81 --name=second", "service/second exposed"],
    ["create service externalname en --external-name example.com", "service/en created"],
    ["get service en --no-headers", /^en +ExternalName +<none> +example\.com +<none> +\d+s$/],
    ["get service np --no-headers", /^np +NodePort +10\.143\.\d+\.\d+ +<none> +80:3\d{4}\/TCP +\d+s$/],
    ["describe service np", /Type: +NodePort\nIP Family Policy: +SingleStack\nIP Families: +IPv4/],
    ["autoscale deployment web --min=2 --max=5 --cpu-percent=70", "horizontalpodautoscaler.autoscaling/web autoscaled"],
    ["get hpa web --no-headers", /^web +Deployment\/web +cpu: <unknown>\/70% +2 +5 +\d+ +\d+s$/],
    ["scale deployment web --replicas=3 --current-replicas=2", "deployment.apps/web scaled"],
    ["scale deployment web --replicas=3 --current-replicas=2", "error: Expected replicas to be 2, was 3"],
    ["get deployment web --subresource=scale", /^NAME +DESIRED +AVAILABLE +AGE\nweb +3 +\d+ +\d+s$/],
    ["rollout status deployment web --watch=false", /^Waiting for deployment/],
    ["taint node n1 a=b:NoSchedule", "node/n1 tainted"],
    ["taint node n1 a-", "node/n1 untainted"],
    ["taint node n1 nope-", 'error: taint "nope" not found'],
    ["label node n1 x=y", "node/n1 labeled"],
    ["label node n1 x=z", /already has a value \(y\), and --overwrite is false/],
    ["label node n1 x-", "node/n1 unlabeled"],
    ["annotate node n1 x=y", "node/n1 annotated"],
    [
      ["patch", "node", "n1", "--subresource=status", "--type=merge", "-p", '{"status":{"capacity":{"cpu":"4"}}}'],
      "node/n1 patched",
    ],
    ["describe node n1", /Capacity:\n {2}cpu: +4\n/],
  ]);
});

t.test("apply, diff, create and replace in their lesser forms", withKubectl, async (t) => {
  const labels = { app: "x" };
  const one = file(configMap("p1", { a: "1" }, labels));
  const two = file(configMap("p2", { a: "2" }, labels));
  await transcript(t, [
    [`apply --prune -l app=x -f ${one}`, "configmap/p1 created"],
    [`apply --prune -l app=x -f ${two}`, "configmap/p2 created\nconfigmap/p1 pruned"],
    ["apply view-last-applied configmap p2", /^apiVersion: v1\ndata:\n {2}a: "2"\nkind: ConfigMap/],
    [`apply set-last-applied -f ${file(configMap("p2", { a: "3" }, labels))}`, "configmap/p2 configured"],
    [`diff -f ${file(configMap("p2", { a: "4" }, labels))}`, /-\s+a: "2"\n\+\s+a: "4"/],
    [`diff --server-side -f ${file(configMap("new", { a: "4" }))}`, /\+kind: ConfigMap/],
    [`create -f ${file(configMap("new", { a: "4" }))} --dry-run=server -o name`, "configmap/new"],
    ["get configmap new", 'Error from server (NotFound): configmaps "new" not found'],
    [`replace --force -f ${file(configMap("p2", { a: "5" }))}`, /^configmap "p2" deleted\s+configmap\/p2 replaced$/],
    ["wait --for=jsonpath={.data.a}=5 configmap/p2 --timeout=120s", "configmap/p2 condition met"],
    ["wait --for=create configmap/p2 --timeout=120s", "configmap/p2 condition met"],
    ["delete configmap -l app=x", "No resources found"],
    ["delete configmap p2 --now", /configmap "p2" deleted$/],
  ]);
});

t.test("auth, tokens and certificates", withKubectl, async (t) => {
  const role = (verbs: string[]) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "kept", namespace: "default" },
    rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs }],
  });
  const both = "jsonpath={.rules[*].verbs}";
  await kubectl("create", "serviceaccount", "bot");
  await transcript(t, [
    [`auth reconcile -f ${file(role(["get"]))}`, "role.rbac.authorization.k8s.io/kept reconciled"],
    [`auth reconcile -f ${file(role(["list"]))}`, /role\.rbac\.authorization\.k8s\.io\/kept reconciled/],
    ["get role kept -o " + both, /get.*list/],
    [
      `auth reconcile --remove-extra-permissions -f ${file(role(["list"]))}`,
      /role\.rbac\.authorization\.k8s\.io\/kept reconciled/,
    ],
    ["get role kept -o " + both, '["list"]'],
    ["auth can-i create pods", "yes"],
    ["auth can-i create pods --as nobody", "no"],
    ["auth can-i --list --as system:serviceaccount:default:bot", /selfsubjectaccessreviews\.authorization\.k8s\.io/],
    ["auth can-i get /metrics --as nobody", /^no/],
    ["auth whoami", /^ATTRIBUTE +VALUE\nUsername +kubernetes-admin\nGroups +\[system:masters system:authenticated\]/],
    ["create token bot --duration=10m --audience=me", /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/],
    ["create token nobody", /^error: failed to create token: serviceaccounts "nobody" not found$/],
    ["certificate approve nobody", /certificatesigningrequests.* "nobody" not found/],
  ]);
});

t.test("delete with each cascade, and what becomes of the dependents", withKubectl, async (t) => {
  const owned = (owner: string, uid: string) => ({
    ...configMap(`${owner}-child`, {}),
    metadata: {
      name: `${owner}-child`,
      namespace: "default",
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: owner, uid, blockOwnerDeletion: true }],
    },
  });
  for (const cascade of ["background", "foreground", "orphan"]) {
    const owner = `owner-${cascade}`;
    await kubectl("create", "configmap", owner);
    const uid = await kubectl("get", "configmap", owner, "-o", "jsonpath={.metadata.uid}");
    await kubectl.create(owned(owner, uid));
    t.equal(await kubectl("delete", "configmap", owner, `--cascade=${cascade}`), `configmap "${owner}" deleted`);
    t.match(await kubectl("get", "configmap", owner), /NotFound/, `${owner} is gone`);
    const child = ["get", "configmap", `${owner}-child`, "-o", "jsonpath={.metadata.name} {.metadata.ownerReferences}"];
    if (cascade === "orphan") t.equal(await kubectl(...child), `${owner}-child`, "an orphan stays, without an owner");
    else if (cascade === "foreground") t.match(await kubectl(...child), /NotFound/, "dependents go first");
    else await until(async () => /NotFound/.test(await kubectl(...child)));
  }
});

t.test("events shows what happened to whom", withKubectl, async (t) => {
  const now = new Date().toISOString();
  const involvedObject = { kind: "Node", apiVersion: "v1", name: "far" };
  const event = { reason: "Tested", message: "all is well", type: "Normal", count: 1 };
  const metadata = { name: "far.1", namespace: "default" };
  const times = { firstTimestamp: now, lastTimestamp: now };
  await kubectl.create({ apiVersion: "v1", kind: "Event", metadata, involvedObject, ...event, ...times });
  await transcript(t, [
    [
      "events --for node/far",
      /^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\d+s +Normal +Tested +Node\/far +all is well$/,
    ],
    ["get events --field-selector=involvedObject.name=far --no-headers", /Normal +Tested +node\/far +all is well/],
    ["events --types=Warning --for node/far", ""],
  ]);
});
