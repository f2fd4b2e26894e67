// A day of ordinary life at a hundred times the speed (in long runs only): rollouts, jobs by the clock, pods that come and go, followed logs,
// watches that are cut, changed config maps, new tokens and certificates, snapshots. At the end the program holds what it held at the start.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t from "tap";
import { type Held, heldBy } from "../harness/held-things.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { noNetworkReason } from "../harness/network.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

// A request that may take a minute has 0.6 s here: on a machine that is busy with other tests it does not get that.
const skip = process.env["SKIFF_LONG"] ? noNetworkReason() : "a day takes a quarter of an hour: npm run test:long";
const speed = 100;
const hour = 3_600_000;
/** The first stretch fills what is bounded: events live for an hour, logs until they are rotated. */
const [warmUp, middle, whole] = [3 * hour, 13.5 * hour, 24 * hour];
/**
 * V8 goes on compiling what becomes hot, each time less: 12.0 MB of code and its data after one hour, 14.6 after three, 16.0 after six, 16.9
 * after nine, 17.6 after thirteen, 17.8 after fifteen, 17.9 after seventeen. It is compared over the second half.
 */
const settlesLate = new Set(["code"]);
const growth = 1.05;
/** A certificate is issued anew 245 days after it was made. */
const certificateAge = 245 * 24 * hour;
t.setTimeout((whole / speed) * 3 + 300_000);

const container = (command: string, more: object = {}) => ({
  name: "c",
  image: busyboxImageName,
  imagePullPolicy: "Never",
  command: ["sh", "-c", command],
  ...more,
});
const podSpec = (...containers: object[]) => ({ terminationGracePeriodSeconds: 0, containers });
const talk = "trap exit TERM; while true; do echo a line of some length that fills the log; sleep 0.05; done";

const configMap = (text: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "settings" },
  data: { text },
});
const web = (replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    revisionHistoryLimit: 2,
    // Ten minutes are six seconds here, which a loaded machine may need.
    progressDeadlineSeconds: 36_000,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: podSpec(container(talk)) },
  },
});
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
};
/** Lives all day, with a token and a config map. */
const keeper = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "keeper" },
  spec: {
    ...podSpec(container("sleep infinity", { volumeMounts: [{ name: "v", mountPath: "/settings" }] })),
    volumes: [{ name: "v", configMap: { name: "settings" } }],
  },
};
const cronJob = {
  apiVersion: "batch/v1",
  kind: "CronJob",
  metadata: { name: "tick" },
  spec: {
    schedule: "*/20 * * * *",
    concurrencyPolicy: "Forbid",
    jobTemplate: { spec: { template: { spec: { ...podSpec(container("echo tick")), restartPolicy: "Never" } } } },
  },
};

/** Follows pods and a log until it is ended. */
function follow({ kubeconfig }: RunningSkiff): () => void {
  const children = [
    ["get", "pods", "-A", "-w"],
    ["logs", "-f", "deployment/web", "--tail=1"],
  ].map((args) => spawn("kubectl", ["--kubeconfig", kubeconfig, ...args], { stdio: "ignore" }));
  return () => {
    for (const child of children) child.kill("SIGKILL");
  };
}

function fingerprint({ ports }: RunningSkiff): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: ports.https, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    }).once("error", reject);
  });
}

const token = ({ kubectl }: RunningSkiff) =>
  kubectl("exec", "keeper", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token");

t.test("a day in fast motion leaves no more than it found", { skip }, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-day-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  // Eighteen seconds of the machine, whatever else it does.
  const flags = [
    `--node-name=day-${process.pid}`,
    "--runtime=native",
    "--node-monitor-grace-period=30m",
    "--snapshot-every=30m",
    "--snapshot-keep=3",
  ];
  const issuedAt = Date.now();
  await (await startSkiff({ dataDir, clock: { startsAt: issuedAt, speed }, flags })).stop();
  const startsAt = issuedAt + certificateAge - hour;
  const skiff = await startSkiff({ dataDir, clock: { startsAt, speed }, flags });
  const startedAt = performance.now();
  const passed = () => (performance.now() - startedAt) * speed;
  const untilTime = (what: string, time: number) => until(what, () => passed() >= time, hour);
  const { kubectl, apply } = skiff;
  let unfollow = () => {};
  t.teardown(async () => {
    unfollow();
    if (!t.passing()) process.stderr.write(skiff.log().split("\n").slice(-80).join("\n"));
    await skiff.stop();
    skiff.remove();
  });

  const rollOut = async () => {
    await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
    await until("the pods of before to go", async () => (await podsOf("app=web")).length === 2);
  };
  const podsOf = async (...selector: string[]) =>
    (await kubectl("get", "pods", "-l", ...selector, "-o", "name")).split("\n").filter(Boolean);
  const activities: (() => Promise<unknown>)[] = [
    async () => {
      await kubectl("rollout", "restart", "deployment/web");
      await rollOut();
    },
    async () => {
      const visitor = { ...keeper, metadata: { name: "visitor" }, spec: podSpec(container(`echo hello; ${talk}`)) };
      await apply(visitor);
      await kubectl("wait", "pod/visitor", "--for=condition=Ready", "--timeout=120s");
      await until("its log", async () => (await kubectl("logs", "visitor")).startsWith("hello"));
      await kubectl("delete", "pod", "visitor", "--wait=true", "--timeout=120s");
    },
    async () => {
      unfollow();
      unfollow = follow(skiff);
    },
    async () => {
      await apply(configMap(String(passed())));
      await apply(web(3));
      await kubectl("rollout", "status", "deployment/web", "--timeout=120s");
      await apply(web(2));
      await rollOut();
    },
  ];
  /** The API server's limit of a minute is 0.6 s here, which a loaded machine may miss: each activity can be repeated. */
  const patiently = (activity: (() => Promise<unknown>) | undefined) =>
    until("an activity to succeed", async () => activity?.().then(() => true), 5 * 60_000);
  const suspendJobs = (isSuspended: boolean) =>
    patiently(() => kubectl("patch", "cronjob", "tick", "-p", JSON.stringify({ spec: { suspend: isSuspended } })));
  /** One activity in each quarter of an hour. */
  const live = async (to: number) => {
    for (let quarter = Math.ceil(passed() / (hour / 4)); (quarter * hour) / 4 < to; quarter++) {
      await untilTime("the next quarter of an hour", (quarter * hour) / 4);
      await patiently(activities[quarter % activities.length]);
    }
    await untilTime("the time to look", to);
    // Between two jobs, with nobody connected: the same state each time.
    unfollow();
    await suspendJobs(true);
    await until("every job to end", async () =>
      /^(True )*True $/.test(
        await kubectl(
          "get",
          "jobs",
          "-o",
          'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Complete")].status} {end}',
        ),
      ),
    );
    const held = await heldBy(skiff);
    await suspendJobs(false);
    return held;
  };

  await apply(configMap("first"), web(2), service, keeper, cronJob);
  await rollOut();
  await kubectl("wait", "pod/keeper", "--for=condition=Ready", "--timeout=120s");
  const [firstToken, firstCertificate] = [await token(skiff), await fingerprint(skiff)];
  const before = await live(warmUp);
  const halfway = await live(middle);
  const after = await live(whole);
  t.comment(table(before, halfway, after));

  t.equal(
    await kubectl("get", "nodes", "-o", 'jsonpath={.items[0].status.conditions[?(@.type=="Ready")].status}'),
    "True",
  );
  t.not(await token(skiff), firstToken, "the token was renewed");
  t.not(await fingerprint(skiff), firstCertificate, "the certificate was renewed");
  t.equal(readdirSync(join(dataDir, "snapshots")).filter((name) => name.endsWith(".db")).length, 3);
  t.equal(await kubectl("get", "pod", "keeper", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"), "0");
  for (const [what, first] of Object.entries(before)) {
    const count = settlesLate.has(what) ? (halfway[what] ?? 0) : first;
    const most = Math.max(count * growth, count + (slack[what] ?? 0));
    t.ok((after[what] ?? 0) <= most, `${what}: ${count} before, ${after[what]} after`);
  }
});

/** Where one or two more are nothing: a connection that is about to end, an event more in this hour than in that. */
const slack: Readonly<Record<string, number>> = { descriptors: 3, events: 15 };

function table(...looks: Held[]): string {
  return Object.keys(looks[0] ?? {})
    .map((what) => `${what} ${looks.map((held) => held[what]).join(" -> ")}`)
    .join(", ");
}
