import { connect } from "node:net";
import t from "tap";
import { freePort } from "../../../test/harness/skiff.ts";
import { FakeClock } from "../../kit/base/clock.ts";
import { noLog } from "../../kit/base/log.ts";
import type { Node } from "../../kit/kube/objects/types.ts";
import { ProxyHealth } from "./proxy-health.ts";
import { ProxyMeters } from "./proxy-meters.ts";
import { ProxyServers } from "./proxy-servers.ts";

const node = (spec: object, metadata: object = {}) => ({ metadata: { name: "n1", ...metadata }, spec }) as Node;

t.test("ProxyHealth is ill when a change waits for a minute", async (t) => {
  const clock = new FakeClock();
  const health = new ProxyHealth(clock);
  const statuses = () => [health.healthz().status, health.livez().status];
  t.same(statuses(), [200, 200], "while it starts");
  health.queued();
  await clock.advance(59_999);
  health.queued();
  t.same(statuses(), [200, 200]);
  await clock.advance(1);
  t.same(statuses(), [503, 503], "the oldest change counts");
  t.equal(health.isHealthy, false);
  health.updated();
  t.same(statuses(), [200, 200]);
  await clock.advance(86_400_000);
  t.same(statuses(), [200, 200], "nothing to do is no illness");
  t.match(health.healthz().body, '"lastUpdated":"2026-01-02 00:01:00.000 +0000 UTC"', "who is well is up to date");
});

t.test("ProxyHealth sends new connections elsewhere when the node is about to leave", async (t) => {
  const health = new ProxyHealth(new FakeClock());
  const statuses = () => [health.healthz().status, health.livez().status];
  for (const leaving of [
    node({ taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] }),
    node({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
  ]) {
    health.setNode(leaving);
    t.same(statuses(), [503, 200]);
    t.match(health.healthz().body, '"nodeEligible":false');
    t.equal(health.isHealthy, true, "what it has it serves");
  }
  health.setNode(node({ taints: [{ key: "other", effect: "NoSchedule" }] }));
  t.same(statuses(), [200, 200]);
});

t.test("ProxyServers answer as kube-proxy does", async (t) => {
  const clock = new FakeClock();
  const [health, meters] = [new ProxyHealth(clock), new ProxyMeters(clock)];
  const ports = { healthzPort: await freePort(), metricsPort: await freePort() };
  const servers = new ProxyServers({ ...ports, health, meters, clock, log: noLog });
  t.teardown(() => servers.close());
  await servers.open();
  await servers.open();
  const get = async (port: number, path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
  };
  t.match(await get(ports.healthzPort, "/healthz"), {
    status: 200,
    type: "application/json",
    text: /"nodeEligible":true/,
  });
  t.match(await get(ports.healthzPort, "/livez"), { status: 200, type: "application/json" });
  t.match(await get(ports.healthzPort, "/metrics"), { status: 404 }, "the open port tells nothing else");
  t.match(await get(ports.metricsPort, "/proxyMode"), { status: 200, text: /^nftables$/ });
  t.match(await get(ports.metricsPort, "/healthz"), { status: 200, text: /^ok$/ });
  t.equal((await fetch(`http://127.0.0.1:${ports.healthzPort}/healthz`, { method: "POST" })).status, 405);
  const old = connect(ports.healthzPort, "127.0.0.1").setEncoding("utf8");
  old.end("GET /healthz HTTP/1.0\r\n\r\n");
  t.match((await old.toArray()).join(""), /^HTTP\/1\.1 200 /, "a probe that names no host");

  meters.changed("service");
  meters.changed("endpoint");
  const before = (await get(ports.metricsPort, "/metrics")).text;
  t.match(before, "kubeproxy_sync_proxy_rules_endpoint_changes_pending 1\n");
  t.match(before, 'kubeproxy_proxy_healthz_total{code="200"} 2\n');
  const round = { isFull: true, seconds: 0.003, triggers: [clock.now() - 400] };
  meters.synced(round, { internal: 1, external: 0 });
  meters.failed();
  await clock.advance(60_000);
  const { text } = await get(ports.metricsPort, "/metrics");
  for (const line of [
    'kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.004"} 1',
    "kubeproxy_sync_full_proxy_rules_duration_seconds_count 1",
    'kubeproxy_network_programming_duration_seconds_bucket{le="0.5"} 1',
    "kubeproxy_sync_proxy_rules_service_changes_total 1",
    "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
    "kubeproxy_sync_proxy_rules_last_timestamp_seconds 1767225600",
    "kubeproxy_sync_proxy_rules_nftables_sync_failures_total 1",
    'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal"} 1',
  ])
    t.match(text, `${line}\n`);
});

t.test("ProxyServers leave a port to whom has it, until it is free", async (t) => {
  const clock = new FakeClock();
  const options = { health: new ProxyHealth(clock), meters: new ProxyMeters(clock), clock };
  const ports = { healthzPort: await freePort(), metricsPort: 0 };
  const warnings: unknown[] = [];
  const log = { ...noLog, warn: (...said: unknown[]) => void warnings.push(said) };
  const first = new ProxyServers({ ...options, ...ports, log: noLog });
  const second = new ProxyServers({ ...options, ...ports, log });
  t.teardown(() => Promise.all([first.close(), second.close()]));
  await first.open();
  await second.open();
  await clock.advance(30_000);
  await second.open();
  t.equal(warnings.length, 1, "told once");
  await first.close();
  await second.open();
  await t.rejects(fetch(`http://127.0.0.1:${ports.healthzPort}/healthz`), "looked at every half minute");
  await clock.advance(30_000);
  await second.open();
  t.equal((await fetch(`http://127.0.0.1:${ports.healthzPort}/healthz`)).status, 200);
});
