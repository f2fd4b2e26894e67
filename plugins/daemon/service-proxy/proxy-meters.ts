// What the proxy did, in the series of kube-proxy's nftables mode. `cleanup_failures` has no counterpart: old chains go in the same
// transaction as everything else.

import type { Clock } from "../../kit/base/clock.ts";
import { Meters } from "../../kit/base/meters.ts";

/** From a millisecond on, each twice the one before. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index);
const programmingBuckets = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, index) => 1 + index),
  ...Array.from({ length: 12 }, (_, index) => 60 + 5 * index),
  ...Array.from({ length: 7 }, (_, index) => 120 + 30 * index),
];

type Changed = "service" | "endpoint";
type Probe = "healthz" | "livez";

export class ProxyMeters {
  readonly #clock: Clock;
  readonly #meters = new Meters();
  readonly #rounds = this.#meters.histogram(
    "kubeproxy_sync_proxy_rules_duration_seconds",
    "SyncProxyRules latency in seconds",
    syncBuckets,
  );
  readonly #fullRounds = this.#meters.histogram(
    "kubeproxy_sync_full_proxy_rules_duration_seconds",
    "SyncProxyRules latency in seconds for full resyncs",
    syncBuckets,
  );
  readonly #partialRounds = this.#meters.histogram(
    "kubeproxy_sync_partial_proxy_rules_duration_seconds",
    "SyncProxyRules latency in seconds for partial resyncs",
    syncBuckets,
  );
  readonly #programming = this.#meters.histogram(
    "kubeproxy_network_programming_duration_seconds",
    "In Cluster Network Programming Latency in seconds",
    programmingBuckets,
  );
  readonly #changes = {
    service: this.#meters.counter(
      "kubeproxy_sync_proxy_rules_service_changes_total",
      "Cumulative proxy rules Service changes",
    ),
    endpoint: this.#meters.counter(
      "kubeproxy_sync_proxy_rules_endpoint_changes_total",
      "Cumulative proxy rules Endpoint changes",
    ),
  };
  readonly #failures = this.#meters.counter(
    "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
    "Cumulative proxy nftables sync failures",
  );
  readonly #probes = {
    healthz: this.#meters.counter("kubeproxy_proxy_healthz_total", "Cumulative proxy healthz HTTP status"),
    livez: this.#meters.counter("kubeproxy_proxy_livez_total", "Cumulative proxy livez HTTP status"),
  };
  #pending = { service: 0, endpoint: 0 };
  #queuedAt = 0;
  #syncedAt = 0;
  #without = { internal: 0, external: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const counter of [this.#changes.service, this.#changes.endpoint, this.#failures]) counter.add({}, 0);
    for (const [name, help, read] of [
      ["service_changes_pending", "Pending proxy rules Service changes", () => this.#pending.service],
      ["endpoint_changes_pending", "Pending proxy rules Endpoint changes", () => this.#pending.endpoint],
      ["last_timestamp_seconds", "The last time proxy rules were successfully synced", () => this.#syncedAt],
      ["last_queued_timestamp_seconds", "The last time a sync of proxy rules was queued", () => this.#queuedAt],
    ] as const)
      this.#meters.gauge(`kubeproxy_sync_proxy_rules_${name}`, help, () => [[{}, read()]]);
    this.#meters.gauge(
      "kubeproxy_sync_proxy_rules_no_local_endpoints_total",
      "Number of services with a Local traffic policy and no endpoints",
      () => [
        [{ traffic_policy: "internal" }, this.#without.internal],
        [{ traffic_policy: "external" }, this.#without.external],
      ],
    );
  }

  changed(what: Changed): void {
    this.#changes[what].add({});
    this.#pending[what]++;
    this.#queuedAt = this.#clock.now() / 1000;
  }

  /** `triggers` are the times at which the endpoints that were written began to change, as their slices tell. */
  synced(
    round: { readonly isFull: boolean; readonly seconds: number; readonly triggers: readonly number[] },
    withoutLocal: { readonly internal: number; readonly external: number },
  ): void {
    this.#rounds.observe({}, round.seconds);
    (round.isFull ? this.#fullRounds : this.#partialRounds).observe({}, round.seconds);
    const now = this.#clock.now();
    for (const trigger of round.triggers) this.#programming.observe({}, Math.max(0, now - trigger) / 1000);
    this.#pending = { service: 0, endpoint: 0 };
    this.#syncedAt = now / 1000;
    this.#without = { ...withoutLocal };
  }

  failed(): void {
    this.#failures.add({});
  }

  probed(probe: Probe, status: number): void {
    this.#probes[probe].add({ code: String(status) });
  }

  text(): string {
    return this.#meters.text();
  }
}
