// Lists in every form: put together from kept bytes, they say what the objects themselves say.

import { gunzipSync } from "node:zlib";
import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { admin, type Json, startApi } from "../../test/harness/api-server.ts";
import { until } from "../../test/harness/until.ts";

const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
const metadataOnly = { accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" };
const pods = "/api/v1/namespaces/default/pods";
const jobs = "/apis/batch/v1/namespaces/default/jobs";
const events = "/api/v1/namespaces/default/events";
const configMaps = "/api/v1/namespaces/default/configmaps";

const spec = { containers: [{ name: "a", image: "x" }] };
const at = (clock: FakeClock, secondsAgo: number) => new Date(clock.now() - secondsAgo * 1000).toISOString();

async function fill(api: Awaited<ReturnType<typeof startApi>>, clock: FakeClock): Promise<void> {
  const make = async (path: string, object: Json) => {
    const { status, text } = await api.ask("POST", path, object);
    if (status !== 201) throw new Error(text);
  };
  for (const name of ["a", "b"]) {
    await make(pods, { metadata: { name }, spec });
    await make(configMaps, { metadata: { name, annotations: { odd: "\u00010\u0001 } \\" } }, data: { x: "y" } });
  }
  await api.ask(
    "PATCH",
    `${pods}/b/status`,
    {
      status: {
        phase: "Running",
        startTime: at(clock, 10),
        containerStatuses: [
          {
            name: "a",
            image: "x",
            imageID: "",
            ready: true,
            restartCount: 3,
            state: { running: { startedAt: at(clock, 5) } },
            lastState: { terminated: { exitCode: 1, finishedAt: at(clock, 7) } },
          },
        ],
      },
    },
    { "content-type": "application/strategic-merge-patch+json" },
  );
  await make(jobs, { metadata: { name: "j" }, spec: { template: { spec: { ...spec, restartPolicy: "Never" } } } });
  await api.ask(
    "PATCH",
    `${jobs}/j/status`,
    { status: { startTime: at(clock, 20), active: 1 } },
    { "content-type": "application/merge-patch+json" },
  );
  await make(events, {
    metadata: { name: "e" },
    involvedObject: { kind: "Pod", namespace: "default", name: "a" },
    reason: "Test",
    message: "something",
    type: "Normal",
    firstTimestamp: at(clock, 100),
    lastTimestamp: at(clock, 50),
    count: 2,
  });
}

t.test("rows of a list are those of its objects, and their ages move on", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  await fill(api, clock);
  for (const seconds of [0, 1, 90, 3000]) {
    await clock.advance(seconds * 1000);
    for (const path of [pods, jobs, events, configMaps]) {
      for (const include of ["None", "Metadata", "Object"]) {
        const query = `?includeObject=${include}`;
        const { body } = await api.ask("GET", path + query, undefined, table);
        const { items } = (await api.ask("GET", path)).body;
        const single = await Promise.all(
          items.map(({ metadata }: Json) => api.ask("GET", `${path}/${metadata.name}${query}`, undefined, table)),
        );
        const rows = single.map((one: { body: Json }) => one.body.rows[0]);
        t.same(body.rows, rows, `${path} with ${include} after ${seconds} s`);
        t.same(body.columnDefinitions, single[0].body.columnDefinitions);
      }
    }
  }
  const { body } = await api.ask("GET", pods, undefined, table);
  t.equal(body.rows[1].cells[3], "3 (51m ago)");
});

t.test("a list of metadata is the metadata of the list", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  await fill(api, clock);
  const { body } = await api.ask("GET", configMaps, undefined, metadataOnly);
  const { items, metadata } = (await api.ask("GET", configMaps)).body;
  t.same(body, {
    kind: "PartialObjectMetadataList",
    apiVersion: "meta.k8s.io/v1",
    metadata,
    items: items.map((item: Json) => ({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: item.metadata,
    })),
  });
});

t.test("items of a list say no kind, but those of custom resources do", async (t) => {
  const clock = new FakeClock();
  const api = await startApi({ clock });
  t.teardown(() => api.close());
  await fill(api, clock);
  for (const path of [pods, "/apis/events.k8s.io/v1/namespaces/default/events"])
    for (const query of ["", "?pretty=true", "?limit=1"]) {
      const { items } = (await api.ask("GET", path + query)).body;
      const { body } = await api.ask("GET", `${path}/${items[0].metadata.name}`);
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = body;
      t.same(items[0], rest, `${path}${query}`);
      t.same(Object.keys(items[0]), Object.keys(rest), "in the same order");
    }
  const group = "/apis/list-forms.example.com/v1/things";
  const schema = { openAPIV3Schema: { type: "object" } };
  await api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    metadata: { name: "things.list-forms.example.com" },
    spec: {
      group: "list-forms.example.com",
      scope: "Cluster",
      names: { plural: "things", kind: "Thing" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  await until("things to be served", async () => (await api.ask("GET", group)).status === 200);
  await api.ask("POST", group, { apiVersion: "list-forms.example.com/v1", kind: "Thing", metadata: { name: "a" } });
  const { items } = (await api.ask("GET", group)).body;
  t.match(items[0], { apiVersion: "list-forms.example.com/v1", kind: "Thing" });
});

t.test("large answers are compressed for who accepts it", async (t) => {
  const api = await startApi({ clock: new FakeClock() });
  t.teardown(() => api.close());
  for (let n = 0; n < 20; n++)
    await api.ask("POST", configMaps, { metadata: { name: `c${n}` }, data: { text: "x".repeat(10_000) } });
  const fetch = api.server.fetchAs(admin);
  const get = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(new Request(`http://api${path}`, { headers }));
    return { encoding: response.headers.get("content-encoding"), bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const plain = await get(configMaps, {});
  t.equal(plain.encoding, null);
  for (const accept of ["application/json", table.accept, "application/yaml"]) {
    const large = `${configMaps}?includeObject=Object`;
    const { bytes } = await get(large, { accept });
    const packed = await get(large, { accept, "accept-encoding": "br, gzip;q=0.5" });
    t.equal(packed.encoding, "gzip", accept);
    t.ok(packed.bytes.length < bytes.length / 5);
    t.equal(gunzipSync(packed.bytes).toString(), bytes.toString());
  }
  const refused = ["gzip;q=0", "br", "identity"];
  for (const encoding of refused) t.equal((await get(configMaps, { "accept-encoding": encoding })).encoding, null);
  t.equal((await get(`${configMaps}/c1`, { "accept-encoding": "gzip" })).encoding, null, "small ones are not");
});
