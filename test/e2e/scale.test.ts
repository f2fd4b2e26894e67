// Many real pods at once: up and back down, and every way of deleting what owns them. 30 of them, 100 in the long form.

import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const many = process.env.SKIFF_LONG ? 100 : 30;
const patience = "--timeout=300s";

const dataDir = mkdtempSync(join(tmpdir(), "skiff-scale-"));
mkdirSync(join(dataDir, "images"));
writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
t.teardown(async () => {
  if (!t.passing()) process.stderr.write(skiff.log().split("\n").slice(-80).join("\n"));
  await skiff.stop();
  skiff.remove();
});
t.setTimeout(600_000);

const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "c", image: busyboxImageName, imagePullPolicy: "Never", command: ["sleep", "100000"] }],
      },
    },
  },
});
const names = async (kind: string, app: string) =>
  (await skiff.kubectl("get", kind, "-l", `app=${app}`, "-o", "name")).split("\n").filter((name) => name !== "");
const untilNone = (kind: string, app: string) =>
  until(`no ${kind} of ${app}`, async () => (await names(kind, app)).length === 0, 300_000);

t.test(`a deployment scales to ${many} real pods and back, and none is left on the node`, async (t) => {
  await skiff.apply(deployment("crowd", 1));
  await skiff.kubectl("rollout", "status", "deployment/crowd", patience);
  const [first = ""] = await names("pods", "crowd");
  await skiff.kubectl("scale", "deployment/crowd", `--replicas=${many}`);
  await skiff.kubectl("rollout", "status", "deployment/crowd", patience);
  t.equal((await names("pods", "crowd")).length, many);
  const addresses = await skiff.kubectl("get", "pods", "-l", "app=crowd", "-o", "jsonpath={.items[*].status.podIP}");
  t.equal(new Set(addresses.split(" ")).size, many, "each has an address of its own");
  // Upstream takes pods that were ready about as long for equals; what it costs to lose one decides before that.
  await skiff.kubectl("annotate", first, "controller.kubernetes.io/pod-deletion-cost=100");
  await skiff.kubectl("scale", "deployment/crowd", "--replicas=1");
  await until("all but one to go", async () => (await names("pods", "crowd")).length === 1, 300_000);
  t.same(await names("pods", "crowd"), [first], "the one that costs most to lose stays");
  await skiff.kubectl("scale", "deployment/crowd", "--replicas=0");
  await untilNone("pods", "crowd");
  await until("nothing of them on the node", () => readdirSync(join(dataDir, "pods")).length === 0, 120_000);
});

t.test("deletes cascade as asked: in the background, in the foreground, or not at all", async (t) => {
  const make = async (name: string) => {
    await skiff.apply(deployment(name, 2));
    await skiff.kubectl("rollout", "status", `deployment/${name}`, patience);
  };
  await Promise.all(["back", "fore", "orphan"].map(make));
  await skiff.kubectl("delete", "deployment", "back", "--cascade=background", patience);
  await untilNone("replicasets", "back");
  await untilNone("pods", "back");

  await skiff.kubectl("delete", "deployment", "fore", "--cascade=foreground", patience);
  t.same(await names("replicasets", "fore"), [], "the owner goes last");
  t.same(await names("pods", "fore"), []);

  const pods = await names("pods", "orphan");
  await skiff.kubectl("delete", "deployment", "orphan", "--cascade=orphan", patience);
  t.equal((await names("replicasets", "orphan")).length, 1);
  t.same(await names("pods", "orphan"), pods);
  await make("orphan");
  t.same(await names("pods", "orphan"), pods, "a deployment that comes back takes them up again");
});
