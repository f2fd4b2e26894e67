// Real pods under the controllers: an update under load without a failed request, jobs by hand and by the clock, a StatefulSet that
// finds its data again, and a namespace that goes with everything in it.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const nextImageName = "skiff.test/busybox:2";
const namespace = "shop";
const patience = "--timeout=120s";

const dataDir = mkdtempSync(join(tmpdir(), "skiff-workloads-"));
mkdirSync(join(dataDir, "images"));
writeFileSync(join(dataDir, "images", "1.tar"), await imageArchive(busyboxImage()));
writeFileSync(join(dataDir, "images", "2.tar"), await imageArchive(busyboxImage({ name: nextImageName })));
const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
t.teardown(async () => {
  if (!t.passing()) process.stderr.write(skiff.log().split("\n").slice(-80).join("\n"));
  await skiff.stop();
  skiff.remove();
});

const kubectl = (...args: string[]) => skiff.kubectl("-n", namespace, ...args);
const object = (apiVersion: string, kind: string, name: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
  spec,
});
const container = (command: string, more: object = {}) => ({
  name: "c",
  image: busyboxImageName,
  imagePullPolicy: "Never",
  command: ["sh", "-c", command],
  ...more,
});
const template = (app: string, spec: object) => ({
  metadata: { labels: { app } },
  spec: { terminationGracePeriodSeconds: 5, ...spec },
});

await skiff.kubectl("create", "namespace", namespace);
// Begun first: its minute passes while the others work.
await skiff.apply(
  object("batch/v1", "CronJob", "chime", {
    schedule: "* * * * *",
    jobTemplate: {
      spec: { template: template("chime", { restartPolicy: "Never", containers: [container("echo ding")] }) },
    },
  }),
);

/** One request on a connection of its own: the answer, or what went wrong. */
function ask(host: string): Promise<{ body?: string; trouble?: string }> {
  return new Promise((resolve) => {
    const request = get({ host, port: 80, path: "/", agent: false, timeout: 30_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve(response.statusCode === 200 ? { body } : { trouble: `${response.statusCode}` }));
      response.on("error", (error) => resolve({ trouble: error.message }));
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", (error) => resolve({ trouble: error.message }));
  });
}

t.test("a rolling update under load fails no request", async (t) => {
  const serve = "mkdir -p /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www";
  const web = container(serve, {
    readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1 },
    lifecycle: { preStop: { exec: { command: ["sleep", "3"] } } },
  });
  await skiff.apply(
    object("apps/v1", "Deployment", "web", {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: template("web", { containers: [web] }),
    }),
    object("v1", "Service", "web", { selector: { app: "web" }, ports: [{ port: 80, targetPort: 8080 }] }),
  );
  await kubectl("rollout", "status", "deployment/web", patience);
  const host = await kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}");
  await until("the service to answer", async () => (await ask(host)).body);

  const troubles: string[] = [];
  const answered = new Set<string>();
  let requests = 0;
  let isOver = false;
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const { body, trouble } = await ask(host);
      requests++;
      if (trouble) troubles.push(trouble);
      else answered.add(body?.trim() ?? "");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  await kubectl("set", "image", "deployment/web", `c=${nextImageName}`);
  await kubectl("rollout", "status", "deployment/web", patience);
  await until(
    "the old pods to go",
    async () => (await kubectl("get", "pods", "-l", "app=web", "-o", "name")).trim().split("\n").length === 3,
  );
  isOver = true;
  await Promise.all(clients);
  t.same(troubles, [], `${requests} requests`);
  const now = (await kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}")).split(" ");
  t.ok(
    now.every((name) => answered.has(name)),
    "each new pod took its part",
  );
  t.ok(
    [...answered].some((name) => !now.includes(name)),
    "and old ones before",
  );
});

t.test("a Job runs to completion, one that cannot says why", async (t) => {
  await skiff.apply(
    object("batch/v1", "Job", "count", {
      completions: 4,
      parallelism: 2,
      completionMode: "Indexed",
      template: template("count", { restartPolicy: "Never", containers: [container("echo $JOB_COMPLETION_INDEX")] }),
    }),
    object("batch/v1", "Job", "broken", {
      backoffLimit: 0,
      template: template("broken", { restartPolicy: "Never", containers: [container("exit 3")] }),
    }),
  );
  await kubectl("wait", "--for=condition=Complete", "job/count", patience);
  await kubectl("wait", "--for=condition=Failed", "job/broken", patience);
  t.equal(
    await kubectl("get", "job", "count", "-o", "jsonpath={.status.succeeded} {.status.completedIndexes}"),
    "4 0-3",
  );
  const logs = await kubectl("logs", "-l", "app=count", "--tail=-1");
  t.same(logs.trim().split("\n").sort(), ["0", "1", "2", "3"]);
  t.equal(
    await kubectl("get", "job", "broken", "-o", 'jsonpath={.status.conditions[?(@.type=="Failed")].reason}'),
    "BackoffLimitExceeded",
  );
});

t.test("a StatefulSet's pods come back by name, to their own data", async (t) => {
  const keep = container("echo $HOSTNAME >> /data/who && exec sleep 100000", {
    volumeMounts: [{ name: "data", mountPath: "/data" }],
    readinessProbe: { exec: { command: ["test", "-s", "/data/who"] }, periodSeconds: 1 },
  });
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } };
  await skiff.apply(
    object("v1", "Service", "db", { clusterIP: "None", selector: { app: "db" } }),
    object("apps/v1", "StatefulSet", "db", {
      serviceName: "db",
      replicas: 2,
      selector: { matchLabels: { app: "db" } },
      template: template("db", { terminationGracePeriodSeconds: 0, containers: [keep] }),
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
    }),
  );
  await kubectl("rollout", "status", "statefulset/db", patience);
  const uid = () => kubectl("get", "pod", "db-1", "-o", "jsonpath={.metadata.uid}");
  const before = await uid();
  await kubectl("delete", "pod", "db-1", patience);
  await until("another db-1", async () => (await uid()) !== before);
  await kubectl("wait", "--for=condition=Ready", "pod/db-1", patience);
  t.equal(await kubectl("exec", "db-1", "--", "cat", "/data/who"), "db-1\ndb-1\n");
  t.equal(await kubectl("exec", "db-0", "--", "cat", "/data/who"), "db-0\n");
  await kubectl("scale", "statefulset/db", "--replicas=1");
  await kubectl("wait", "--for=delete", "pod/db-1", patience);
  await kubectl("scale", "statefulset/db", "--replicas=2");
  await until(
    "db-1 to be ready again",
    async () => (await kubectl("exec", "db-1", "--", "cat", "/data/who")) === "db-1\n".repeat(3),
    120_000,
  );
});

t.test("a CronJob's minute comes, and its job completes", async (t) => {
  await until("a job of the schedule", () => kubectl("get", "pods", "-l", "app=chime", "-o", "name"), 120_000);
  const [job = ""] = (await kubectl("get", "jobs", "-o", "name"))
    .split("\n")
    .filter((name) => name.includes("/chime-"));
  await kubectl("wait", "--for=condition=Complete", job, patience);
  t.equal(await kubectl("logs", job), "ding\n");
});

t.test("a namespace goes with everything in it", async (t) => {
  const root = join(dataDir, "local-path");
  t.equal(readdirSync(root).length, 2, "two volumes");
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")) as { items: { metadata: { uid: string } }[] };
  await skiff.kubectl("delete", "namespace", namespace, patience);
  for (const kind of [
    "pods",
    "deployments",
    "replicasets",
    "jobs",
    "cronjobs",
    "statefulsets",
    "pvc",
    "services",
    "endpointslices",
    "configmaps",
    "serviceaccounts",
  ])
    t.equal(await kubectl("get", kind, "-o", "name"), "", `no ${kind}`);
  await until("the volumes to go", () => readdirSync(root).length === 0);
  const left = () => pods.items.filter(({ metadata }) => existsSync(join(dataDir, "pods", metadata.uid)));
  await until("the pods' directories to go", () => left().length === 0);
  t.equal(await skiff.kubectl("get", "pv", "-o", "name"), "");
});
