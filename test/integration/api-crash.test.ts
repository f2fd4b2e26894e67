// kill -9 in the middle of a storm of writes, twice: after each restart every acknowledged write is there, and every watch
// goes on from the last resourceVersion its client saw, without a gap and without telling anything twice.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient, type WatchOptions } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { until } from "../harness/until.ts";

const namespace = "default";
const writers = 8;
const rounds = 2;
const enough = 200;

interface Server {
  readonly client: ApiClient;
  kill(): Promise<void>;
}

async function start(folder: string): Promise<Server> {
  const [command, ...args] = selfCommand(join(import.meta.dirname, "../harness/api-process.ts"), [folder]);
  const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const kubeconfig = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").trim()));
    child.once("exit", () => reject(new Error("the server ended before it served")));
  });
  const died = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const config = await loadKubeconfig(kubeconfig);
  return {
    client: new ApiClient({ fetch: config.fetch, server: config.server }),
    async kill() {
      child.kill("SIGKILL");
      await died;
      config.close();
    },
  };
}

interface Seen {
  readonly type: string;
  readonly name: string;
  readonly revision: number;
}

/** A client that watches: what it heard so far, and from where it goes on. */
class Follower {
  readonly title: string;
  readonly ref: ResourceRef;
  readonly #options: WatchOptions;
  readonly seen: Seen[] = [];
  revision: number;
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(title: string, ref: ResourceRef, revision: number, options: WatchOptions = {}) {
    this.title = title;
    this.ref = ref;
    this.revision = revision;
    this.#options = options;
  }

  follow(client: ApiClient): void {
    this.#stop = new AbortController();
    this.#running = this.#follow(client);
  }

  /** Ends the watch; rejects when the server refused or ended it with an error event. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(client: ApiClient): Promise<void> {
    const options = { namespace, ...this.#options, allowBookmarks: true, resourceVersion: String(this.revision) };
    try {
      for await (const { type, object } of client.watch<KubeObject>(this.ref, options, this.#stop)) {
        const revision = Number(object.metadata.resourceVersion);
        if (type !== "BOOKMARK") this.seen.push({ type, name: object.metadata.name ?? "", revision });
        this.revision = revision;
      }
    } catch (error) {
      const isCut = (error as { code?: string }).code === "unavailable";
      if (!isCut && !this.#stop.signal.aborted) throw error;
    }
  }
}

const labelled = "parity=odd";

class Storm {
  /** Revision of every acknowledged write, by resource. */
  readonly revisions = new Map<ResourceRef, number[]>([
    [resources.configmaps, []],
    [resources.secrets, []],
  ]);
  /** Objects that must be there, and those that must not. */
  readonly created = new Map<string, ResourceRef>();
  readonly deleted = new Map<string, ResourceRef>();
  #count = 0;

  async run(client: ApiClient, round: number): Promise<{ raging: Promise<void>; done: Promise<unknown> }> {
    const goal = this.#count + enough;
    const reached = Promise.withResolvers<void>();
    const acknowledge = (ref: ResourceRef, object: KubeObject) => {
      this.revisions.get(ref)?.push(Number(object.metadata.resourceVersion));
      if (++this.#count >= goal) reached.resolve();
    };
    const write = async (writer: number) => {
      const ref = writer % 2 ? resources.secrets : resources.configmaps;
      for (let n = 0; ; n++) {
        const name = `r${round}-w${writer}-${n}`;
        const labels = { parity: n % 2 ? "odd" : "even" };
        const object = { apiVersion: "v1", kind: ref.kind, metadata: { name, labels } };
        acknowledge(ref, await client.create<KubeObject>(ref, object, call, { namespace }));
        this.created.set(name, ref);
        const body = { metadata: { annotations: { n: String(n) } } };
        acknowledge(ref, await client.patch<KubeObject>(ref, { namespace, name }, { type: "merge", body }, call));
        if (n % 3) continue;
        this.created.delete(name); // The delete may happen and stay unacknowledged.
        await client.delete(ref, { namespace, name }, call);
        this.deleted.set(name, ref);
      }
    };
    const done = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer).catch(() => {})));
    return { raging: reached.promise, done };
  }
}

t.test("acknowledged writes survive kill -9, and every watch resumes without a gap", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skiff-api-crash-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  let server = await start(folder);
  t.teardown(() => server.kill());
  const { metadata } = await server.client.list(resources.configmaps, { namespace }, call);
  const began = Number(metadata.resourceVersion);
  const followers = [
    new Follower("config maps", resources.configmaps, began),
    new Follower("secrets, sealed in the store", resources.secrets, began),
    new Follower("config maps by label", resources.configmaps, began, { labelSelector: labelled }),
    new Follower("config maps again", resources.configmaps, began),
  ];
  const late = new Follower("config maps, all the way from before the storm", resources.configmaps, began);
  const storm = new Storm();
  for (let round = 0; round < rounds; round++) {
    for (const follower of followers) follower.follow(server.client);
    const { raging, done } = await storm.run(server.client, round);
    await raging;
    await server.kill();
    await done;
    for (const follower of followers) await follower.stop();
    server = await start(folder);
  }

  followers.push(late);
  for (const follower of followers) follower.follow(server.client);
  const there = new Map<ResourceRef, readonly KubeObject[]>();
  for (const ref of storm.revisions.keys()) {
    const object = { apiVersion: "v1", kind: ref.kind, metadata: { name: "last", labels: { parity: "odd" } } };
    await server.client.create(ref, object, call, { namespace });
    const { items } = await server.client.list<KubeObject>(ref, { namespace }, call);
    there.set(ref, items);
    const names = new Set(items.map(({ metadata: { name } }) => name));
    const missing = [...storm.created].filter(([name, of]) => of === ref && !names.has(name));
    const risen = [...storm.deleted].filter(([name, of]) => of === ref && names.has(name));
    t.same(missing, [], `no acknowledged write of ${ref.plural} is lost`);
    t.same(risen, [], `no acknowledged delete of ${ref.plural} is undone`);
  }
  for (const follower of followers) {
    await until(`the last write in ${follower.title}`, () => follower.seen.some(({ name }) => name === "last"));
    await follower.stop();
    t.test(`a watch of ${follower.title}`, async (t) => {
      const { seen, ref } = follower;
      const revisions = seen.map(({ revision }) => revision);
      t.same(
        revisions,
        [...new Set(revisions)].sort((a, b) => a - b),
        "each event once, in order",
      );
      const state = new Map<string, number>();
      for (const { type, name, revision } of seen) {
        if (state.has(name) !== (type !== "ADDED")) t.fail(`${type} of ${name} does not follow from what came before`);
        if (type === "DELETED") state.delete(name);
        else state.set(name, revision);
      }
      const isLabelled = follower.title === "config maps by label";
      const wanted = (there.get(ref) ?? [])
        .filter(({ metadata }) => Number(metadata.resourceVersion) > began)
        .filter(({ metadata }) => !isLabelled || metadata.labels?.parity === "odd");
      t.same(
        state,
        new Map(wanted.map(({ metadata }) => [metadata.name, Number(metadata.resourceVersion)])),
        "the events add up to what is there",
      );
      if (isLabelled) return;
      const heard = new Set(revisions);
      const unheard = storm.revisions.get(ref)?.filter((revision) => !heard.has(revision));
      t.same(unheard, [], "every acknowledged write was told");
    });
  }
  const [first] = followers;
  t.same(late.seen, first?.seen, "who resumes and who reads it all later are told the same");
});
