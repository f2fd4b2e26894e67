// The examples of docs/writing-a-plugin.md: loaded as a user's plugins are, and held to the behaviour of their contracts.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { runtimeKind } from "../../cri/api/contract.ts";
import { PullImageRequest } from "../../cri/api/gen/runtime.js";
import { openFake } from "../../cri/fake/open.ts";
import { serveRuntime } from "../../cri/serve/serve.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { AnyPlugin } from "../../plugins/kit/base/plugin.ts";
import { openChosen, openPlugins } from "../../plugins/kit/base/registry.ts";
import { placementKind, scoreKind } from "../../plugins/kit/contracts/scheduling.ts";
import { loadUserPlugins } from "../../plugins/kit/os/user-plugins.ts";
import { volumeKind } from "../../plugins/kit/contracts/volume.ts";
import { startControl } from "../harness/control.ts";
import { readAll } from "../harness/read-all.ts";
import { node, pod } from "../harness/scheduling.ts";
import { placementSuite } from "../suites/placement.ts";
import { runtimeSuite } from "../suites/runtime/suite.ts";
import { volumeSuite } from "../suites/volume.ts";

const folder = join(import.meta.dirname, "../../docs/examples");

async function example(name: string): Promise<AnyPlugin> {
  const [plugin] = await loadUserPlugins([`./${name}.ts`], folder);
  if (!plugin) throw new Error(`${name}.ts exports no plugin`);
  return plugin;
}

function temporary(t: { teardown(then: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), "skiff-examples-"));
  t.teardown(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const parts = { log: noLog, clock: systemClock };

volumeSuite(t, "example.dev/notes", async (t: Test) => {
  const root = temporary(t);
  const opened = await openPlugins({ plugins: [await example("volume")], ...parts, stateDir: root }, call);
  const [plugin] = opened.all(volumeKind);
  if (!plugin) throw new Error("it did not open");
  return {
    plugin,
    volume: { name: "v", flexVolume: { driver: "example.dev/notes", options: { hello: "world" } } },
    root,
  };
});

t.test("example.dev/notes writes its options as files", async (t) => {
  const root = temporary(t);
  const opened = await openPlugins({ plugins: [await example("volume")], ...parts, stateDir: root }, call);
  const path = join(root, "v");
  const volume = { name: "v", flexVolume: { driver: "example.dev/notes", options: { hello: "world" } } };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers: [] } } as const;
  await opened.all(volumeKind)[0]?.mount({ pod: pod as never, volume, path, readOnly: false }, call);
  t.equal(readFileSync(join(path, "hello"), "utf8"), "world");
});

t.test("MainsFirst prefers nodes that are not on a battery", async (t) => {
  const opened = await openPlugins({ plugins: [await example("score")], ...parts, stateDir: temporary(t) }, call);
  const [score] = opened.all(scoreKind);
  const on = (power: string) => {
    const labels = { "example.dev/power": power };
    return score?.score({} as never, { node: { metadata: { labels } } } as never, undefined);
  };
  t.ok(Number(on("mains")) > Number(on("battery")));
});

const ganged = (name: string) => pod(name, {}, { "example.dev/gang": "crew", "example.dev/gang-size": "2" });

async function gangs(t: Test) {
  const opened = await openPlugins({ plugins: [await example("placement")], ...parts, stateDir: temporary(t) }, call);
  const [plugin] = opened.all(placementKind);
  if (!plugin) throw new Error("it did not open");
  return plugin;
}

placementSuite(t, "Gangs", async (t: Test) => {
  let count = 0;
  return {
    plugin: await gangs(t),
    node: node("n"),
    freePod: () => pod(`free-${count++}`),
    heldPod: () => ganged(`held-${count++}`),
  };
});

t.test("Gangs lets pods go when all are there", async (t) => {
  const plugin = await gangs(t);
  const both = ["one", "two"].map(async (name) => plugin.permit?.(ganged(name), node("n"), call));
  t.same(await Promise.all(both), [undefined, undefined]);
});

t.test("TrustedRegistries refuses strangers' images through the API, and wants its settings", async (t) => {
  const plugin = await example("admission");
  const control = await startControl({
    userPlugins: [plugin],
    pluginSettings: { TrustedRegistries: { registries: ["registry.example.dev"] } },
  });
  t.teardown(() => control.close());
  const fetch = control.control.fetchAs({ name: "someone", groups: ["system:masters"] });
  const create = async (image: string) => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image }] },
    };
    const request = new Request("https://api/api/v1/namespaces/default/pods?dryRun=All", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(pod),
    });
    const response = await fetch(request);
    return { status: response.status, body: (await response.json()) as { message?: string } };
  };
  t.match(await create("elsewhere.example/app:1"), {
    status: 403,
    body: { reason: "Forbidden", message: /elsewhere\.example\/app:1 is not from registry\.example\.dev/ },
  });
  t.notMatch((await create("registry.example.dev/app:1")).body.message ?? "", /is not from/);
  t.throws(() => plugin.configure?.({ registries: "one" }), { code: "invalid" });
});

const busybox = "skiff.test/busybox:1";

async function careful(t: { teardown(then: () => Promise<void>): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-examples-"));
  t.teardown(async () => rmSync(dir, { recursive: true, force: true }));
  const fake = openFake({ images: [busybox, "skiff.test/removable:1"] });
  fake.canPull = (name) => name.startsWith("registry.test/");
  fake.programs.set("echo-server", (io) => io.run(["pause"]));
  fake.ports.set(8080, async (connection) => {
    const said = await readAll(connection);
    await new Promise<void>((resolve) => connection.end(said, resolve));
  });
  fake.addImage("skiff.test/named-user:1", { username: "app" });
  fake.addImage("skiff.test/numbered-user:1", { uid: { value: 1000n } });
  const served = await serveRuntime(fake, { listen: join(dir, "cri.sock") });
  t.teardown(() => served.close());
  const settings = { careful: { socket: served.socket, refuse: ["registry.test/huge"] } };
  const runtime = await openChosen(runtimeKind, await example("runtime"), { ...parts, stateDir: dir, settings }, call);
  t.teardown(() => runtime.close());
  return { runtime, dir };
}

t.test("careful refuses a pull that its settings name", async (t) => {
  const { runtime } = await careful(t);
  const pull = (image: string) => runtime.image.pullImage(PullImageRequest.create({ image: { image } }), call);
  await t.rejects(pull("registry.test/huge:1"), { code: "forbidden", message: /too large for this box/ });
  t.match(await pull("registry.test/small:1"), { imageRef: /./ });
});

runtimeSuite(
  t,
  {
    name: "careful",
    lacks: { kernel: "the fake behind it has no kernel", checkpointContainer: "the fake has no memory to save" },
    async open(t) {
      const { runtime, dir } = await careful(t);
      return {
        runtime,
        dir,
        image: busybox,
        images: {
          namedUser: "skiff.test/named-user:1",
          numberedUser: "skiff.test/numbered-user:1",
          removable: "skiff.test/removable:1",
        },
        echoServer: { command: ["echo-server"], port: 8080 },
        pullable: "registry.test/busybox:2",
      };
    },
  },
  ["lifecycle", "lists", "errors", "images", "execSync"],
);
