import { queryObjects } from "node:v8";
import t from "tap";
import { FakeApi, failure } from "../../../test/harness/fake-api.ts";
import { ApiClient } from "./client/api-client.ts";
import { FakeClock } from "../base/clock.ts";
import { EventRecorder } from "./events.ts";
import { noLog } from "../base/log.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "cart-0", namespace: "shop", uid: "u1" } };

function start() {
  const api = new FakeApi();
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const client = new ApiClient({ fetch: api.fetch, clock });
  const recorder = new EventRecorder({ client, component: "kubelet", host: "pi", clock, log: noLog });
  return { api, clock, recorder, events: () => api.objects("/api/v1/events") };
}

t.test("EventRecorder writes an event that names its object and source", async (t) => {
  const { recorder, events } = start();
  recorder.event(pod, "Normal", "Started", "Started container web", { fieldPath: "spec.containers{web}" });
  await recorder.flush();
  t.match(events()[0], {
    metadata: { namespace: "shop", name: /^cart-0\.[0-9a-f]{16}$/ },
    involvedObject: {
      kind: "Pod",
      apiVersion: "v1",
      name: "cart-0",
      namespace: "shop",
      uid: "u1",
      fieldPath: "spec.containers{web}",
    },
    reason: "Started",
    type: "Normal",
    message: "Started container web",
    source: { component: "kubelet", host: "pi" },
    firstTimestamp: "2026-01-02T03:04:05Z",
    count: 1,
    reportingComponent: "kubelet",
  });
});

t.test("EventRecorder counts a repeated event on the same object", async (t) => {
  const { recorder, events, clock } = start();
  for (let i = 0; i < 3; i++) {
    recorder.event(pod, "Warning", "BackOff", "again");
    await recorder.flush();
    await clock.advance(60_000);
  }
  t.equal(events().length, 1);
  t.match(events()[0], { count: 3, firstTimestamp: "2026-01-02T03:04:05Z", lastTimestamp: "2026-01-02T03:06:05Z" });
});

t.test("EventRecorder tells when it happened, where that is not now", async (t) => {
  const { recorder, events, clock } = start();
  recorder.event(pod, "Normal", "Scheduled", "assigned", { at: clock.now() - 2000 });
  await recorder.flush();
  t.match(events()[0], { firstTimestamp: "2026-01-02T03:04:03Z", lastTimestamp: "2026-01-02T03:04:03Z" });
});

t.test("EventRecorder writes anew what the server has forgotten", async (t) => {
  const { recorder, events, api } = start();
  recorder.event(pod, "Warning", "BackOff", "again");
  await recorder.flush();
  api.remove("/api/v1/events", "shop", events()[0]?.metadata.name ?? "");
  recorder.event(pod, "Warning", "BackOff", "again");
  await recorder.flush();
  t.match(events(), [{ count: 1 }]);
});

t.test("EventRecorder drops its state of objects without recent events", async (t) => {
  const { recorder, clock } = start();
  const about = (name: string) =>
    recorder.event({ ...pod, metadata: { ...pod.metadata, name } }, "Normal", "Started", "Started container web");
  const groups = () => queryObjects(Set, { format: "count" });
  const before = groups();
  for (let n = 0; n < 500; n++) about(`pod-${n}`);
  await recorder.flush();
  t.ok(groups() - before >= 500);
  await clock.advance(3 * 3_600_000);
  about("one-more");
  await recorder.flush();
  t.ok(groups() - before < 20);
});

t.test("EventRecorder combines many messages of one reason", async (t) => {
  const { recorder, events } = start();
  for (let i = 0; i < 20; i++) recorder.event(pod, "Warning", "Failed", `try ${i}`);
  await recorder.flush();
  t.equal(events().length, 11);
  t.match(events().at(-1), { message: "(combined from similar events): try 19", count: 10 });
});

t.test("EventRecorder silences an object that spams, and lets one through later", async (t) => {
  const { recorder, events, clock } = start();
  const total = () => events().reduce((sum, event) => sum + Number(event["count"]), 0);
  for (let i = 0; i < 100; i++) recorder.event(pod, "Normal", "Spam", "x");
  await recorder.flush();
  t.equal(total(), 25);
  recorder.event({ ...pod, metadata: { ...pod.metadata, name: "other", uid: "u2" } }, "Normal", "Spam", "x");
  await recorder.flush();
  t.equal(total(), 26);
  await clock.advance(300_000);
  recorder.event(pod, "Normal", "Spam", "x");
  await recorder.flush();
  t.equal(total(), 27);
});

t.test("EventRecorder puts events of cluster objects into the default namespace", async (t) => {
  const { recorder, events } = start();
  recorder.event({ apiVersion: "v1", kind: "Node", metadata: { name: "pi" } }, "Normal", "NodeReady", "ready");
  await recorder.flush();
  t.equal(events()[0]?.metadata.namespace, "default");
});

t.test("EventRecorder tries again while the server is away, and gives up quietly on a refusal", async (t) => {
  const { recorder, events, api, clock } = start();
  api.answers.push(
    () => failure(503, "ServiceUnavailable", "away"),
    () => failure(503, "ServiceUnavailable", "away"),
  );
  recorder.event(pod, "Normal", "Started", "a");
  await clock.advance(20_000);
  await recorder.flush();
  t.equal(events().length, 1);
  api.answers.push(() => failure(403, "Forbidden", "no"));
  recorder.event(pod, "Normal", "Other", "b");
  await recorder.flush();
  t.equal(events().length, 1);
});

t.test("EventRecorder.close() gives up what waits", async (t) => {
  const { recorder, api, clock } = start();
  api.answers.push(() => failure(503, "ServiceUnavailable", "away"));
  recorder.event(pod, "Normal", "Started", "a");
  await clock.advance(0);
  recorder.close();
  recorder.close();
  await recorder.flush();
  recorder.event(pod, "Normal", "Started", "after");
  await recorder.flush();
  t.equal(clock.pending, 0);
  t.equal(api.requests.length, 1);
});
