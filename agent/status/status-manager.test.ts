import t from "tap";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { FakeClock, systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { PodStatus } from "../../plugins/kit/kube/objects/types.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { until } from "../../test/harness/until.ts";
import { StatusManager } from "./manager.ts";
import { statusPatch } from "./status-patch.ts";

t.test("statusPatch() holds only what changed and clears what is gone", async (t) => {
  const old: PodStatus = {
    phase: "Pending",
    reason: "Old",
    podIPs: [{ ip: "1" }],
    conditions: [
      { type: "Ready", status: "False", reason: "X", lastTransitionTime: "a" },
      { type: "lb", status: "True" },
    ],
  };
  t.equal(statusPatch(old, old), undefined);
  t.equal(statusPatch({ ...old, containerStatuses: [] }, old), undefined, "empty and absent are the same");
  t.same(
    statusPatch(old, {
      phase: "Running",
      podIPs: [{ ip: "2" }],
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: "b" }],
    }),
    {
      phase: "Running",
      reason: null,
      podIPs: [{ ip: "2" }, { $patch: "replace" }],
      conditions: [{ lastProbeTime: null, reason: null, type: "Ready", status: "True", lastTransitionTime: "b" }],
    },
  );
});

t.test("StatusManager writes changes once, coalesced, and deletes what is released", async (t) => {
  const requests: string[] = [];
  let release = () => {};
  const hold = new Promise<void>((resolve) => (release = resolve));
  let version = 1;
  const fetch = async (request: Request) => {
    const body = (await request.json().catch(() => ({}))) as { status?: PodStatus };
    requests.push(
      `${request.method} ${new URL(request.url).pathname.split("/").slice(-2).join("/")} ${body.status?.phase ?? ""}`,
    );
    await hold;
    return Response.json({ metadata: { resourceVersion: String(++version) }, status: { phase: body.status?.phase } });
  };
  const client = new ApiClient({ fetch });
  const stop = new AbortController();
  const manager = new StatusManager({ client, clock: systemClock, log: noLog, mirrorOf: () => undefined });
  const running = manager.run({ signal: stop.signal });
  const pod = testPod("p");
  manager.set(pod, { phase: "Running", podIP: "1" });
  await until("the first write", () => requests.length === 1);
  manager.set(pod, { phase: "Running", podIP: "2" });
  manager.set(pod, { phase: "Succeeded" });
  release();
  await until("the second", () => requests.length === 2);
  t.same(requests, ["PATCH p/status Running", "PATCH p/status Succeeded"]);
  manager.set(pod, { phase: "Succeeded" });
  const going = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
  manager.release(going);
  await until("the deletion", () => requests.length === 3);
  t.match(requests[2], /^DELETE pods\/p/);
  stop.abort();
  await running;
});

t.test("StatusManager tells how a pod ended that ended during a write, before its object goes", async (t) => {
  const requests: string[] = [];
  let release = () => {};
  const hold = new Promise<void>((resolve) => (release = resolve));
  let version = 1;
  const fetch = async (request: Request) => {
    const { status } = (await request.json().catch(() => ({}))) as { status?: PodStatus };
    requests.push(`${request.method} ${status?.phase ?? ""}`.trim());
    await hold;
    return Response.json({ metadata: { resourceVersion: String(++version) }, status });
  };
  const stop = new AbortController();
  const client = new ApiClient({ fetch });
  const manager = new StatusManager({ client, clock: systemClock, log: noLog, mirrorOf: () => undefined });
  const running = manager.run(stop);
  const pod = testPod("brief", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  manager.set(pod, { phase: "Running" });
  await until("the first write", () => requests.length === 1);
  manager.set(pod, { phase: "Failed" });
  manager.release(pod);
  release();
  await until("the deletion", () => requests.includes("DELETE"));
  t.same(requests.slice(0, requests.indexOf("DELETE") + 1), ["PATCH Running", "PATCH Failed", "DELETE"]);
  stop.abort();
  await running;
});

t.test("StatusManager leaves out a beginning that is over soon", async (t) => {
  const requests: string[] = [];
  const fetch = async (request: Request) => {
    const body = (await request.json()) as { status?: PodStatus };
    requests.push(body.status?.phase ?? "");
    return Response.json({ metadata: { resourceVersion: "2" }, status: body.status });
  };
  const clock = new FakeClock();
  const stop = new AbortController();
  const manager = new StatusManager({ client: new ApiClient({ fetch }), clock, log: noLog, mirrorOf: () => undefined });
  const running = manager.run({ signal: stop.signal });
  const waiting = (name: string, reason: string) => [
    { name, image: "", imageID: "", ready: false, restartCount: 0, state: { waiting: { reason } } },
  ];
  manager.set(testPod("quick"), { phase: "Pending", containerStatuses: waiting("main", "ContainerCreating") });
  manager.set(testPod("quick"), { phase: "Running" });
  await until("the write", () => requests.length > 0);
  manager.set(testPod("slow"), { phase: "Pending", containerStatuses: waiting("main", "ContainerCreating") });
  await clock.advance(300);
  await until("the next", () => requests.length > 1);
  manager.set(testPod("bad"), { phase: "Pending", containerStatuses: waiting("main", "ErrImagePull") });
  await until("the last", () => requests.length > 2);
  t.same(requests, ["Running", "Pending", "Pending"]);
  stop.abort();
  await running;
});

t.test("StatusManager lets a proposal stand until a status is told that knows of it", async (t) => {
  const written: unknown[] = [];
  let version = 10;
  const fetch = async (request: Request) => {
    const { status } = (await request.json()) as { status: PodStatus };
    written.push(status);
    return Response.json({ metadata: { resourceVersion: String(++version) }, status });
  };
  const client = new ApiClient({ fetch, clock: systemClock });
  const manager = new StatusManager({ client, clock: systemClock, log: noLog, mirrorOf: () => undefined });
  const stop = new AbortController();
  const running = manager.run(stop);
  const at = (resourceVersion: string) => testPod("sized", {}, { uid: "u", resourceVersion });
  manager.set(at("1"), { phase: "Running" });
  await until("the first status", () => written.length === 1);
  manager.seen("u", { ...at("20"), status: { phase: "Running", resize: "Proposed" } });
  manager.set(at("1"), { phase: "Running", message: "of before" });
  await until("a status of before", () => written.length === 2);
  t.notOk("resize" in (written[1] as object), "nothing is said of it");
  manager.seen("u", { ...at("21"), status: { phase: "Running", message: "of before", resize: "Proposed" } });
  manager.set(at("21"), { phase: "Running", message: "of before" });
  await until("the answer", () => written.length === 3);
  t.same(written[2], { resize: null });
  stop.abort();
  await running;
});
