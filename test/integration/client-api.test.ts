// The kit's client, informer and event recorder against our own API server: in the same process, and over a real port.

import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient, type Fetch } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { ConfigMap, Event, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { admin, serveApi, startApi } from "../harness/api-server.ts";
import { until } from "../harness/until.ts";

const call = uninterrupted;
type Reach = { fetch: Fetch; server?: string; close(): Promise<void> };

async function inProcess(): Promise<Reach> {
  const api = await startApi();
  return { fetch: api.server.fetchAs(admin), close: () => api.close() };
}

async function overPort(): Promise<Reach> {
  const api = await serveApi();
  const fetch = httpFetch();
  return {
    fetch,
    server: api.url,
    close: async () => {
      fetch.close();
      await api.close();
    },
  };
}

for (const [where, open] of [
  ["in process", inProcess],
  ["over a port", overPort],
] as const) {
  t.test(`the kit's client works the API, ${where}`, async (t) => {
    const reach = await open();
    t.teardown(() => reach.close());
    const client = new ApiClient({ fetch: reach.fetch, ...(reach.server ? { server: reach.server } : {}) });
    const made = await client.create<ConfigMap>(
      resources.configmaps,
      { metadata: { name: "a", namespace: "default" }, data: { x: "1" } },
      call,
    );
    t.match(made, { kind: "ConfigMap", data: { x: "1" } });
    await t.rejects(client.create(resources.configmaps, made, call), { name: "Fault" });
    const at = { namespace: "default", name: "a" };
    await client.patch(resources.configmaps, at, { type: "merge", body: { data: { y: "2" } } }, call);
    await client.patch(resources.configmaps, at, { type: "json", body: [{ op: "remove", path: "/data/x" }] }, call);
    await client.patch(resources.configmaps, at, { type: "strategic", body: { metadata: { finalizers: [] } } }, call);
    t.same((await client.get<ConfigMap>(resources.configmaps, at, call)).data, { y: "2" });
    await t.rejects(client.update(resources.configmaps, made, call), { code: "conflict" });
    await client.delete(resources.configmaps, at, call);
    await t.rejects(client.get(resources.configmaps, at, call), { code: "not-found", details: { reason: "NotFound" } });
  });

  t.test(`the kit's informer follows the API, ${where}`, async (t) => {
    const reach = await open();
    t.teardown(() => reach.close());
    const client = new ApiClient({ fetch: reach.fetch, ...(reach.server ? { server: reach.server } : {}) });
    const create = (name: string) =>
      client.create(
        resources.configmaps,
        { metadata: { name, namespace: "default", labels: { app: "x" } }, data: {} },
        call,
      );
    for (let i = 0; i < 3; i++) await create(`before-${i}`);
    const informer = new WatchingInformer<ConfigMap>({
      client,
      ref: resources.configmaps,
      labelSelector: "app=x",
      clock: systemClock,
      log: noLog,
    });
    const seen: string[] = [];
    informer.onEvent(({ type, object }) => seen.push(`${type} ${object.metadata.name}`));
    const stop = new AbortController();
    const running = informer.run({ signal: stop.signal });
    t.teardown(async () => {
      stop.abort();
      await running;
    });
    await informer.synced;
    t.equal(informer.list("default").length, 3);
    await create("after");
    await until("the new one", () => informer.get("default", "after"));
    await client.patch(
      resources.configmaps,
      { namespace: "default", name: "after" },
      { type: "merge", body: { metadata: { labels: { app: null } } } },
      call,
    );
    await until("it to leave the selection", () => informer.get("default", "after") === undefined);
    await client.delete(resources.configmaps, { namespace: "default", name: "before-0" }, call);
    await until("the deletion", () => seen.includes("delete before-0"));
    t.same(seen.slice(3), ["add after", "delete after", "delete before-0"]);
    t.match(informer.get("default", "before-1"), { apiVersion: "v1", kind: "ConfigMap" });
  });

  t.test(`the kit's recorder writes events that the API takes, ${where}`, async (t) => {
    const reach = await open();
    t.teardown(() => reach.close());
    const client = new ApiClient({ fetch: reach.fetch, ...(reach.server ? { server: reach.server } : {}) });
    const recorder = new EventRecorder({ client, component: "kubelet", host: "pi", clock: systemClock, log: noLog });
    const body = {
      metadata: { name: "web", namespace: "default" },
      spec: { containers: [{ name: "main", image: "busybox" }] },
    };
    const pod = await client.create<Pod>(resources.pods, body, call);
    for (let i = 0; i < 3; i++) {
      recorder.event(pod, "Normal", "Pulled", "image is there");
      await recorder.flush();
    }
    const fieldSelector = "involvedObject.name=web,involvedObject.kind=Pod";
    const events = await client.list<Event>(resources.events, { namespace: "default", fieldSelector }, call);
    t.match(events.items, [{ reason: "Pulled", count: 3, involvedObject: { uid: pod.metadata.uid } }]);
  });
}
