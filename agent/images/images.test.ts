import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted } from "../../plugins/kit/call.ts";
import { systemClock } from "../../plugins/kit/clock.ts";
import { noLog } from "../../plugins/kit/log.ts";
import type { Secret } from "../../plugins/kit/objects/types.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { noRecorder } from "../pods/recorder.ts";
import { credentialProviders } from "./credential-provider.ts";
import { credentialsOf, fits, matching } from "./credentials.ts";
import { ImageManager } from "./image-manager.ts";
import { defaultPullPolicy, parseImage } from "./reference.ts";

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

t.test("credentialProviders() asks a program and keeps its answer", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-provider-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const answer = {
    kind: "CredentialProviderResponse",
    cacheKeyType: "Registry",
    cacheDuration: "1h",
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
  writeFileSync(join(dir, "bad.yaml"), "providers: [{ name: a/b }]\n");
  await t.rejects(
    credentialProviders({ configPath: join(dir, "bad.yaml"), binDir: dir, clock: systemClock, log: noLog }),
    /bad\.yaml: provider "a\/b"/,
  );
});
