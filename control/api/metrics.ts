// /metrics: what the server did, under the names that dashboards for kube-apiserver ask for.

import type { WatchCache } from "../storage/watch-cache.ts";
import type { Seats } from "./flow/seats.ts";
import type { Watches } from "./watches.ts";

const bucketsSeconds = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

interface Durations {
  readonly counts: number[];
  sum: number;
  total: number;
}

export class ApiMetrics {
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, Durations>();

  /** Labels come from parsed paths and verbs, never from what a client may choose freely. */
  record(verb: string, resource: string, code: number, seconds: number): void {
    const labels = `verb="${verb.toUpperCase()}",resource="${resource}"`;
    const counted = `${labels},code="${code}"`;
    this.#requests.set(counted, (this.#requests.get(counted) ?? 0) + 1);
    if (verb === "watch") return;
    let durations = this.#durations.get(labels);
    if (!durations) {
      durations = { counts: bucketsSeconds.map(() => 0), sum: 0, total: 0 };
      this.#durations.set(labels, durations);
    }
    durations.sum += seconds;
    durations.total++;
    const bucket = bucketsSeconds.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1;
  }

  text(state: { seats: Seats; watches: Watches; cache: WatchCache }): string {
    const lines: string[] = [];
    const family = (name: string, type: string, help: string) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    family("apiserver_request_total", "counter", "Requests answered.");
    for (const [labels, count] of this.#requests) lines.push(`apiserver_request_total{${labels}} ${count}`);
    family("apiserver_request_duration_seconds", "histogram", "How long answers took.");
    for (const [labels, { counts, sum, total }] of this.#durations) {
      let below = 0;
      bucketsSeconds.forEach((limit, index) => {
        below += counts[index] ?? 0;
        lines.push(`apiserver_request_duration_seconds_bucket{${labels},le="${limit}"} ${below}`);
      });
      lines.push(`apiserver_request_duration_seconds_bucket{${labels},le="+Inf"} ${total}`);
      lines.push(`apiserver_request_duration_seconds_sum{${labels}} ${sum}`);
      lines.push(`apiserver_request_duration_seconds_count{${labels}} ${total}`);
    }
    const levels = [...state.seats.counts()];
    const perLevel = (name: string, help: string, valueOf: (level: (typeof levels)[number]) => number) => {
      family(`apiserver_flowcontrol_${name}`, "gauge", help);
      for (const level of levels)
        lines.push(`apiserver_flowcontrol_${name}{priority_level="${level.level}"} ${valueOf(level)}`);
    };
    perLevel("current_executing_requests", "Requests being worked on.", ({ running }) => running);
    perLevel("current_inqueue_requests", "Requests waiting for their turn.", ({ waiting }) => waiting);
    perLevel("nominal_limit_seats", "How many requests the level has room for.", ({ atOnce }) => atOnce);
    family("apiserver_longrunning_requests", "gauge", "Open watches.");
    lines.push(`apiserver_longrunning_requests{verb="WATCH"} ${state.watches.size}`);
    family("apiserver_storage_objects", "gauge", "Objects stored, by resource.");
    for (const cache of state.cache.caches()) {
      const [group = "", plural = ""] = cache.id.split("/");
      lines.push(
        `apiserver_storage_objects{resource="${group === "core" ? plural : `${plural}.${group}`}"} ${cache.size}`,
      );
    }
    const memory = process.memoryUsage();
    family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
    lines.push(`process_resident_memory_bytes ${memory.rss}`);
    family("nodejs_heap_size_used_bytes", "gauge", "Heap in use.");
    lines.push(`nodejs_heap_size_used_bytes ${memory.heapUsed}`);
    const { user, system } = process.cpuUsage();
    family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
    lines.push(`process_cpu_seconds_total ${(user + system) / 1e6}`);
    return `${lines.join("\n")}\n`;
  }
}
