import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { Checkpoint, referencedBy, slim } from "./checkpoint.ts";
import { ManifestFolder } from "./manifest-folder.ts";
import { ManifestUrl } from "./manifest-url.ts";
import { PodSources } from "./pod-sources.ts";
import { readManifest } from "./static-pod.ts";

const manifest = (name: string, image = "busybox:1") => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec: { containers: [{ name: main, image: "${image}" }] }
`;

t.test("readManifest() names pods after the node and defaults what the API server would", async (t) => {
  const [pod] = readManifest(manifest("web", "busybox"), "web.yaml", "file", "Node-1");
  t.match(pod, {
    metadata: { name: "web-node-1", namespace: "default", annotations: { "kubernetes.io/config.source": "file" } },
    spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30, nodeName: "Node-1" },
  });
  t.equal(pod?.spec.containers[0]?.imagePullPolicy, "Always");
  const again = readManifest(manifest("web", "busybox"), "web.yaml", "file", "Node-1")[0];
  t.equal(again?.metadata.uid, pod?.metadata.uid, "the same content is the same pod");
  const other = readManifest(manifest("web", "busybox:2"), "web.yaml", "file", "Node-1")[0];
  t.not(other?.metadata.uid, pod?.metadata.uid, "changed content is another pod");
  t.equal(readManifest(`${manifest("a")}---\n${manifest("b")}`, "two.yaml", "file", "n").length, 2);
});

const bad: [string, string, RegExp][] = [
  ["no YAML", "a: [", /bad\.yaml/],
  ["another kind", "apiVersion: v1\nkind: Service\n", /bad\.yaml: kind must be "Pod", not "Service"/],
  ["no name", "apiVersion: v1\nkind: Pod\nspec: {}\n", /metadata\.name/],
  ["no containers", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n", /spec\.containers must be a list/],
  [
    "a container without image",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: x}]}\n",
    /spec\.containers\[0\]\.image/,
  ],
  [
    "a command that is no list",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: x, image: y, command: z}]}\n",
    /spec\.containers\[0\]\.command/,
  ],
];
const withSpec = (spec: object) =>
  JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { containers: [main], ...spec } });
const main = { name: "x", image: "y" };
const withMain = (more: object) => withSpec({ containers: [{ ...main, ...more }] });
bad.push(
  ["no spec", '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', /spec must be an object/],
  ["an unknown restart policy", withSpec({ restartPolicy: "Often" }), /spec\.restartPolicy must be one of Always, /],
  ["a flag that is a text", withSpec({ hostNetwork: "yes" }), /spec\.hostNetwork must be true or false/],
  ["two containers of one name", withSpec({ containers: [main, main] }), /spec\.containers\[1\]\.name "x" is/],
  [
    "an init container of the same name",
    withSpec({ initContainers: [main] }),
    /spec\.initContainers\[0\]\.name "x" is/,
  ],
  [
    "a port that is none",
    withMain({ ports: [{ containerPort: 70_000 }] }),
    /ports\[0\]\.containerPort must be a whole/,
  ],
  ["a number for a text", withMain({ env: [{ name: "A", value: 1 }] }), /env\[0\]\.value must be a text: write "1"/],
  [
    "a mount of no volume",
    withMain({ volumeMounts: [{ name: "data", mountPath: "/d" }] }),
    /volumeMounts\[0\]\.name "data" is no volume of the pod/,
  ],
  [
    "two volumes of one name",
    withSpec({ volumes: [{ name: "v", emptyDir: {} }, { name: "v" }] }),
    /spec\.volumes\[1\]\.name "v" is the name of another/,
  ],
  [
    "a volume of two sources",
    withSpec({ volumes: [{ name: "v", emptyDir: {}, hostPath: { path: "/" } }] }),
    /spec\.volumes\[0\] has more than one source: emptyDir, hostPath/,
  ],
  [
    "an amount that is none",
    withMain({ resources: { limits: { memory: "64MB" } } }),
    /resources\.limits\.memory "64MB" is no quantity/,
  ],
  [
    "more asked for than allowed",
    withMain({ resources: { limits: { cpu: "1" }, requests: { cpu: "1500m" } } }),
    /resources\.requests\.cpu is more than its limit of 1/,
  ],
  ["a probe without a question", withMain({ livenessProbe: {} }), /livenessProbe must have exactly one of exec, /],
  ["containers for debugging", withSpec({ ephemeralContainers: [main] }), /spec\.ephemeralContainers cannot be given/],
);
for (const [name, text, expected] of bad) {
  t.test(`readManifest() refuses ${name}`, async (t) => {
    t.throws(() => readManifest(text, "bad.yaml", "file", "n"), expected);
  });
}

t.test("ManifestFolder keeps the pods of a file that went bad, and the others", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-folder-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  let pods: readonly AgentPod[] = [];
  const troubles: string[] = [];
  const folder = new ManifestFolder({
    dir,
    nodeName: "n",
    clock: systemClock,
    log: noLog,
    onPods: (now) => (pods = now),
    onTrouble: (message) => troubles.push(message),
  });
  const names = () => pods.map(({ metadata }) => metadata.name);
  writeFileSync(join(dir, "a.yaml"), manifest("a"));
  writeFileSync(join(dir, "b.yaml"), manifest("b"));
  writeFileSync(join(dir, ".hidden.yaml"), manifest("hidden"));
  await folder.read();
  t.same(names(), ["a-n", "b-n"]);
  writeFileSync(join(dir, "a.yaml"), "kind: [");
  await folder.read();
  await folder.read();
  t.same(names(), ["a-n", "b-n"]);
  t.equal(troubles.length, 1, "told once");
  rmSync(join(dir, "b.yaml"));
  await folder.read();
  t.same(names(), ["a-n"]);
  execFileSync("mkfifo", [join(dir, "fifo.yaml")]);
  await folder.read();
  t.same(names(), ["a-n"], "a FIFO holds up nobody");
  t.match(troubles.at(-1), /not a regular file/);
});

t.test("ManifestFolder runs the first of two pods of one name, and names both files", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-folder-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  let pods: readonly AgentPod[] = [];
  const troubles: string[] = [];
  const folder = new ManifestFolder({
    dir,
    nodeName: "n",
    clock: systemClock,
    log: noLog,
    onPods: (now) => (pods = now),
    onTrouble: (message) => troubles.push(message),
  });
  writeFileSync(join(dir, "b.yaml"), manifest("web", "busybox:2"));
  writeFileSync(join(dir, "a.yaml"), manifest("web", "busybox:1"));
  await folder.read();
  await folder.read();
  t.same(
    pods.map(({ spec }) => spec.containers[0]?.image),
    ["busybox:1"],
  );
  t.same(troubles, [`Cannot run the pod in ${dir}/b.yaml: metadata.name is that of the pod in ${dir}/a.yaml, too`]);
  rmSync(join(dir, "a.yaml"));
  await folder.read();
  t.same(
    pods.map(({ spec }) => spec.containers[0]?.image),
    ["busybox:2"],
  );
});

t.test("ManifestFolder stops and notices what changes also while it reads", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-folder-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const write = (name: string) => writeFileSync(join(dir, `${name}.yaml`), manifest(name));
  // Time stands still but for the moment in which a change settles: nobody reads again by himself.
  const clock = {
    ...systemClock,
    after: (ms: number, then: () => void) => systemClock.after(ms < 1_000 ? ms : 2 ** 30, then),
  };
  const stop = new AbortController();
  const told: number[] = [];
  const folder = new ManifestFolder({
    dir,
    nodeName: "n",
    clock,
    log: noLog,
    onPods: (pods) => {
      told.push(pods.length);
      // Told while it still reads.
      if (told.length === 1) write("b");
      if (pods.length === 2) stop.abort();
    },
    onTrouble: () => {},
  });
  write("a");
  await folder.run(stop);
  t.equal(told.at(-1), 2);
});

t.test("ManifestUrl keeps its pods while the server is away", async (t) => {
  let pods: readonly AgentPod[] = [];
  const troubles: string[] = [];
  let answer = () => new Response(manifest("u"));
  const url = new ManifestUrl({
    url: "http://x/",
    nodeName: "n",
    clock: systemClock,
    fetch: async () => answer(),
    onPods: (now) => (pods = now),
    onTrouble: (message) => troubles.push(message),
  });
  await url.read(uninterrupted);
  answer = () => new Response("", { status: 503 });
  await url.read(uninterrupted);
  t.equal(pods.length, 1);
  t.match(troubles, ["Cannot read the manifest at http://x/: HTTP 503"]);
  let given = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      given++;
      controller.enqueue(new Uint8Array(1 << 20));
    },
  });
  answer = () => new Response(endless);
  await url.read(uninterrupted);
  t.equal(troubles.at(-1), "Cannot read the manifest at http://x/: it is longer than 10 MiB");
  t.ok(given < 20, "no more is read than that");
});

t.test("ManifestUrl tells what it remembers while the URL has never answered", async (t) => {
  const told: string[][] = [];
  let answer = () => new Response("", { status: 503 });
  const url = new ManifestUrl({
    url: "http://x/",
    nodeName: "n",
    clock: systemClock,
    fetch: async () => answer(),
    remembered: [testPod("old")],
    onPods: (now) => told.push(now.map(({ metadata }) => metadata.name)),
    onTrouble: () => {},
  });
  await url.read(uninterrupted);
  await url.read(uninterrupted);
  answer = () => new Response(manifest("u"));
  await url.read(uninterrupted);
  answer = () => new Response("", { status: 503 });
  await url.read(uninterrupted);
  t.same(told, [["old"], ["u-n"]]);
});

t.test("PodSources removes before it adds, and tells when all have told", async (t) => {
  const log: string[] = [];
  const sources = new PodSources({
    sink: { update: (pod) => log.push(`+${pod.metadata.uid}`), remove: (uid) => log.push(`-${uid}`) },
    sources: ["api", "file"],
    onStatics: () => {},
    onAllTold: () => log.push("all"),
  });
  sources.set("file", [testPod("a")]);
  sources.set("api", [testPod("b")]);
  sources.set("file", [testPod("c")]);
  sources.set("file", [testPod("c")]);
  t.same(log, ["+uid-a", "+uid-b", "all", "-uid-a", "+uid-c"]);
});

t.test("Checkpoint is unreadable without its key and survives a broken file", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-checkpoint-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const open = () => new Checkpoint({ dir, clock: systemClock, log: noLog });
  t.same(await open().load(), { pods: [], objects: [] });
  const pod = {
    ...testPod("kept", {}, { annotations: { note: "hush" } }),
    status: { phase: "Running" as const, podIP: "1.2.3.4" },
  };
  await open().save({ pods: [slim(pod)], objects: [] });
  t.notMatch(readFileSync(join(dir, "checkpoint"), "latin1"), "hush");
  const { pods } = await open().load();
  t.equal(pods[0]?.metadata.annotations?.["note"], "hush");
  t.equal(pods[0]?.status, undefined, "what changes all the time is not kept");
  writeFileSync(join(dir, "checkpoint"), "SKIFFCP1 garbage");
  t.same(await open().load(), { pods: [], objects: [] });
});

t.test("referencedBy() keeps what pods name, also through a claim and its volume", async (t) => {
  const object = (kind: string, name: string, namespace: string, spec: object = {}): KubeObject => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace ? { namespace } : {}) },
    spec,
  });
  const volumes = [
    { name: "data", persistentVolumeClaim: { claimName: "claim" } },
    { name: "own", ephemeral: {} },
    { name: "map", configMap: { name: "settings" } },
    { name: "trust", projected: { sources: [{ clusterTrustBundle: { signerName: "x.test/one", path: "ca" } }] } },
  ];
  const kept = [
    object("ConfigMap", "settings", "default"),
    object("PersistentVolumeClaim", "claim", "default", { volumeName: "pv" }),
    object("PersistentVolumeClaim", "web-own", "default", { volumeName: "other" }),
    object("PersistentVolume", "pv", "", {
      csi: { driver: "disks", nodeStageSecretRef: { name: "key", namespace: "x" } },
    }),
    object("PersistentVolume", "other", ""),
    object("CSIDriver", "disks", ""),
    object("Secret", "key", "x"),
    object("VolumeAttachment", "csi-1", "", { source: { persistentVolumeName: "pv" } }),
    object("TokenRequest", "uid-web/3600", "default"),
    object("Service", "beside", "default"),
    object("Service", "kubernetes", "default"),
    object("ClusterTrustBundle", "any", "", { signerName: "x.test/one" }),
  ];
  const dropped = [
    object("ConfigMap", "settings", "elsewhere"),
    object("PersistentVolume", "foreign", ""),
    object("VolumeAttachment", "csi-2", "", { source: { persistentVolumeName: "foreign" } }),
    object("TokenRequest", "uid-gone/3600", "default"),
    object("Service", "beside", "elsewhere"),
    object("ClusterTrustBundle", "unasked", "", { signerName: "x.test/two" }),
  ];
  const found = referencedBy([testPod("web", { volumes })], [...dropped, ...kept]);
  t.same(
    kept.filter((one) => !found.has(one)),
    [],
    "nothing is missing",
  );
  t.same(
    dropped.filter((one) => found.has(one)),
    [],
    "nothing is too much",
  );
});
