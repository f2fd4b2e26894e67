import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { FakeClock, systemClock } from "../../../plugins/kit/base/clock.ts";
import { noLog } from "../../../plugins/kit/base/log.ts";
import { testPki } from "../../../test/harness/certificates.ts";
import { dockerArchive, imageOf, layerOf, ociArchive, type TestEntry } from "../../../test/harness/image-builder.ts";
import { type RegistryOptions, TestRegistry } from "../../../test/harness/registry.ts";
import { until } from "../../../test/harness/until.ts";
import { ImageSpec, PullImageRequest } from "../../api/gen/runtime.js";
import { type ImagesOptions, openImages } from "./image-service.ts";
import { hostPlatform } from "./platform.ts";
import { stallMs } from "./registry-patience.ts";
import { parseRegistries, type RegistriesConfig } from "./registry-config.ts";

type Tap = { teardown(run: () => unknown): void };
const call = uninterrupted;
const skip = process.getuid?.() === 0 ? {} : { skip: "owners of unpacked files need root" };

function optionsFor(root: string, more: Partial<ImagesOptions> = {}): ImagesOptions {
  return {
    root,
    containersDir: root,
    containersUsage: async () => ({ bytes: 0, inodes: 0 }),
    limits: { entries: 10_000, bytes: 64 << 20 },
    durable: false,
    inUse: () => [],
    registries: {},
    platform: hostPlatform(),
    // Waits are told to the test's clock as nothing: the registry decides when it is ready.
    clock: { ...systemClock, sleep: async () => {} },
    log: noLog,
    ...more,
  };
}

async function setUp(t: Tap, more: Partial<ImagesOptions> = {}, registryOptions: RegistryOptions = {}) {
  const root = mkdtempSync(join(tmpdir(), "skiff-images-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const registry = await TestRegistry.start(registryOptions);
  t.teardown(() => registry.stop());
  const images = await openImages(optionsFor(root, more));
  const pull = (image: string, auth?: PullImageRequest["auth"]) =>
    images.service.pullImage(PullImageRequest.create({ image: ImageSpec.create({ image }), auth }), call);
  return { root, registry, images, pull };
}

const file = (name: string, content: string | Uint8Array): TestEntry => ({ name, content });
const random = (size: number) => {
  const bytes = Buffer.alloc(size);
  for (let at = 0, seed = 1; at < size; at++) {
    seed = (seed * 1103515245 + 12345) % 2 ** 31;
    bytes[at] = seed >> 16;
  }
  return bytes;
};
const spec = (image: string) => ({ image: ImageSpec.create({ image }), verbose: false });

t.test("pullImage() brings gzip, zstd and plain layers of one image", skip, async (t) => {
  const { registry, images, pull, root } = await setUp(t);
  const image = imageOf(
    [layerOf([file("a", "1")], "gzip"), layerOf([file("b", "2")], "zstd"), layerOf([file("c", "3")], "none")],
    { User: "1000:1000", Cmd: ["x"] },
  );
  const name = registry.add("team/app", "v1", image);
  t.same(await pull(name), { imageRef: image.configDigest });
  const { image: shown } = await images.service.imageStatus(spec(name), call);
  t.match(shown, {
    id: image.configDigest,
    repoTags: [name],
    repoDigests: [`${registry.host}/team/app@${image.digest}`],
    uid: { value: 1000n },
  });
  for (const [at, layer] of image.layers.entries()) {
    t.equal(readFileSync(join(images.store.layers.path(layer.diffId), "abc"[at] as string), "utf8"), String(at + 1));
    t.notOk(existsSync(images.store.content.path(layer.digest)), "the archive is not kept beside the folder");
  }
  t.equal(
    (await images.service.listImages({ filter: { image: ImageSpec.create({ image: name }) } }, call)).images.length,
    1,
  );
  const reopened = await openImages(optionsFor(root));
  t.match((await reopened.service.imageStatus(spec(image.configDigest), call)).image, { id: image.configDigest });
  t.ok((await images.service.imageFsInfo({}, call)).imageFilesystems[0]?.usedBytes);
});

t.test("pullImage() shares layers, and removeImage() sweeps only what nothing needs", skip, async (t) => {
  const { registry, images, pull } = await setUp(t);
  const base = layerOf([file("base", "b")]);
  const one = imageOf([base, layerOf([file("one", "1")])]);
  const two = imageOf([base, layerOf([file("two", "2")])]);
  await pull(registry.add("one", "1", one));
  await pull(registry.add("two", "1", two));
  t.equal(
    registry.requests.filter(({ path }) => path.endsWith(base.digest)).length,
    1,
    "the shared layer is fetched once",
  );
  await images.service.removeImage({ image: ImageSpec.create({ image: one.configDigest }) }, call);
  t.ok(existsSync(images.store.layers.path(base.diffId)));
  t.notOk(existsSync(images.store.layers.path(one.layers[1]?.diffId ?? "")));
  await images.service.removeImage({ image: ImageSpec.create({ image: one.configDigest }) }, call);
  t.equal((await images.service.listImages({}, call)).images.length, 1);
  await images.service.removeImage({ image: ImageSpec.create({ image: `${registry.host}/two:1` }) }, call);
  t.notOk(existsSync(images.store.layers.path(base.diffId)));
});

t.test("pullImage() moves a tag to the newer image", skip, async (t) => {
  const { registry, images, pull } = await setUp(t);
  await pull(registry.add("app", "latest", imageOf([layerOf([file("v", "1")])])));
  const newer = imageOf([layerOf([file("v", "2")])]);
  const name = registry.add("app", "latest", newer);
  await pull(name);
  t.equal((await images.service.imageStatus(spec(name), call)).image?.id, newer.configDigest);
  t.same((await images.service.listImages({}, call)).images.filter(({ repoTags }) => repoTags.length === 0).length, 1);
});

t.test("pullImage() keeps every name of an image that is pulled under several at once", skip, async (t) => {
  const { registry, images, pull } = await setUp(t);
  const image = imageOf([layerOf([file("v", "1")])]);
  const names = ["1", "2", "3", "4"].map((tag) => registry.add("app", tag, image));
  await Promise.all(names.map((name) => pull(name)));
  const [found] = (await images.service.listImages({}, call)).images;
  t.same(found?.repoTags.toSorted(), names.toSorted());
});

t.test("pullImage() resumes a broken download where it broke, with and without ranges", skip, async (t) => {
  for (const noRanges of [false, true]) {
    const { registry, pull } = await setUp(t);
    const image = imageOf([layerOf([file("big", random(300_000))], "none")]);
    Object.assign(registry.faults, { breakBlob: { afterBytes: 100_000, times: 2 }, noRanges });
    const name = registry.add("app", "1", image);
    await pull(name);
    const ranges = registry.requests
      .filter(({ path }) => path.endsWith(image.layers[0]?.digest ?? ""))
      .map(({ range }) => range);
    t.equal(ranges.length, 3);
    t.equal(ranges[0], undefined);
    t.match(ranges[2], /^bytes=\d+-$/);
  }
});

/** Lets as much time pass as a registry is given whenever it is silent, and what a client takes to try again otherwise, until the pull is over. */
async function outwait<T>(clock: FakeClock, isSilent: () => boolean, pulling: Promise<T>): Promise<T> {
  let isOver = false;
  const watched = pulling.finally(() => (isOver = true));
  watched.catch(() => {});
  await until("the pull's end", async () => {
    await clock.advance(isSilent() ? stallMs : 1000);
    return isOver;
  });
  return watched;
}

t.test("pulls() tells how far a pull has come, counting only what is fetched", skip, async (t) => {
  const clock = new FakeClock();
  const { registry, images, pull } = await setUp(t, { clock });
  const [present, large, small] = [
    layerOf([file("old", "here already")], "none"),
    layerOf([file("big", random(300_000))], "none"),
    layerOf([file("small", "1")], "gzip"),
  ];
  await pull(registry.add("base", "1", imageOf([present])));
  t.same(images.pulls(), []);
  const name = registry.add("app", "1", imageOf([present, large, small]));
  registry.faults.stallBlob = { afterBytes: 100_000, times: 1 };
  const pulling = pull(name);
  const bytes = 100_000 + small.blob.length;
  const isStalled = () => images.pulls()[0]?.bytes === bytes;
  await until("the small layer and a part of the large one", isStalled);
  t.same(images.pulls(), [{ image: name, bytes, totalBytes: large.blob.length + small.blob.length }]);
  await outwait(clock, isStalled, pulling);
  t.same(images.pulls(), [], "it is over");
  registry.faults.corruptBlobs = true;
  await t.rejects(pull(registry.add("bad", "1", imageOf([layerOf([file("x", "2")], "none")]))));
  t.same(images.pulls(), [], "a pull that failed is over, too");
});

t.test("pullImage() takes a download that stalls for broken, and resumes it", skip, async (t) => {
  const clock = new FakeClock();
  const { registry, pull, root } = await setUp(t, { clock });
  const image = imageOf([layerOf([file("big", random(300_000))], "none")]);
  const name = registry.add("app", "1", image);
  const stallAt = [100_000, 200_000];
  registry.faults.stallAt = stallAt;
  const ranges = () =>
    registry.requests.filter(({ path }) => path.endsWith(image.layers[0]?.digest ?? "")).map(({ range }) => range);
  const arrived = () => readdirSync(join(root, "ingest")).map((part) => statSync(join(root, "ingest", part)).size);
  let outwaited = 0;
  // A request is silent when all that it will ever give has arrived; how it is given up takes a moment, so each is waited for once.
  const isSilent = () => {
    const asked = ranges();
    const from = Number(/\d+/.exec(asked.at(-1) ?? "")?.[0] ?? 0);
    if (asked.length === outwaited || !arrived().some((size) => size > from && stallAt.includes(size))) return false;
    outwaited = asked.length;
    return true;
  };
  await outwait(clock, isSilent, pull(name));
  t.same([...new Set(ranges())], [undefined, "bytes=100000-", "bytes=200000-"]);
});

t.test("pullImage() waits no longer than so for a registry that never answers", skip, async (t) => {
  const clock = new FakeClock();
  const { registry, pull } = await setUp(t, { clock }, { users: { ann: "s" }, auth: "token" });
  const auth = { username: "ann", password: "s", auth: "", serverAddress: "", identityToken: "", registryToken: "" };
  const name = registry.add("app", "1", imageOf([layerOf([file("a", "1")])]));
  for (const path of [/manifests/, /token/, /blobs/]) {
    registry.faults.mute = { path, times: 1000 };
    const isSilent = () => registry.requests.some((request) => path.test(request.path));
    registry.requests.length = 0;
    const complaint = { code: "unavailable", message: /has sent nothing for 60 s/ };
    await t.rejects(outwait(clock, isSilent, pull(name, auth)), complaint, String(path));
  }
  delete registry.faults.mute;
  await pull(name, auth);
});

t.test("pullImage() refuses bytes that are not what the digest says", skip, async (t) => {
  const { registry, pull, images, root } = await setUp(t);
  const image = imageOf([layerOf([file("a", random(5000))], "none")]);
  const name = registry.add("app", "1", image);
  registry.faults.corruptBlobs = true;
  await t.rejects(pull(name), { code: "invalid", message: /Cannot pull image/ });
  const liar = imageOf([{ ...layerOf([file("a", "1")]), diffId: `sha256:${"0".repeat(64)}` }]);
  registry.faults.corruptBlobs = false;
  await t.rejects(pull(registry.add("liar", "1", liar)), { code: "invalid", message: /unpacked it is/ });
  t.same((await images.service.listImages({}, call)).images, []);
  t.same(readdirSync(join(root, "l")), [], "nothing is left of it");
});

t.test("pullImage() logs in by token and by basic authentication, and stops at a 401 loop", skip, async (t) => {
  const users = { ann: "secret" };
  const good = {
    username: "ann",
    password: "secret",
    auth: "",
    serverAddress: "",
    identityToken: "",
    registryToken: "",
  };
  const image = imageOf([layerOf([file("a", "1")])]);
  for (const auth of ["token", "basic"] as const) {
    const { registry, pull } = await setUp(t, {}, { users, auth });
    const name = registry.add("app", "1", image);
    await t.rejects(pull(name), { code: "unauthorized" }, `${auth}: none given`);
    await t.rejects(pull(name, { ...good, password: "wrong" }), { code: "unauthorized" }, `${auth}: wrong`);
    await pull(name, good);
    const encoded = Buffer.from("ann:secret").toString("base64");
    await pull(name, { ...good, username: "", password: "", auth: encoded });
    registry.faults.unauthorizedAlways = true;
    registry.requests.length = 0;
    await t.rejects(pull(name, good), { code: "unauthorized" }, `${auth}: loop`);
    t.ok(registry.requests.length <= 4, "asks no more than it must");
  }
});

t.test("pullImage() follows a redirect without its credentials, and refuses a loop of them", skip, async (t) => {
  const { registry, pull } = await setUp(t, {}, { users: { ann: "s" }, auth: "basic" });
  const other = await TestRegistry.start();
  t.teardown(() => other.stop());
  const image = imageOf([layerOf([file("a", "1")])]);
  const name = registry.add("app", "1", image);
  other.add("app", "1", image);
  registry.faults.redirectBlobsTo = `http://${other.host}`;
  const auth = { username: "ann", password: "s", auth: "", serverAddress: "", identityToken: "", registryToken: "" };
  await pull(name, auth);
  t.ok(other.requests.length > 0);
  t.ok(
    other.requests.every(({ authorization }) => authorization === undefined),
    "the other host sees no credentials",
  );
  delete registry.faults.redirectBlobsTo;
  registry.faults.redirectLoop = true;
  await t.rejects(pull(registry.add("b", "1", imageOf([layerOf([file("b", "1")])])), auth), { message: /redirects/ });
});

t.test("pullImage() waits out rate limits and busy registries, and gives up in the end", skip, async (t) => {
  const { registry, pull } = await setUp(t);
  const name = registry.add("app", "1", imageOf([layerOf([file("a", "1")])]));
  Object.assign(registry.faults, { rateLimit: { times: 3 }, busy: { times: 1 } });
  await pull(name);
  registry.faults.rateLimit = { times: 1000 };
  await t.rejects(pull(name), { code: "too-many", message: /rate limit/ });
  await t.rejects(pull(`${registry.host}/none:1`), { code: "too-many" });
  delete registry.faults.rateLimit;
  await t.rejects(pull(`${registry.host}/none:1`), { code: "not-found" });
  await t.rejects(pull("127.0.0.1:1/none:1"), { code: "unavailable" });
});

t.test("pullImage() tries mirrors first and then the registry itself", skip, async (t) => {
  const mirror = await TestRegistry.start();
  t.teardown(() => mirror.stop());
  const image = imageOf([layerOf([file("a", "1")])]);
  mirror.add("library/app", "1", image);
  const registries: RegistriesConfig = {
    mirrors: { "docker.io": { endpoint: ["http://127.0.0.1:1", `http://${mirror.host}/v2`] } },
  };
  const { pull, images } = await setUp(t, { registries });
  await pull("app:1");
  t.same((await images.service.imageStatus(spec("app:1"), call)).image?.repoTags, ["docker.io/library/app:1"]);
});

t.test("pullImage() trusts a registry by the authority its settings name, and no other", skip, async (t) => {
  const pki = testPki();
  const secure = await TestRegistry.start({ tls: pki.server });
  t.teardown(() => secure.stop());
  secure.add("app", "1", imageOf([layerOf([file("a", "1")])]));
  const dir = mkdtempSync(join(tmpdir(), "skiff-ca-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "ca.pem"), pki.ca.cert);
  const mirrors = { "secure.test": { endpoint: [`https://${secure.host}`] } };
  const settings = (tls: object) => parseRegistries({ mirrors, configs: { [secure.host]: { tls } } });
  const trusting = await setUp(t, { registries: settings({ ca_file: join(dir, "ca.pem") }) });
  await trusting.pull("secure.test/app:1");
  const careless = await setUp(t, { registries: settings({ insecure_skip_verify: true }) });
  await careless.pull("secure.test/app:1");
  const wary = await setUp(t, { registries: settings({}) });
  await t.rejects(wary.pull("secure.test/app:1"), { code: "unavailable" });
  const lost = await setUp(t, { registries: settings({ ca_file: join(dir, "none.pem") }) });
  await t.rejects(lost.pull("secure.test/app:1"));
});

t.test("parseRegistries() names the key that is wrong", async (t) => {
  t.throws(() => parseRegistries({ mirrors: { x: { endpoint: "y" } } }), {
    code: "invalid",
    message: /mirrors\.x\.endpoint/,
  });
  t.throws(() => parseRegistries({ configs: [] }), { code: "invalid", message: /configs/ });
  t.same(parseRegistries(undefined), { mirrors: {}, configs: {} });
});

t.test("pullImage() chooses from an index by platform and pulls by digest", skip, async (t) => {
  const { registry, images, pull } = await setUp(t, { platform: hostPlatform("arm64") });
  const arm = imageOf([layerOf([file("a", "arm")])], {}, { architecture: "arm", variant: "v7" });
  const amd = imageOf([layerOf([file("a", "amd")])], {}, { architecture: "amd64" });
  const name = registry.addIndex("multi", "1", [
    { image: amd, platform: { os: "linux", architecture: "amd64" } },
    { image: arm, platform: { os: "linux", architecture: "arm", variant: "v7" } },
  ]);
  t.equal((await pull(name)).imageRef, arm.configDigest);
  const byDigest = `${registry.host}/multi@${amd.digest}`;
  t.equal((await pull(byDigest)).imageRef, amd.configDigest);
  t.same((await images.service.imageStatus(spec(byDigest), call)).image?.repoTags, []);
});

t.test("pullImage() stops when told, and the next pull goes on from there", skip, async (t) => {
  const { registry, images, pull, root } = await setUp(t);
  const image = imageOf([layerOf([file("big", random(50_000))], "none")]);
  const name = registry.add("app", "1", image);
  let release = () => {};
  registry.faults.slow = new Promise((resolve) => {
    release = resolve;
  });
  const stop = new AbortController();
  const pulling = images.service.pullImage(PullImageRequest.create({ image: ImageSpec.create({ image: name }) }), {
    signal: stop.signal,
  });
  while (!registry.requests.some(({ path }) => path.includes("/blobs/"))) await new Promise(setImmediate);
  stop.abort(new Error("stopped"));
  await t.rejects(pulling);
  release();
  delete registry.faults.slow;
  await pull(name);
  t.same(readdirSync(join(root, "ingest")), []);
});

t.test(
  "pullImage() refuses hostile layers with a clear error and leaves nothing outside the store",
  skip,
  async (t) => {
    const { registry, pull, root, images } = await setUp(t, { limits: { entries: 100, bytes: 1 << 20 } });
    const rows: [name: string, layer: ReturnType<typeof layerOf>, why: RegExp][] = [
      ["escape", layerOf([file("../../evil", "x")]), /\.\./],
      ["link", layerOf([{ name: "l", type: "2", link: root }, file("l/evil", "x")]), /is a link to/],
      ["entries", layerOf(Array.from({ length: 101 }, (_, at) => file(`f${at}`, ""))), /more than 100 entries/],
      ["bytes", layerOf([file("zeros", Buffer.alloc(8 << 20))]), /larger than/],
      ["zstd bytes", layerOf([file("zeros", Buffer.alloc(8 << 20))], "zstd"), /larger than/],
      ["headers", layerOf(Buffer.concat([Buffer.alloc(512), Buffer.alloc(16 << 20)])), /larger than/],
      ["device", layerOf([{ name: "sda", type: "4", major: 8 }]), /block device/],
      [
        "cycle",
        layerOf([
          { name: "a", type: "1", link: "b" },
          { name: "b", type: "1", link: "a" },
        ]),
        /hard link/,
      ],
      ["not a tar", layerOf(Buffer.alloc(4096, 1)), /tar archive/],
    ];
    for (const [name, layer, why] of rows) {
      await t.rejects(
        pull(registry.add(name.replaceAll(" ", "-"), "1", imageOf([layer]))),
        { code: "invalid", message: why },
        name,
      );
    }
    t.same(readdirSync(root).sort(), ["blobs", "images", "ingest", "l", "layers"]);
    t.same(readdirSync(join(root, "l")), []);
    t.same((await images.service.listImages({}, call)).images, []);
  },
);

t.test("importArchive() takes docker save and OCI layouts, compressed or not", skip, async (t) => {
  const { root, images } = await setUp(t);
  const image = imageOf([layerOf([file("a", "1")]), layerOf([file("b", random(100_000))], "zstd")], { Cmd: ["x"] });
  const rows: [name: string, bytes: Buffer][] = [
    ["docker.tar", dockerArchive(image, ["app:docker"])],
    ["docker.tar.gz", gzipSync(dockerArchive(image, ["app:gz"]))],
    ["oci.tar", ociArchive(image, "app:oci")],
    ["oci.tar.zst", zstdCompressSync(ociArchive(image, "registry.test/app:zst"))],
  ];
  for (const [name, bytes] of rows) {
    const path = join(root, name);
    writeFileSync(path, bytes);
    t.equal((await images.importArchive(path, call)).length > 0, true, name);
    await images.importArchive(path, call);
    rmSync(path);
  }
  for (const name of ["app:docker", "app:gz", "app:oci", "registry.test/app:zst"]) {
    t.equal((await images.service.imageStatus(spec(name), call)).image?.id, image.configDigest, name);
  }
  const path = join(root, "bad.tar");
  writeFileSync(path, dockerArchive({ ...image, layers: image.layers.slice(1) }, ["bad:1"]));
  await t.rejects(images.importArchive(path, call), { code: "invalid" });
  t.same(readdirSync(join(root, "ingest")), []);
});
