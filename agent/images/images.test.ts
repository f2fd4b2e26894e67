import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { PullImageRequest } from "../../cri/api/gen/runtime.js";
import type { PullProgress } from "../../cri/api/pull-board.ts";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import type { Container, Secret } from "../../plugins/kit/kube/objects/types.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { until } from "../../test/harness/until.ts";
import { noRecorder, type Recorder } from "../model/recorder.ts";
import type { StartFailure } from "../model/start-failure.ts";
import { credentialProviders } from "./credential-provider.ts";
import { credentialsOf, fits, matching } from "./credentials.ts";
import { ImageGc } from "./image-gc.ts";
import { ImageManager } from "./image-manager.ts";
import { pullSecrets } from "./pull-secrets.ts";
import { defaultPullPolicy, namesOf, parseImage } from "../model/image-reference.ts";

t.test("parseImage()", async (t) => {
  const digest = `sha256:${"a".repeat(64)}`;
  const cases: [string, string, string][] = [
    ["busybox", "docker.io/library/busybox", "busybox:latest"],
    ["busybox:1", "docker.io/library/busybox", "busybox:1"],
    ["team/app", "docker.io/team/app", "team/app:latest"],
    ["localhost:5000/app", "localhost:5000/app", "localhost:5000/app:latest"],
    ["reg.io/a/b/c:2", "reg.io/a/b/c", "reg.io/a/b/c:2"],
    [`reg.io/a@${digest}`, "reg.io/a", `reg.io/a@${digest}`],
  ];
  for (const [name, place, full] of cases) {
    const image = parseImage(name);
    t.equal(`${image.registry}/${image.path}`, place, name);
    t.equal(image.name, full, name);
  }
  for (const bad of ["", "UPPER", "a b", "a:b:c", ":1"])
    t.throws(() => parseImage(bad), /couldn't parse image name/, bad);
  t.equal(defaultPullPolicy("busybox"), "Always");
  t.equal(defaultPullPolicy("busybox:1"), "IfNotPresent");
});

t.test("namesOf() has every name that a runtime may list the image by", async (t) => {
  t.same(namesOf("nginx"), ["nginx", "nginx:latest", "docker.io/library/nginx:latest"]);
  t.same(new Set(namesOf("reg.io/team/app:1")), new Set(["reg.io/team/app:1"]));
  t.same(namesOf("Bad Name"), ["Bad Name"]);
});

t.test("credentials fit by registry and path, the longest first", async (t) => {
  const rows: [string, string, boolean][] = [
    ["https://index.docker.io/v1/", "busybox", true],
    ["docker.io", "busybox", true],
    ["reg.io", "reg.io/app", true],
    ["reg.io/team", "reg.io/team/app", true],
    ["reg.io/team", "reg.io/other/app", false],
    ["*.reg.io", "eu.reg.io/app", true],
    ["*.reg.io", "reg.io/app", false],
    ["reg.io:5000", "reg.io/app", false],
  ];
  for (const [pattern, image, expected] of rows)
    t.equal(fits(pattern, parseImage(image)), expected, `${pattern} ${image}`);
  const auths = {
    "reg.io": { auth: Buffer.from("u:p:w").toString("base64") },
    "reg.io/team": { username: "t", password: "x" },
  };
  const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
  const secret: Secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data };
  t.same(matching(credentialsOf(secret), parseImage("reg.io/team/app")), [
    { username: "t", password: "x" },
    { username: "u", password: "p:w" },
  ]);
});

t.test("ImageManager pulls an image once for all who wait for it", async (t) => {
  const fake = openFake();
  let release = () => {};
  fake.before("pullImage", () => new Promise<void>((resolve) => (release = resolve)));
  const manager = new ImageManager({
    image: fake.image,
    clock: systemClock,
    recorder: noRecorder,
    pullSecrets: async () => [],
    sources: [],
    parallelPulls: 3,
    pulls: () => [],
    log: noLog,
  });
  const ensure = (name: string) =>
    manager.ensure(testPod(name), { name: "main", image: "reg.io/app:1" }, undefined, uninterrupted);
  const both = [ensure("a"), ensure("b")];
  const pulls = () => fake.calls.filter(({ method }) => method === "pullImage").length;
  while (pulls() === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  release();
  await Promise.all(both);
  t.equal(pulls(), 1);
  await t.rejects(
    manager.ensure(testPod("c"), { name: "main", image: "no:1", imagePullPolicy: "Never" }, undefined, uninterrupted),
    { message: 'Container image "no:1" is not present with pull policy of Never' },
  );
  await t.rejects(
    manager.ensure(testPod("d"), { name: "main", image: "Bad Name" }, undefined, uninterrupted),
    /couldn't parse image name/,
  );
});

t.test("ImageManager pulls again for a pod with other credentials, and never beside another pull", async (t) => {
  const fake = openFake();
  let atOnce = 0;
  let most = 0;
  fake.before("pullImage", async (request) => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setTimeout(resolve, 20));
    atOnce--;
    if ((request as { auth?: { username: string } }).auth?.username !== "good") throw new Error("denied");
  });
  const secretOf = (username: string): Secret => {
    const auths = { "reg.io": { username, password: "p" } };
    const data = { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") };
    return { apiVersion: "v1", kind: "Secret", metadata: { name: username }, data };
  };
  const manager = new ImageManager({
    image: fake.image,
    clock: systemClock,
    recorder: noRecorder,
    pullSecrets: async ({ metadata }) => (metadata.name === "none" ? [] : [secretOf(metadata.name.slice(0, 4))]),
    sources: [],
    parallelPulls: 3,
    pulls: () => [],
    log: noLog,
  });
  const container = { name: "main", image: "reg.io/app:1", imagePullPolicy: "Always" as const };
  const ensure = (name: string) => manager.ensure(testPod(name), container, undefined, uninterrupted);
  const outcomes = await Promise.allSettled(["good-1", "evil", "good-2", "none"].map(ensure));
  t.same(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "rejected"],
  );
  t.equal(most, 1);
  t.equal(fake.calls.filter(({ method }) => method === "pullImage").length, 3, "the same credentials pull once");
});

t.test("ImageManager tells how far a slow pull is, in the log and to the pods that wait", async (t) => {
  const clock = new FakeClock();
  const fake = openFake({ clock });
  const { promise: goOn, resolve: release } = Promise.withResolvers<void>();
  fake.before("pullImage", (request) =>
    (request as PullImageRequest).image?.image === "reg.io/big:1" ? goOn : undefined,
  );
  const lines: unknown[] = [];
  const events: string[] = [];
  let pulls: PullProgress[] = [];
  const log: Log = { ...noLog, info: (fields, message) => void lines.push([message, fields]) };
  const manager = new ImageManager({
    image: fake.image,
    clock,
    recorder: { event: (pod, _type, _reason, message) => void events.push(`${pod.metadata.name}: ${message}`) },
    pullSecrets: async () => [],
    sources: [],
    parallelPulls: 3,
    pulls: () => pulls,
    log,
  });
  const ensure = (name: string, image: string) =>
    manager.ensure(testPod(name), { name: "main", image }, undefined, uninterrupted);
  await ensure("quick", "reg.io/small:1");
  t.same(lines, [], "a quick pull is worth no line");
  events.length = 0;
  const both = [ensure("a", "reg.io/big:1"), ensure("b", "reg.io/big:1")];
  await until("both to wait", () => events.length === 2 && clock.pending === 3);
  const image = "reg.io/big:1";
  const told = (bytes: number) => (pulls = [{ image, bytes, totalBytes: 40 << 20 }]);
  await clock.advance(1000);
  told(10 << 20);
  await clock.advance(2000);
  t.same(lines, [
    ["pulling an image", { image }],
    ["pulling an image", { image, progress: "10.0 of 40.0 MiB" }],
  ]);
  t.equal(events.length, 2, "events are for what takes long");
  told(20 << 20);
  await clock.advance(12_000);
  t.same(events.slice(2).sort(), [
    'a: Pulling image "reg.io/big:1": 20.0 of 40.0 MiB',
    'b: Pulling image "reg.io/big:1": 20.0 of 40.0 MiB',
  ]);
  told(40 << 20);
  await clock.advance(30_000);
  t.equal(events.at(-1), 'b: Pulling image "reg.io/big:1": unpacking 40.0 MiB');
  const before = lines.length;
  release();
  await Promise.all(both);
  t.same(lines.slice(before), [["pulled an image", { image, seconds: 45 }]]);
  t.equal(clock.pending, 0);
});

t.test("credentialProviders() asks a program and keeps its answer", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-provider-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const answer = {
    kind: "CredentialProviderResponse",
    cacheKeyType: "Registry",
    cacheDuration: "1h0m0.5s",
    auth: { "reg.io": { username: "u", password: "p" } },
  };
  writeFileSync(
    join(dir, "prov"),
    `#!/bin/sh\ncat > ${dir}/asked\necho x >> ${dir}/count\necho '${JSON.stringify(answer)}'\n`,
  );
  chmodSync(join(dir, "prov"), 0o755);
  writeFileSync(
    join(dir, "config.yaml"),
    "kind: CredentialProviderConfig\nproviders: [{ name: prov, matchImages: ['reg.io'], defaultCacheDuration: 0s }]\n",
  );
  const [source] = await credentialProviders({
    configPath: join(dir, "config.yaml"),
    binDir: dir,
    clock: systemClock,
    log: noLog,
  });
  t.same(await source?.credentials(parseImage("reg.io/app:1"), uninterrupted), [{ username: "u", password: "p" }]);
  t.same(await source?.credentials(parseImage("reg.io/other:1"), uninterrupted), [{ username: "u", password: "p" }]);
  t.same(await source?.credentials(parseImage("else.io/app"), uninterrupted), []);
  t.equal(readFileSync(join(dir, "count"), "utf8"), "x\n", "asked once");
  t.match(JSON.parse(readFileSync(join(dir, "asked"), "utf8")), {
    kind: "CredentialProviderRequest",
    image: "reg.io/app",
  });
  chmodSync(join(dir, "prov"), 0o777);
  t.same(
    await source?.credentials(parseImage("reg.io/app:1"), uninterrupted),
    [{ username: "u", password: "p" }],
    "kept",
  );
  const paths = { configPath: join(dir, "config.yaml"), binDir: dir };
  const [again] = await credentialProviders({ ...paths, clock: systemClock, log: noLog });
  t.same(await again?.credentials(parseImage("reg.io/app:1"), uninterrupted), []);
  t.equal(readFileSync(join(dir, "count"), "utf8"), "x\n", "a program that others can write is not run");
  chmodSync(join(dir, "config.yaml"), 0o666);
  await t.rejects(credentialProviders({ ...paths, clock: systemClock, log: noLog }), { code: "forbidden" });
  writeFileSync(join(dir, "bad.yaml"), "providers: [{ name: a/b }]\n");
  await t.rejects(
    credentialProviders({ configPath: join(dir, "bad.yaml"), binDir: dir, clock: systemClock, log: noLog }),
    /bad\.yaml: provider "a\/b"/,
  );
});

t.test("ImageManager tells each failure in upstream's words", async (t) => {
  const fake = openFake();
  let said = "no such host";
  fake.before("pullImage", async () => {
    throw new Fault("unavailable", said);
  });
  const events: string[] = [];
  const clock = new FakeClock();
  const manager = new ImageManager({
    image: fake.image,
    clock,
    recorder: { event: (_, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
    pullSecrets: async () => [],
    sources: [],
    parallelPulls: 3,
    pulls: () => [],
    log: noLog,
  });
  const failureOf = (name: string, more: Partial<Container>) =>
    manager.ensure(testPod(name), { name: "main", ...more }, undefined, uninterrupted).then(
      () => t.fail("it was pulled"),
      ({ reason, message }: StartFailure) => `${reason}: ${message}`,
    );
  t.equal(await failureOf("a", { image: "reg.io/app:1" }), "ErrImagePull: no such host");
  t.same(events.splice(0), [
    'Normal Pulling: Pulling image "reg.io/app:1"',
    'Warning Failed: Failed to pull image "reg.io/app:1": no such host',
    "Warning Failed: Error: ErrImagePull",
  ]);
  const backOff = 'Back-off pulling image "reg.io/app:1"';
  t.equal(await failureOf("a", { image: "reg.io/app:1" }), `ImagePullBackOff: ${backOff}: ErrImagePull: no such host`);
  t.same(events.splice(0), [`Normal BackOff: ${backOff}`, "Warning Failed: Error: ImagePullBackOff"]);
  said = "RegistryUnavailable: it is being moved";
  t.equal(
    await failureOf("b", { image: "reg.io/app:1" }),
    "RegistryUnavailable: image pull failed for reg.io/app:1 because the registry is unavailable: it is being moved",
  );
  events.length = 0;
  await failureOf("c", { image: "reg.io/app:1", imagePullPolicy: "Never" });
  t.same(events.splice(0), [
    'Warning ErrImageNeverPull: Container image "reg.io/app:1" is not present with pull policy of Never',
    "Warning Failed: Error: ErrImageNeverPull",
  ]);
  t.match(
    await failureOf("d", { image: "Bad Name" }),
    /^InvalidImageName: Failed to apply default image tag "Bad Name": /,
  );
});

t.test("pullSecrets() leaves out what is not there, and says so", async (t) => {
  const events: string[] = [];
  const recorder: Recorder = { event: (_, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) };
  const there: Secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "there" } };
  const objects = {
    secret: async (_: string, name: string) => {
      if (name === "there") return there;
      throw new Fault("not-found", "it is not there");
    },
  };
  const pod = testPod("a", { imagePullSecrets: [{ name: "gone" }, { name: "there" }, { name: "lost" }] });
  t.same(await pullSecrets(objects, recorder, pod, uninterrupted), [there]);
  t.same(events, [
    "Warning FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.",
  ]);
});

t.test("ImageGc says when it cannot free enough", async (t) => {
  const fake = openFake();
  const events: string[] = [];
  const disk = { bytes: 1000, availableBytes: 100, inodes: 0, freeInodes: 0 };
  const gc = new ImageGc({
    image: fake.image,
    used: () => new Set(),
    config: { highPercent: 85, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    clock: new FakeClock(),
    log: noLog,
    recorder: { event: ({ kind }, _, reason, message) => void events.push(`${kind} ${reason}: ${message}`) },
    node: { apiVersion: "v1", kind: "Node", metadata: { name: "n" } },
    fileSystem: () => disk,
  });
  await t.rejects(gc.collect(uninterrupted), { code: "unavailable" });
  disk.bytes = 0;
  await t.rejects(gc.collect(uninterrupted), { message: "invalid capacity 0 on image filesystem" });
  t.same(events, [
    "Node FreeDiskSpaceFailed: Failed to garbage collect required amount of images. Attempted to free 100 bytes, but only found 0 bytes eligible to free.",
    "Node InvalidDiskCapacity: invalid capacity 0 on image filesystem",
  ]);
});
