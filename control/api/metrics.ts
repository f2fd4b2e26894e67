// /metrics: what the server did and holds, under the names that rules and boards for kube-apiserver ask for.

import { Meters } from "../../plugins/kit/base/meters.ts";
import { processNumbers } from "../../plugins/kit/os/platform/process-numbers.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Remotes } from "./aggregation/remotes.ts";
import type { Seats } from "./flow/seats.ts";
import { versionInfo } from "./health.ts";
import { head, RequestMetrics } from "./request-metrics.ts";
import type { Watches } from "./watches.ts";

interface ApiState {
  readonly seats: Seats;
  readonly watches: Watches;
  readonly cache: WatchCache;
  readonly remotes: Remotes;
}

const hour = 3600;
const day = 24 * hour;
// Upstream's.
const lifetimes = [
  0,
  hour / 2,
  hour,
  2 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  4 * day,
  7 * day,
  30 * day,
  90 * day,
];

export class ApiMetrics {
  readonly requests = new RequestMetrics();
  readonly #meters = new Meters();
  readonly #inFlight = { readOnly: 0, mutating: 0 };
  readonly #unavailable = this.#meters.counter(
    "aggregator_unavailable_apiservice_total",
    "APIServices that became unavailable, by name and reason.",
  );
  readonly #certificates = this.#meters.histogram(
    "apiserver_client_certificate_expiration_seconds",
    "How long the certificates still last that requests were made with.",
    [...lifetimes, 180 * day, 360 * day],
  );

  /** A request is being worked on; the returned function ends that. */
  begin(isMutating: boolean): () => void {
    const kind = isMutating ? "mutating" : "readOnly";
    this.#inFlight[kind]++;
    return () => void this.#inFlight[kind]--;
  }

  apiServiceLost(name: string, reason: string): void {
    this.#unavailable.add({ name, reason });
  }

  /** A request came with a certificate that lasts so much longer. */
  certificateUsed(secondsLeft: number): void {
    this.#certificates.observe({}, secondsLeft);
  }

  text(state: ApiState): string {
    const lines = [...this.requests.lines(), ...this.#now(state), ...stored(state.cache), ...ofTheProcess()];
    return `${lines.join("\n")}\n${this.#meters.text()}`;
  }

  /** What goes on at this moment. */
  *#now({ seats, watches, remotes }: ApiState): Generator<string> {
    const running = "apiserver_current_inflight_requests";
    yield* head(running, "gauge", "Requests being worked on, watches and connections excepted.");
    for (const [kind, count] of Object.entries(this.#inFlight)) yield `${running}{request_kind="${kind}"} ${count}`;
    const levels = [...seats.counts()];
    const perLevel = function* (name: string, help: string, of: (level: (typeof levels)[number]) => number) {
      yield* head(`apiserver_flowcontrol_${name}`, "gauge", help);
      for (const level of levels) yield `apiserver_flowcontrol_${name}{priority_level="${level.level}"} ${of(level)}`;
    };
    yield* perLevel("current_executing_requests", "Requests being worked on.", (level) => level.running);
    yield* perLevel("current_inqueue_requests", "Requests waiting for their turn.", (level) => level.waiting);
    yield* perLevel("nominal_limit_seats", "How many requests the level has room for.", (level) => level.atOnce);
    yield* head("apiserver_longrunning_requests", "gauge", "Open watches.");
    for (const { group, version, plural, scope, count } of watches.counts()) {
      const of = `group="${group}",version="${version}",resource="${plural}",subresource="",scope="${scope}"`;
      yield `apiserver_longrunning_requests{component="apiserver",verb="WATCH",${of}} ${count}`;
    }
    const lost = "aggregator_unavailable_apiservice";
    yield* head(lost, "gauge", "1 while the server behind an APIService cannot be used.");
    for (const { service, isAvailable } of remotes.all())
      yield `${lost}{name="${service.metadata.name}"} ${isAvailable ? 0 : 1}`;
  }
}

function* stored(cache: WatchCache): Generator<string> {
  yield* head("apiserver_storage_objects", "gauge", "Objects stored, by resource.");
  for (const { id, size } of cache.caches()) {
    const [group = "", plural = ""] = id.split("/");
    yield `apiserver_storage_objects{resource="${group === "core" ? plural : `${plural}.${group}`}"} ${size}`;
  }
}

function* ofTheProcess(): Generator<string> {
  for (const { name, type, help, value } of processNumbers()) {
    yield* head(name, type, help);
    yield `${name} ${value}`;
  }
  yield* head("nodejs_heap_size_used_bytes", "gauge", "Heap in use.");
  yield `nodejs_heap_size_used_bytes ${process.memoryUsage().heapUsed}`;
  yield* head("kubernetes_build_info", "gauge", "A metric with a constant '1' value labeled by the version.");
  const { major, minor, gitVersion, platform } = versionInfo;
  yield `kubernetes_build_info{git_version="${gitVersion}",major="${major}",minor="${minor}",platform="${platform}"} 1`;
}
